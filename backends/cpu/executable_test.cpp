// The executable apart from its numbers: hooks, refresh, memory, repeatability, the alarm, refusals.
#include "small_networks.hpp"

#include <algorithm>
#include <cstring>

namespace convoy::cpu::testing {
namespace {

/// Copies each bucket's gradients when it is called ready.
class Hooks final : public IStepHooks {
 public:
  Code grads_ready(uint32_t bucket, Stream) noexcept override {
    calls.push_back("ready " + std::to_string(bucket));
    for (const auto& [v, b] : grads)
      if (b == static_cast<int32_t>(bucket)) seen[v] = trial->memory()[v];
    return Code::ok;
  }
  Code params_needed(uint32_t bucket, Stream) noexcept override {
    calls.push_back("needed " + std::to_string(bucket));
    return answer;
  }

  Trial* trial = nullptr;
  std::vector<std::pair<Value, int32_t>> grads;
  std::map<Value, std::vector<uint64_t>> seen;
  std::vector<std::string> calls;
  Code answer = Code::ok;
};

std::string reason_of(Recipe& r) {
  r.show_all();
  return Trial(r.graph).refusals;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_SUITE("cpu executable") {
  TEST_CASE("a bucket is complete when its hook is called; each once, in order") {
    const Built b = build_step(bottleneck);
    Hooks hooks;
    Trial t(b.graph, kThreads, &hooks);
    hooks.trial = &t;
    int32_t buckets = 0;
    for (Value v = 0; v < b.graph.tensors.size(); ++v)
      if (b.graph[v].bucket >= 0) {
        hooks.grads.emplace_back(v, b.graph[v].bucket);
        buckets = std::max(buckets, b.graph[v].bucket + 1);
      }
    REQUIRE(buckets > 3);
    prepare(t, b);
    t.run();
    for (const auto& [v, bucket] : hooks.grads) CHECK_MESSAGE(hooks.seen[v] == t.memory()[v], b.graph[v].name);
    std::vector<std::string> ready, needed;
    for (const auto& c : hooks.calls) (c[0] == 'r' ? ready : needed).push_back(c);
    CHECK(ready.size() == static_cast<std::size_t>(buckets));
    CHECK(needed.size() == static_cast<std::size_t>(buckets));
    for (int32_t i = 0; i < buckets; ++i) CHECK(ready[static_cast<std::size_t>(i)] == "ready " + std::to_string(i));
  }

  TEST_CASE("a hook's failure ends the step with its code") {
    const Built b = build_step(plain);
    Hooks hooks;
    hooks.answer = Code::timeout;
    Trial t(b.graph, kThreads, &hooks);
    hooks.trial = &t;
    prepare(t, b);
    REQUIRE(t.executable().refresh({0}) == Code::ok);
    CHECK(t.executable().run({0}, 0) == Code::timeout);
  }

  TEST_CASE("inference follows parameters that changed from outside after refresh") {
    const Built b = build(bottleneck, false);
    Trial t(b.graph);
    prepare(t, b);
    t.run();
    const float before = t.get(b.logits, 0);
    prepare(t, b, 12);
    t.run();
    t.run_oracle();
    CHECK(t.worst() < 2e-5);
    CHECK(t.get(b.logits, 0) != before);
  }

  TEST_CASE("the same step gives the same bits again") {
    for (const auto& [name, network] : kNetworks) {
      const Built b = build_step(network);
      Trial one(b.graph), two(b.graph);
      prepare(one, b);
      prepare(two, b);
      one.run(3);
      two.run(3);
      CHECK_MESSAGE(one.memory() == two.memory(), std::string(name));
    }
  }

  TEST_CASE("the arena is planned, and its parts are reported") {
    const Built b = build_step(bottleneck);
    Trial t(b.graph);
    auto report = sdk::sized<MemoryReport>();
    REQUIRE(t.executable().memory(&report) == Code::ok);
    uint64_t activations = 0;
    for (const ir::Tensor& x : b.graph.tensors)
      if (!ir::is_boundary(x.role)) activations += ir::bytes_of(x);
    CHECK(report.arena_bytes < activations);
    CHECK(report.saved_bytes > 0);
    CHECK(report.saved_bytes <= report.arena_bytes);
    CHECK(report.n_kernels > 20);

    const Built forward = build(bottleneck, false);
    Trial inference(forward.graph);
    REQUIRE(inference.executable().memory(&report) == Code::ok);
    CHECK(report.saved_bytes == 0);
  }

  TEST_CASE("values are exported and imported as they lie, and others refused") {
    const Built b = build(plain, false);
    Trial t(b.graph);
    prepare(t, b);
    t.run();
    std::vector<float> logits(28), back(28);
    REQUIRE(t.executable().export_value(b.logits, {0}, logits.data()) == Code::ok);
    CHECK(logits[3] == t.get(b.logits, 3));
    Str tag{};
    REQUIRE(t.executable().value_layout(b.logits, &tag) == Code::ok);
    CHECK(sdk::text(tag) == "canonical");
    for (std::size_t i = 0; i < 28; ++i) back[i] = static_cast<float>(i);
    REQUIRE(t.executable().import_value(b.logits, {0}, back.data()) == Code::ok);
    CHECK(t.get(b.logits, 27) == 27);
    Value inner = 0;
    while (ir::is_boundary(b.graph[inner].role)) ++inner;
    CHECK(t.executable().export_value(inner, {0}, logits.data()) == Code::invalid);
  }

  TEST_CASE("a parameter that is not finite makes the loss NaN, though ReLU hides it") {
    const Built b = build(plain, false);
    Trial t(b.graph);
    prepare(t, b);
    Value weight = 0;
    while (b.graph[weight].name != "c1.weight") ++weight;
    t.set(weight, 5, std::numeric_limits<double>::quiet_NaN());
    t.run();
    CHECK(std::isnan(t.get(b.loss, 0)));
    t.set(weight, 5, 0.1);
    t.run();
    CHECK(std::isfinite(t.get(b.loss, 0)));
  }

  TEST_CASE("an update that overflows makes the next loss NaN") {
    const Built b = build_step(plain);
    Trial t(b.graph);
    prepare(t, b);
    Value lr = 0, weight = 0;
    while (b.graph[lr].name != "lr") ++lr;
    while (b.graph[weight].name != "c1.weight") ++weight;
    t.run();
    CHECK(std::isfinite(t.get(b.loss, 0)));
    t.set(lr, 0, 3e38);
    for (int i = 0; i < 3; ++i) REQUIRE(t.executable().run({0}, 1) == Code::ok);
    CHECK(std::isnan(t.get(b.loss, 0)));
  }

  TEST_CASE("what is not computed here is refused with a reason, by node") {
    {
      Recipe r;
      r.node(Op::cast, {r.input({4})}, CastAttrs{0, DType::bf16});
      CHECK(contains(reason_of(r), "n0: has a value of 16-bit floats"));
    }
    {
      Recipe r;
      r.node(Op::relu, {r.input({4})});
      r.graph.nodes[0].op = static_cast<Op>(90);
      CHECK(contains(reason_of(r), "n0: is operator 90"));
    }
    {
      Recipe r;
      r.node(Op::lrn, {r.input({1, 4, 2, 2})}, LrnAttrs{0, 3, 1, 0.75, 1});
      r.graph.nodes[0].attrs.push_back(std::byte{1});
      CHECK(contains(reason_of(r), "attributes newer than this backend knows"));
    }
    {
      Recipe r;  // what comes behind a refused node is still looked at
      const Value y = r.node(Op::relu, {r.input({2, 3, 4, 4})})[0];
      r.node(Op::max_pool, {y}, PoolAttrs{0, {2, 2}, {2, 2}, {0, 0}, {0, 0}, 0, 1, {4, 4}});
      r.graph.nodes[0].op = static_cast<Op>(90);
      Trial t(r.graph);
      CHECK(t.notes[0].via == Via::refused);
      CHECK(t.notes[1].via == Via::kernel);
    }
  }

  TEST_CASE("every node is described, members of a group with its leader") {
    const Built b = build(bottleneck, false);
    Trial t(b.graph);
    struct Notes final : INodeReport {
      Code note(uint32_t node, Via via, uint32_t group, Str text) noexcept override {
        rows.push_back({via, group, sdk::text(text)});
        nodes.push_back(node);
        return Code::ok;
      }
      std::vector<NodeNote> rows;
      std::vector<uint32_t> nodes;
    } notes;
    REQUIRE(t.executable().describe(notes) == Code::ok);
    REQUIRE(notes.rows.size() == b.graph.nodes.size());
    for (uint32_t n = 0; n < notes.nodes.size(); ++n) CHECK(notes.nodes[n] == n);
    CHECK(contains(notes.rows[1].text, ":"));  // the stem's implementation
    CHECK(notes.rows[1].via == Via::fused);
    CHECK(notes.rows[2].group == notes.rows[1].group);
    CHECK(notes.rows[2].text == "with stem");
  }
}

}  // namespace
}  // namespace convoy::cpu::testing
