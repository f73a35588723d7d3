// The builder as a model sees it: through IGraphBuilder, with codes and messages instead of exceptions.
#include "ir/builder.hpp"

#include "ir/verify.hpp"

#include "graph_maker.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <new>

using namespace convoy;
using namespace convoy::testing;

namespace {

Str str(const std::string& s) { return {s.data(), s.size()}; }

/// A builder with a memory for what it said, and calls in a test's words.
struct Fixture {
  ir::Graph graph;
  Code last_code = Code::ok;
  std::string where, message;
  ir::GraphBuilder builder{graph, [this](Code c, std::string_view w, std::string_view m) {
                             last_code = c;
                             where = w;
                             message = m;
                             return c;
                           }};

  using Make = Code (IGraphBuilder::*)(Str, DType, Span<const int64_t>, Str, Value*) noexcept;
  Value out = 4711;

  Code make(Make call, const std::string& name, const Dims& dims, const std::string& init, DType t = DType::f32) {
    return (static_cast<IGraphBuilder&>(builder).*call)(str(name), t, {dims.data(), dims.size()}, str(init), &out);
  }
  Code param(const std::string& name, const Dims& dims, const std::string& init = "zeros") {
    return make(&IGraphBuilder::param, name, dims, init);
  }
  Code input(const std::string& name, const Dims& dims, DType t = DType::f32) {
    return builder.input(str(name), t, {dims.data(), dims.size()}, &out);
  }
  Value have(Code c) {
    REQUIRE_MESSAGE(c == Code::ok, message);
    return out;
  }
  template <class Attrs>
  Code node(Op op, const std::vector<Value>& in, const Attrs& a, std::vector<Value>& results, const std::string& name = "n1") {
    return builder.node(op, {in.data(), in.size()}, &a, sizeof a, str(name), {results.data(), results.size()});
  }
  Code node(Op op, const std::vector<Value>& in, std::vector<Value>& results, const std::string& name = "n1") {
    return builder.node(op, {in.data(), in.size()}, nullptr, 0, str(name), {results.data(), results.size()});
  }
  void check_refused(Code c, const std::vector<std::string>& parts) {
    CHECK(c == Code::invalid);
    CHECK(last_code == Code::invalid);
    check_mentions(message, parts);
  }
};

}  // namespace

