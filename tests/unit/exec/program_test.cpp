// A graph made runnable where the device fails half-way: what was prepared is released, and a compiler is asked once.
#include "exec/program.hpp"

#include "../ir/graph_maker.hpp"
#include "exec/stitched.hpp"
#include "fake_device.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace convoy;
using convoy::testing::GraphMaker;
using convoy::testing::HeldDevice;
using convoy::testing::Script;

namespace {

constexpr uint32_t kNodes = 4;

/// kNodes rectifiers one behind the other.
ir::Graph chain() {
  GraphMaker m;
  Value v = m.input("x", {2, 3});
  for (uint32_t i = 0; i < kNodes; ++i) v = m.one(Op::relu, {v}, "r" + std::to_string(i));
  m.graph[v].role = Role::output;
  return std::move(m.graph);
}

std::string why_refused(HeldDevice& held) {
  const ir::Graph graph = chain();
  exec::ParameterStore store(held.device);
  return convoy::testing::thrown([&] { exec::Program(held.device, graph, store, {}); }).message;
}

}  // namespace

TEST_SUITE("program") {
  TEST_CASE("where a node cannot be prepared, those before it are released") {
    for (uint32_t failing = 0; failing < kNodes; ++failing) {
      Script script;
      script.has_kernels = true;
      script.failing_node = failing;
      HeldDevice held(script);
      convoy::testing::check_mentions(why_refused(held), {"prepare r" + std::to_string(failing), "no room for this one"});
      CHECK(script.next_handle == 100 + failing);  // the others had been prepared
      CHECK(script.prepared.empty());
    }
  }

  TEST_CASE("kernels stay prepared as long as their executable and no longer") {
    Script script;
    script.has_kernels = true;
    HeldDevice held(script);
    const ir::Graph graph = chain();
    exec::ParameterStore store(held.device);
    {
      const exec::Program program(held.device, graph, store, {});
      CHECK(script.prepared.size() == kNodes);
    }
    CHECK(script.prepared.empty());
  }

  TEST_CASE("nodes that a compiler refuses are listed, and nothing of compile() turns up later") {
    Script script;
    script.has_compiler = true;
    script.check_refuses = true;
    HeldDevice held(script);
    CHECK(why_refused(held) == "1 of 4 nodes cannot run on device 'fake'");
    CHECK(script.compiles == 1);
    CHECK(script.checks == 1);
    CHECK(held.host.take_message().empty());
  }

  TEST_CASE("a compiler that refuses no single node says itself what it cannot do") {
    Script script;
    script.has_compiler = true;
    HeldDevice held(script);
    convoy::testing::check_mentions(why_refused(held), {"'fake' could not compile the graph", "this graph is too much"});
    CHECK(script.checks == 1);
  }

  TEST_CASE("check() is not asked where compile() failed otherwise") {
    Script script;
    script.has_compiler = true;
    script.compile_gives = Code::out_of_memory;
    HeldDevice held(script);
    convoy::testing::check_mentions(why_refused(held), {"this graph is too much"});
    CHECK(script.checks == 0);
  }
}
