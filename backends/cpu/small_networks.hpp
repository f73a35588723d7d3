// For tests: small networks with the patterns of the families, as graphs of a training step and of inference.
#pragma once

#include "trial.hpp"

#include "ir/autodiff.hpp"
#include "ir/buckets.hpp"
#include "ir/builder.hpp"
#include "ir/passes.hpp"
#include "ir/verify.hpp"

#include <convoy/sdk/graph.hpp>

#include <utility>

namespace convoy::cpu::testing {

using sdk::Graph;
using sdk::Var;

/// Images (4, 3, 16, 16) to logits (4, 7).
using Network = Var (*)(Graph&, Var);

inline Var plain(Graph& g, Var x) {
  x = g.max_pool(g.relu(g.conv(x, "c1", {12, 5, 1, 2, 1, true})), {2, 2});
  x = g.lrn(g.relu(g.conv(x, "c2", {20, 3, 1, 1, 1, true})));
  x = g.relu(g.fc(g.flatten(x), "f1", 30));
  return g.fc(g.dropout(x, 0.4), "f2", 7);
}

inline Var bottleneck(Graph& g, Var x) {
  x = g.max_pool(g.relu(g.bn(g.conv(x, "stem", {16, 3, 1, 1}), "stem_bn")), {3, 2, 1});
  for (int i = 0; i < 3; ++i) {
    const std::string n = "b" + std::to_string(i);
    const int stride = i == 1 ? 2 : 1;
    Var y = g.relu(g.bn(g.conv(x, n + ".1", {16, 1, 1, 0}), n + ".bn1"));
    y = g.relu(g.bn(g.conv(y, n + ".2", {16, 3, stride, 1}), n + ".bn2"));
    y = g.bn(g.conv(y, n + ".3", {32, 1, 1, 0}), n + ".bn3");
    if (i < 2) x = g.bn(g.conv(x, n + ".down", {32, 1, stride, 0}), n + ".down_bn");
    x = g.relu(g.add(y, x));
  }
  return g.fc(g.gap(x), "fc", 7);
}

inline Var pre_activation(Graph& g, Var x) {
  x = g.conv(x, "stem", {16, 3, 1, 1});
  for (int i = 0; i < 2; ++i) {
    const std::string n = "b" + std::to_string(i);
    const Var y = g.relu(g.bn(x, n + ".bn1", {1e-5, 0.1, i == 0}));
    const Var z = g.relu(g.bn(g.conv(y, n + ".1", {16, 3, i + 1, 1}), n + ".bn2"));
    const Var shortcut = i == 0 ? x : g.conv(y, n + ".down", {17, 1, 2, 0});
    x = g.add(g.conv(z, n + ".2", {i == 0 ? 16 : 17, 3, 1, 1}), shortcut);
  }
  return g.fc(g.gap(g.relu(g.bn(x, "last"))), "fc", 7);
}

inline Var branches(Graph& g, Var x) {
  x = g.relu(g.bn(g.conv(x, "stem", {16, 3, 2, 1}), "stem_bn"));
  const auto unit = [&](Var v, const std::string& n, const sdk::Conv& c) { return g.relu(g.bn(g.conv(v, n, c), n + ".bn")); };
  for (int i = 0; i < 2; ++i) {
    const std::string n = "m" + std::to_string(i);
    const Var a = unit(x, n + ".a", {16, 1});
    const Var b = unit(unit(x, n + ".b1", {8, 1}), n + ".b2", {24, {1, 3}, 1, {0, 1}});
    const Var c = unit(g.avg_pool(x, {3, 1, 1, false, i == 0}), n + ".c", {i == 0 ? 16 : 5, 1});
    const Var d = g.max_pool(x, {3, 1, 1});
    x = g.concat({a, b, c, d});
  }
  x = g.max_pool(x, {3, 2, 0, true});
  return g.fc(g.dropout(g.gap(x), 0.2), "fc", 7);
}

inline Var zero_padded(Graph& g, Var x) {
  x = g.relu(g.bn(g.conv(x, "stem", {16, 3, 1, 1}), "stem_bn"));
  Var y = g.relu(g.bn(g.conv(x, "c1", {32, 3, 2, 1}), "bn1"));
  y = g.bn(g.conv(y, "c2", {32, 3, 1, 1}), "bn2");
  const Var s = g.avg_pool(x, {1, 2});
  const Var zeros = g.fill({4, 8, 8, 8}, 0, "zeros"), more = g.fill({4, 8, 8, 8}, 0, "more");
  x = g.relu(g.add(y, g.concat({zeros, s, more})));
  return g.fc(g.gap(x), "fc", 7);
}

inline Var grouped(Graph& g, Var x) {
  x = g.relu(g.conv(x, "c1", {32, 5, 2, 2, 1, true}));
  x = g.relu(g.conv(x, "c2", {48, 3, 1, 1, 2, true}));
  x = g.relu(g.conv(x, "c3", {12, 3, 1, 1, 3, true}));
  x = g.relu(g.bn(g.conv(x, "c4", {12, 3, 1, 1, 12}), "bn4"));
  return g.fc(g.flatten(x), "fc", 7);
}

inline const std::pair<const char*, Network> kNetworks[] = {{"plain", plain},       {"bottleneck", bottleneck},
                                                     {"branches", branches}, {"pre_activation", pre_activation},
                                                     {"grouped", grouped},   {"zero_padded", zero_padded}};

struct Built {
  ir::Graph graph;
  Value images, labels, loss, logits;
};

inline Value named(const ir::Graph& g, const std::string& name) {
  for (Value v = 0; v < g.tensors.size(); ++v)
    if (g[v].name == name) return v;
  return kNoValue;
}

inline Built build(Network network, bool training) {
  Built b;
  ::convoy::testing::RecordingHost host;
  ir::GraphBuilder builder(b.graph, [&](Code c, std::string_view, std::string_view m) { return host.fail(c, {}, {m.data(), m.size()}); });
  const float mean[4] = {120, 110, 100, 0}, stdev[4] = {60, 60, 60, 1};
  builder.set_input_source("images", DType::u8, mean, stdev);
  Graph g(builder, training);
  const Var x = g.input("images", DType::f32, {4, 3, 16, 16}), t = g.input("labels", DType::i32, {4});
  const Var logits = network(g, x);
  const Var loss = g.xent(logits, t);
  b.images = named(b.graph, "images");
  b.labels = named(b.graph, "labels");
  b.loss = loss.v;
  b.logits = logits.v;
  b.graph[b.loss].role = b.graph[b.logits].role = Role::output;
  b.graph[b.loss].name = "loss";
  b.graph[b.logits].name = "logits";
  return b;
}

inline Built build_step(Network network) {
  Built b = build(network, true);
  ir::Tensor scalar;
  scalar.role = Role::scalar;
  scalar.name = "scale";
  const Value scale = b.graph.add(scalar);
  scalar.name = "lr";
  const Value lr = b.graph.add(scalar);
  const auto gradients = ir::differentiate(b.graph, b.loss, scale);
  for (const auto& [param, grad] : gradients.pairs) {
    ir::Tensor m = b.graph[param];
    m.role = Role::state;
    m.name = "momentum:" + m.name;
    const Value buffer = b.graph.add(m);
    ir::append_node(b.graph, Op::sgd, {param, grad, buffer, lr}, ir::pack(SgdAttrs{sizeof(SgdAttrs), 0, 0.9, 0, 1e-4}),
                    "sgd", Phase::update);
  }
  ir::eliminate_dead(b.graph);
  ir::plan_buckets(b.graph, gradients, 4096, 1024);
  ir::verify(b.graph);
  return b;
}

inline void prepare(Trial& t, const Built& b, uint64_t seed = 11) {
  t.randomize(seed, -0.3f, 0.3f);
  for (Value v = 0; v < b.graph.tensors.size(); ++v) {
    const ir::Tensor& x = b.graph[v];
    const auto all = [&](double value) { for (int64_t i = 0; i < x.elements(); ++i) t.set(v, i, value); };
    if (x.alias_of >= 0) continue;
    if (x.name.ends_with("running_var")) all(0.7);
    if (x.name == "scale" || x.name == "lr") all(x.name == "lr" ? 0.1 : 1);
    if (x.name.starts_with("momentum:")) all(0);
  }
  for (int i = 0; i < 4; ++i) t.set(b.labels, i, i);
}

}  // namespace convoy::cpu::testing
