#include "train/step_graph.hpp"

#include "error.hpp"
#include "ir/builder.hpp"
#include "ir/passes.hpp"
#include "ir/verify.hpp"

#include <convoy/ops.hpp>
#include <convoy/sdk/plugin.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace convoy::train {

namespace {

Error contract_broken(const std::string& model, const std::string& how) {
  return Error(ErrorKind::plugin, fmt::format("model '{}' {}", model, how));
}

Value find_boundary(const ir::Graph& g, const std::string& name) {
  for (Value v = 0; v < g.tensors.size(); ++v)
    if (ir::is_boundary(g[v].role) && g[v].name == name) return v;
  return kNoValue;
}

Value add_scalar(ir::Graph& g, const std::string& name) {
  ir::Tensor t;
  t.name = name;
  t.role = Role::scalar;
  return g.add(std::move(t));
}

void check_results(const ir::Graph& g, const std::string& model, const ModelSpec& spec, Value loss, Value logits) {
  if (loss >= g.tensors.size() || logits >= g.tensors.size())
    throw contract_broken(model, "returned no loss or no logits");
  if (!g[loss].dims.empty() || g[loss].dtype != DType::f32)
    throw contract_broken(model, fmt::format("returned a loss of shape ({}); a scalar is expected",
                                             fmt::join(g[loss].dims, ",")));
  const std::vector<int64_t> want{spec.batch, spec.classes};
  if (g[logits].dims != want)
    throw contract_broken(model, fmt::format("returned logits of shape ({}); ({}) is expected",
                                             fmt::join(g[logits].dims, ","), fmt::join(want, ",")));
}

/// The loss head whose input is `logits`: its counters are the run's top-1 and top-5.
const ir::Node& find_head(const ir::Graph& g, const std::string& model, Value logits) {
  for (const auto& n : g.nodes)
    if (n.op == Op::softmax_xent && n.in[0] == logits) return n;
  throw contract_broken(model, "does not feed its logits into a softmax_xent loss");
}

void set_label_smoothing(ir::Graph& g, double smoothing) {
  for (auto& n : g.nodes) {
    if (n.op != Op::softmax_xent) continue;
    auto a = ir::unpack<SoftmaxXentAttrs>(n);
    a.struct_size = sizeof a;
    a.label_smoothing = smoothing;
    n.attrs = ir::pack(a);
  }
}

void take_inputs(StepGraph& out, const std::string& model) {
  out.images = find_boundary(out.graph, "images");
  out.labels = find_boundary(out.graph, "labels");
  out.rng = find_boundary(out.graph, "rng");
  if (out.images == kNoValue || out.labels == kNoValue)
    throw contract_broken(model, "has no input 'images' or no input 'labels'");
  if (out.rng != kNoValue) out.graph[out.rng].role = Role::scalar;
}

void add_backward_and_update(StepGraph& out, const std::string& model, const SgdOptions& optimizer) {
  out.scale = add_scalar(out.graph, "gradient_scale");
  out.lr = add_scalar(out.graph, "learning_rate");
  out.gradients = ir::differentiate(out.graph, out.loss, out.scale);
  if (out.gradients.pairs.empty()) throw Error(ErrorKind::plugin, fmt::format("model '{}' has a loss that depends on no parameter: there is nothing to train", model), kNoGradient);
  emit_sgd(out.graph, out.gradients, out.lr, optimizer);
}

}  // namespace

StepGraph build_step_graph(IModel& model, const std::string& model_name, const StepGraphRequest& request,
                           plugin::Host& host) {
  StepGraph out;
  ir::GraphBuilder builder(out.graph, [&](Code c, std::string_view where, std::string_view message) {
    return host.fail(c, {where.data(), where.size()}, {message.data(), message.size()});
  });
  builder.set_input_source("images", request.images.stored, request.images.mean.data(), request.images.stdev.data());
  host.check(model.build(request.spec, builder, &out.loss, &out.logits), model_name, "build the graph");
  check_results(out.graph, model_name, request.spec, out.loss, out.logits);
  take_inputs(out, model_name);
  if (request.spec.training != 0) set_label_smoothing(out.graph, request.label_smoothing);
  const ir::Node& head = find_head(out.graph, model_name, out.logits);
  out.top1 = head.out[2];
  out.top5 = head.out[3];
  for (Value v : {out.loss, out.logits, out.top1, out.top5}) out.graph[v].role = Role::output;
  if (request.spec.training != 0) add_backward_and_update(out, model_name, request.optimizer);
  ir::eliminate_dead(out.graph);
  ir::verify(out.graph);
  return out;
}

}  // namespace convoy::train
