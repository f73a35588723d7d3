#include "compiler.hpp"

#include "cuda_error.hpp"
#include "executable.hpp"

#include <convoy/sdk/catalogue.hpp>

namespace convoy::cuda {

namespace {

void check_node(const GraphIndex& g, uint32_t n) {
  if (const std::string reason = sdk::not_understood(g.node(n)); !reason.empty()) throw Refused(reason);
  for (uint32_t i = 0; i < g.node(n).n_in + g.node(n).n_out; ++i) {
    const Value v = i < g.node(n).n_in ? g.in(n, i) : g.out(n, i - g.node(n).n_in);
    if (v != kNoValue && (g.tensor(v).dtype == DType::f16 || g.tensor(v).dtype == DType::bf16))
      throw Refused("has a value of 16-bit floats; graphs are f32 here, and the precision is the device's");
  }
}

GroupNote lower_group(Lowering& l, const GraphIndex& g, const Group& group) {
  l.begin(group);
  try {
    for (uint32_t n : group.nodes) check_node(g, n);
    const OpLowering* row = find_lowering(g.node(group.leader).op);
    if (row == nullptr) throw Refused("is " + sdk::op_name(g.node(group.leader).op) + ", which this backend does not know");
    row->lower(l, group);
    return l.end();
  } catch (const Refused& r) {
    return l.refuse(r.what());
  }
}

void note_nodes(Compiled& out, const Group& group, uint32_t index, const GroupNote& note) {
  for (uint32_t n : group.nodes) {
    NodeNote& node = out.notes[n];
    node.group = index;
    if (note.refused && n == group.leader) {
      node.via = Via::refused;
      ++out.refused;
    } else {
      node.via = group.nodes.size() > 1 ? Via::fused : note.steps > 0 ? Via::kernel : Via::view;
    }
    node.text = n == group.leader || note.refused ? note.text : "with " + out.graph->name(group.leader);
    if (node.text.empty()) node.text = node.via == Via::view ? "view" : "plan";
  }
}

void need_all_nodes(const Compiled& lowered) {
  if (lowered.refused == 0) return;
  std::string reasons;
  for (uint32_t n = 0; n < lowered.notes.size(); ++n)
    if (lowered.notes[n].via == Via::refused)
      reasons += (reasons.empty() ? "" : "; ") + lowered.graph->name(n) + " " + lowered.notes[n].text;
  throw sdk::Error(Code::unsupported, reasons);
}

/// The batch: what the first dimension of an input of the graph says.
int64_t batch_of(const GraphIndex& g) {
  for (Value v = 0; v < g.view().tensors.n; ++v)
    if (g.tensor(v).role == Role::input && g.tensor(v).rank > 0) return g.tensor(v).dim[0];
  return 0;
}

/// Memory is nearly proportional to the batch, so the largest one that fits can be told.
void need_room(const Compiled& compiled, uint64_t limit) {
  std::size_t available = 0, total = 0;
  check(cudaMemGetInfo(&available, &total), "ask for free memory");
  const uint64_t room = limit != 0 ? std::min<uint64_t>(limit, available) : available, need = compiled.schedule.arena_bytes();
  if (need <= room) return;
  const int64_t batch = batch_of(*compiled.graph);
  const auto fits = static_cast<int64_t>(static_cast<double>(batch) * static_cast<double>(room) / static_cast<double>(need) * 0.97);
  std::string text = "the step needs an arena of " + std::to_string(need >> 20) + " MiB; " + std::to_string(room >> 20) + " MiB are free";
  if (batch > 1) text += fits > 0 ? "; a batch of about " + std::to_string(fits) + " instead of " + std::to_string(batch) + " would fit" : "";
  throw sdk::Error(Code::out_of_memory, text);
}

}  // namespace

Compiled lower_graph(const GraphView& view, PlanSearch& search, const Settings& settings) {
  Compiled out;
  out.graph = std::make_unique<GraphIndex>(view);
  out.notes.resize(view.nodes.n);
  const GraphIndex& g = *out.graph;
  const auto groups = group_nodes(g, settings.fusion);
  Lowering l(g, groups, out.schedule, search, settings);
  bool backward = false;
  for (uint32_t i = 0; i < groups.size(); ++i) {
    if (!backward && g.node(groups[i].leader).phase != Phase::forward) {
      backward = true;
      out.backward_begin = out.schedule.size(When::run);
    }
    note_nodes(out, groups[i], i, lower_group(l, g, groups[i]));
  }
  l.finish();
  if (!backward) out.backward_begin = out.schedule.size(When::run);
  return out;
}

void check_graph(const GraphView& view, const Settings& settings, INodeReport& out) {
  PlanSearch search(settings);
  const Compiled lowered = lower_graph(view, search, settings);
  for (uint32_t n = 0; n < lowered.notes.size(); ++n)
    sdk::check(out.note(n, lowered.notes[n].via, lowered.notes[n].group, sdk::str(lowered.notes[n].text)), "note a node");
}

IExecutable* compile_graph(const CompileRequest& r, const Settings& settings) {
  Settings chosen = settings;
  chosen.deterministic = settings.deterministic || r.deterministic != 0;
  PlanSearch search(chosen);
  Compiled lowered = lower_graph(*r.graph, search, chosen);
  need_all_nodes(lowered);
  search.run();
  lowered.schedule.plan();
  need_room(lowered, r.memory_limit);
  return new Executable(std::move(lowered), chosen, r.hooks);
}

}  // namespace convoy::cuda