TEST_SUITE("ir/builder") {
  TEST_CASE("values take the role of the call that makes them, with name, shape and initial value") {
    Fixture f;
    const Value images = f.have(f.input("images", {2, 3, 8, 8}));
    const Value w = f.have(f.param("w", {4, 3, 3, 3}, "normal(0, 0.01)"));
    const Value mean = f.have(f.make(&IGraphBuilder::state, "mean", {4}, "zeros"));
    const Value scale = f.have(f.make(&IGraphBuilder::frozen, "scale", {4}, "ones"));
    CHECK(f.graph[images].role == Role::input);
    CHECK(f.graph[w].role == Role::param);
    CHECK(f.graph[w].init == "normal(0, 0.01)");
    CHECK(f.graph[w].dims == Dims{4, 3, 3, 3});
    CHECK(f.graph[mean].role == Role::state);
    CHECK(f.graph[scale].role == Role::frozen);
    CHECK(f.graph[scale].init == "ones");
    ir::verify(f.graph);
  }

  TEST_CASE("a node stands in the graph with its inputs, attributes and phase, and its outputs can be used") {
    Fixture f;
    const Value x = f.have(f.input("x", {2, 3, 8, 8})), w = f.have(f.param("w", {4, 3, 3, 3}));
    std::vector<Value> y(1);
    REQUIRE(f.node(Op::conv2d, {x, w}, conv_attrs(), y, "conv") == Code::ok);
    std::vector<Value> z(1);
    REQUIRE(f.node(Op::relu, y, z, "relu") == Code::ok);
    REQUIRE(f.graph.nodes.size() == 2);
    const ir::Node& conv = f.graph.nodes[0];
    CHECK(conv.name == "conv");
    CHECK(conv.in == std::vector<Value>{x, w});
    CHECK(conv.out == y);
    CHECK(conv.phase == Phase::forward);
    CHECK(ir::unpack<ConvAttrs>(conv).input_size[0] == 8);
    CHECK(f.graph[z[0]].dims == Dims{2, 4, 6, 6});
    ir::verify(f.graph);
  }

  TEST_CASE("names: each once, not empty, nothing that other files could not hold") {
    Fixture f;
    f.have(f.param("w", {1}));
    f.check_refused(f.param("w", {2}), {"two values are called 'w'"});
    f.check_refused(f.input("w", {2}), {"two values are called 'w'"});
    f.check_refused(f.param("", {2}), {"a value needs a name of 1 to 512 bytes, not 0"});
    f.check_refused(f.param(std::string(513, 'a'), {2}), {"not 513"});
    f.check_refused(f.param("momentum:w", {2}), {"'momentum:w': a colon in a name is reserved for optimiser state"});
    f.check_refused(f.param("a\nb", {2}), {"a control character"});
    f.check_refused(f.param("__metadata__", {2}), {"'__metadata__' is reserved in weight files"});
    CHECK(f.graph.tensors.size() == 1);
  }

  TEST_CASE("shapes: at most six dimensions, each at least one, and a size that fits") {
    Fixture f;
    f.check_refused(f.param("w", {1, 1, 1, 1, 1, 1, 1}), {"'w' has 7 dimensions; at most 6 are allowed"});
    f.check_refused(f.param("w", {2, 0}), {"'w' has shape (2,0); each dimension is at least 1"});
    f.check_refused(f.param("w", {2, -3}), {"'w' has shape (2,-3)"});
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    f.check_refused(f.param("w", {kMost, kMost, 2}), {"at most 1099511627776 elements are allowed"});
    f.check_refused(f.make(&IGraphBuilder::param, "w", {2}, "zeros", static_cast<DType>(77)), {"'w': no type has the number 77"});
    f.have(f.param("scalar", {}));
    CHECK(f.graph.tensors.size() == 1);
  }

  TEST_CASE("every initial value that the header names is taken") {
    Fixture f;
    int n = 0;
    for (const char* init : {"zeros", "ones", "constant(0.5)", "constant(-1e-3)", "normal(0, 0.01)", "normal(0,0)",
                             "uniform(-0.5, 0.5)", "trunc_normal(0.1)", "kaiming_normal_fan_out", "kaiming_normal_fan_in",
                             "xavier_uniform", "xavier_gaussian_in(2)", "torch_default", "torch_default_bias(64)"})
      CHECK_MESSAGE(f.param("w" + std::to_string(n++), {4, 4}, init) == Code::ok, init << ": " << f.message);
  }

  TEST_CASE("initial values: unknown, misspelt, with wrong numbers, without fans to count") {
    Fixture f;
    f.check_refused(f.param("w", {4}, "zeroes"), {"'w': no initial value is called 'zeroes'", "known are zeros, ones, constant(a)", "did you mean 'zeros'?"});
    f.check_refused(f.param("w", {4}, ""), {"no initial value is called ''"});
    for (const char* init : {"constant", "constant()", "constant(a)", "constant(1", "constant(1,2)", "constant(nan)",
                             "constant(1e999)", "constant(1,)", "constant(1 2)", "constant(1)x"})
      f.check_refused(f.param("w", {4}, init), {init, "is written constant(a)"});
    f.check_refused(f.param("w", {4}, "zeros(1)"), {"'zeros(1)' is written zeros"});
    f.check_refused(f.param("w", {4}, "normal(0, -1)"), {"out of range; in normal(mean, stdev), stdev is 0 or more"});
    f.check_refused(f.param("w", {4}, "uniform(1, 0)"), {"lo is at most hi"});
    f.check_refused(f.param("w", {4}, "trunc_normal(0)"), {"stdev is above 0"});
    f.check_refused(f.param("w", {4, 4}, "xavier_gaussian_in(-2)"), {"magnitude is above 0"});
    f.check_refused(f.param("w", {4}, "torch_default_bias(0)"), {"fan_in is above 0"});
    f.check_refused(f.param("w", {4}, "torch_default"), {"this value has 1 dimensions; a bias takes zeros or torch_default_bias(fan_in)"});
    CHECK(f.graph.tensors.empty());
    CHECK(f.param("w", {4}) == Code::ok);  // a refused name is free again
  }

  TEST_CASE("a shape mistake is reported by the call that made it, with both shapes") {
    Fixture f;
    const Value x = f.have(f.input("x", {2, 3, 8, 8})), w = f.have(f.param("w", {4, 5, 3, 3}));
    std::vector<Value> y(1, 4711);
    f.check_refused(f.node(Op::conv2d, {x, w}, conv_attrs(), y, "layer1.conv"),
                    {"conv2d 'layer1.conv' of (2,3,8,8) (4,5,3,3)", "so 3 are expected"});
    CHECK(f.where == "node");
    CHECK(f.graph.nodes.empty());
    CHECK(f.graph.tensors.size() == 2);
  }

  TEST_CASE("models get forward operators and constants, nothing that the core adds itself") {
    Fixture f;
    const Value x = f.have(f.input("x", {2, 3})), p = f.have(f.param("p", {2, 3})), lr = f.have(f.input("lr", {}));
    std::vector<Value> one(1), two(2);
    f.check_refused(f.node(Op::relu_grad, {x, x}, one), {"'n1': relu_grad is not for models", "models have", "conv2d", "fill"});
    f.check_refused(f.node(Op::sgd, {p, x, kNoValue, lr}, sgd_attrs(), two), {"sgd is not for models"});
    f.check_refused(f.node(static_cast<Op>(50), {x}, one, "conv9"), {"'conv9': no operator has the number 50; this host knows opset 1"});
    CHECK(f.node(Op::fill, {}, fill_attrs({2}, 0), one) == Code::ok);
  }

  TEST_CASE("room for another number of outputs than the operator has is refused") {
    Fixture f;
    const Value x = f.have(f.input("x", {2, 3, 4, 4})), gamma = f.have(f.param("gamma", {3})), beta = f.have(f.param("beta", {3}));
    const Value mean = f.have(f.make(&IGraphBuilder::state, "mean", {3}, "zeros")), var = f.have(f.make(&IGraphBuilder::state, "var", {3}, "ones"));
    std::vector<Value> one(1), none, five(5);
    f.check_refused(f.node(Op::batch_norm, {x, gamma, beta, mean, var}, batch_norm_attrs(), one), {"batch_norm 'n1' has 5 outputs, room for 1 was given"});
    f.check_refused(f.node(Op::relu, {x}, none), {"relu 'n1' has 1 outputs, room for 0"});
    CHECK(f.graph.nodes.empty());
    CHECK(f.graph.tensors.size() == 5);
    f.check_refused(f.make(&IGraphBuilder::state, "mean", {3}, "zeros"), {"two values are called 'mean'"});  // still taken
    CHECK(f.node(Op::batch_norm, {x, gamma, beta, mean, var}, batch_norm_attrs(), five) == Code::ok);
  }

  TEST_CASE("a missing place for a result is refused, not written to") {
    Fixture f;
    const int64_t dim = 2;
    CHECK(f.builder.input(str("x"), DType::f32, {&dim, 1}, nullptr) == Code::invalid);
    CHECK(f.builder.param(str("p"), DType::f32, {&dim, 1}, str("zeros"), nullptr) == Code::invalid);
    CHECK(f.message.find("no room was given") != std::string::npos);
    const Value x = f.have(f.input("x", {2}));
    CHECK(f.builder.node(Op::relu, {&x, 1}, nullptr, 0, str("relu"), {nullptr, 1}) == Code::invalid);
    CHECK(f.builder.shape(x, nullptr, sizeof(TensorDesc)) == Code::invalid);
    CHECK(f.graph.nodes.empty());
  }

  TEST_CASE("scopes nest, belong to the nodes added within, and are closed in order") {
    Fixture f;
    const Value x = f.have(f.input("x", {2}));
    std::vector<Value> y(1);
    CHECK(f.builder.scope(str("layer1"), 1) == Code::ok);
    CHECK(f.builder.scope(str("block0"), 1) == Code::ok);
    f.node(Op::relu, {x}, y, "inner");
    CHECK(f.builder.scope({nullptr, 0}, 0) == Code::ok);
    f.node(Op::relu, {x}, y, "outer");
    CHECK(f.builder.scope({nullptr, 0}, 0) == Code::ok);
    f.node(Op::relu, {x}, y, "none");
    f.check_refused(f.builder.scope({nullptr, 0}, 0), {"a scope is closed that was not opened"});
    REQUIRE(f.graph.nodes.size() == 3);
    CHECK(f.graph.scopes[f.graph.nodes[0].scope] == "layer1/block0");
    CHECK(f.graph.scopes[f.graph.nodes[1].scope] == "layer1");
    CHECK(f.graph.nodes[2].scope == 0);
    CHECK(f.graph.scopes[0].empty());
  }

  TEST_CASE("shape() describes a value and writes no more than it was given room for") {
    Fixture f;
    const Value x = f.have(f.input("x", {2, 3, 4, 5}));
    TensorDesc d{};
    CHECK(f.builder.shape(x, &d, sizeof d) == Code::ok);
    CHECK(d.rank == 4);
    CHECK(d.dim[3] == 5);
    CHECK(d.dtype == DType::f32);
    CHECK(d.role == Role::input);
    CHECK(d.alias_of == -1);
    CHECK(d.name.n == 0);
    unsigned char bytes[sizeof d];
    std::fill(std::begin(bytes), std::end(bytes), static_cast<unsigned char>(0xAA));
    const uint64_t room = offsetof(TensorDesc, dtype);
    CHECK(f.builder.shape(x, reinterpret_cast<TensorDesc*>(bytes), room) == Code::ok);
    CHECK(bytes[room] == 0xAA);  // the author's struct is shorter than this host's
    CHECK(std::memcmp(bytes, &d, room) == 0);
    f.check_refused(f.builder.shape(99, &d, sizeof d), {"value 99 does not exist"});
  }

  TEST_CASE("images stored as bytes reach a model that wants f32 through a normalisation") {
    Fixture f;
    const float mean[4] = {125, 123, 114, 0}, stdev[4] = {63, 62, 67, 1};
    f.builder.set_input_source("images", DType::u8, mean, stdev);
    const Value x = f.have(f.input("images", {2, 3, 8, 8}));
    CHECK(f.graph[x].dtype == DType::f32);
    CHECK(f.graph[x].dims == Dims{2, 3, 8, 8});
    REQUIRE(f.graph.nodes.size() == 1);
    const ir::Node& n = f.graph.nodes[0];
    CHECK(n.op == Op::image_normalize);
    CHECK(f.graph[n.in[0]].dtype == DType::u8);
    CHECK(f.graph[n.in[0]].name == "images");
    CHECK(f.graph[n.in[0]].role == Role::input);
    const auto a = ir::unpack<ImageNormalizeAttrs>(n);
    CHECK(a.mean[1] == 123);
    CHECK(a.stdev[2] == 67);
    CHECK(f.graph[f.have(f.input("labels", {2}, DType::i32))].dtype == DType::i32);  // other inputs are as asked for
    CHECK(f.graph.nodes.size() == 1);
    ir::verify(f.graph);
  }

  TEST_CASE("a model that wants the bytes themselves, or data that are f32, get no normalisation") {
    const float mean[4] = {}, stdev[4] = {1, 1, 1, 1};
    Fixture raw;
    raw.builder.set_input_source("images", DType::u8, mean, stdev);
    CHECK(raw.graph[raw.have(raw.input("images", {2, 3, 8, 8}, DType::u8))].dtype == DType::u8);
    CHECK(raw.graph.nodes.empty());
    Fixture f32;
    f32.builder.set_input_source("images", DType::f32, mean, stdev);
    CHECK(f32.graph[f32.have(f32.input("images", {2, 3, 8, 8}))].role == Role::input);
    CHECK(f32.graph.nodes.empty());
  }

  TEST_CASE("a refused normalisation leaves neither value nor name behind") {
    Fixture f;
    const float mean[4] = {}, stdev[4] = {1, 1, 1, 1};
    f.builder.set_input_source("images", DType::u8, mean, stdev);
    f.check_refused(f.input("images", {2, 5, 8, 8}), {"5 channels; at most 4 are allowed"});
    CHECK(f.graph.tensors.empty());
    CHECK(f.input("images", {2, 3, 8, 8}) == Code::ok);
  }

  TEST_CASE("a sink that throws cannot break the border: the code alone comes back") {
    ir::Graph graph;
    ir::GraphBuilder builder(graph, [](Code, std::string_view, std::string_view) -> Code { throw std::bad_alloc(); });
    TensorDesc d{};
    CHECK(builder.shape(3, &d, sizeof d) == Code::invalid);
    ir::GraphBuilder without(graph, nullptr);
    CHECK(without.shape(3, &d, sizeof d) == Code::invalid);
  }
}
