// The SDK's parts that kernels are built on: refusals with reasons, preparation, 16-bit floats.
#include "kernels.hpp"

#include "ir/graph.hpp"
#include "recording_host.hpp"

#include <convoy/sdk/narrow.hpp>
#include <convoy/sdk/vector_ops.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

namespace convoy::reference {

namespace {

using convoy::testing::RecordingHost;

/// One relu node, with what a test changes about it.
struct Relu {
  Relu() {
    ir::Tensor t;
    t.dims = {4};
    const Value x = graph.add(t), y = graph.add(t);
    graph.nodes.push_back({Op::relu, "r", {x}, {y}, {}, Phase::forward, 0});
  }
  std::string refusal() const {
    const ir::FlatGraph flat(graph);
    return sdk::refusal(kernels(), flat.view(), 0);
  }
  ir::Graph graph;
};

}  // namespace

TEST_SUITE("sdk: kernels") {
  TEST_CASE("the table has a kernel for every operator of the catalogue but the markers") {
    int missing = 0;
    for (uint32_t op = 0; op < 128; ++op)
      if (sdk::find_op(static_cast<Op>(op)) != nullptr && sdk::find_kernel(kernels(), static_cast<Op>(op)) == nullptr) ++missing;
    CHECK(missing == 2);
    CHECK(sdk::find_kernel(kernels(), Op::grads_ready) == nullptr);
    CHECK(sdk::find_kernel(kernels(), Op::params_needed) == nullptr);
  }

  TEST_CASE("a refusal says what is wrong") {
    CHECK(Relu().refusal().empty());
    Relu narrow;
    narrow.graph[0].dtype = DType::f16;
    CHECK(narrow.refusal() == "input 0 is f16; only f32 is computed here");
    Relu newer;
    newer.graph.nodes[0].op = static_cast<Op>(900);
    CHECK(newer.refusal() == "operator 900 is newer than this backend");
    Relu marker;
    marker.graph.nodes[0].op = Op::grads_ready;
    marker.graph.nodes[0].attrs = ir::pack(MarkerAttrs{sizeof(MarkerAttrs), 0});
    CHECK(marker.refusal() == "no kernel for grads_ready");
    Relu bare;
    bare.graph.nodes[0].op = Op::lrn;
    CHECK(bare.refusal() == "lrn came without its attributes");
  }

  TEST_CASE("attributes newer than this build are refused where they say something, and not where they are zero") {
    Relu n;
    n.graph.nodes[0].op = Op::lrn;
    LrnAttrs a{};
    a.size = 3;
    n.graph.nodes[0].attrs = ir::pack(a);
    n.graph.nodes[0].attrs.resize(sizeof a + 8);
    CHECK(n.refusal().empty());
    n.graph.nodes[0].attrs.back() = std::byte{1};
    CHECK(n.refusal() == "lrn has an attribute that is newer than this backend");
  }

  TEST_CASE("a prepared kernel runs from pointers alone, and a refused node cannot be prepared") {
    RecordingHost host;
    sdk::HostKernels k(kernels());
    const auto flat = std::make_unique<ir::FlatGraph>(Relu().graph);
    uint64_t workspace = 1, kernel = 0;
    REQUIRE(k.prepare(flat->view(), 0, &workspace, &kernel) == Code::ok);
    CHECK(workspace == 0);
    Scalar x[4] = {-1, 0, 2, 3}, y[4] = {};
    const Binding io[2] = {{0, 0, x}, {1, 0, y}};
    REQUIRE(k.launch(kernel, {}, {io, 2}, nullptr) == Code::ok);
    CHECK(y[0] == 0);
    CHECK(y[3] == 3);
    k.release(kernel);

    Relu bad;
    bad.graph[1].dtype = DType::i32;
    const ir::FlatGraph refused(bad.graph);
    CHECK(k.prepare(refused.view(), 0, &workspace, &kernel) == Code::unsupported);
    CHECK(host.take() == "output 0 is i32; only f32 is computed here");
  }
}

TEST_SUITE("sdk: narrow") {
  TEST_CASE("every 16-bit float survives the way to f32 and back") {
    int wrong = 0;
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      const auto h = static_cast<uint16_t>(bits);
      const float f16 = sdk::f16_to_f32(h), bf16 = sdk::bf16_to_f32(h);
      if (!std::isnan(f16) && sdk::f32_to_f16(f16) != h) ++wrong;
      if (!std::isnan(bf16) && sdk::f32_to_bf16(bf16) != h) ++wrong;
      if (std::isnan(f16) && !std::isnan(sdk::f16_to_f32(sdk::f32_to_f16(f16)))) ++wrong;
      if (std::isnan(bf16) && !std::isnan(sdk::bf16_to_f32(sdk::f32_to_bf16(bf16)))) ++wrong;
    }
    CHECK(wrong == 0);
  }

  TEST_CASE("narrowing takes the nearer neighbour, and of two equally near the even one") {
    int wrong = 0;
    for (uint32_t bits = 0; bits < 0x7bffu; ++bits) {  // all finite neighbours in f16, subnormal ones too
      const float lo = sdk::f16_to_f32(static_cast<uint16_t>(bits)), hi = sdk::f16_to_f32(static_cast<uint16_t>(bits + 1));
      const float middle = (lo + hi) / 2;  // exact: f32 has 13 bits more
      const uint32_t even = bits % 2 == 0 ? bits : bits + 1;
      if (sdk::f32_to_f16(middle) != even) ++wrong;
      if (sdk::f32_to_f16(std::nextafterf(middle, lo)) != bits) ++wrong;
      if (sdk::f32_to_f16(std::nextafterf(middle, hi)) != bits + 1) ++wrong;
      if (sdk::f32_to_f16(-middle) != (even | 0x8000u)) ++wrong;
    }
    for (uint32_t bits = 0; bits < 0x7f7fu; ++bits) {
      const float lo = sdk::bf16_to_f32(static_cast<uint16_t>(bits));
      const float middle = sdk::float_of(sdk::bits_of(lo) + 0x8000u);
      if (sdk::f32_to_bf16(middle) != (bits % 2 == 0 ? bits : bits + 1)) ++wrong;
      if (sdk::f32_to_bf16(sdk::float_of(sdk::bits_of(middle) - 1)) != bits) ++wrong;
      if (sdk::f32_to_bf16(sdk::float_of(sdk::bits_of(middle) + 1)) != bits + 1) ++wrong;
    }
    CHECK(wrong == 0);
  }

  TEST_CASE("what is too large for f16 is infinite from half way past the largest") {
    CHECK(sdk::f32_to_f16(65519.99f) == 0x7bff);
    CHECK(sdk::f32_to_f16(65520.0f) == 0x7c00);
    CHECK(sdk::f32_to_f16(-HUGE_VALF) == 0xfc00);
  }
}

}  // namespace convoy::reference
