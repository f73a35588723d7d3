#include "compiler.hpp"

#include "kernels/flat.hpp"
#include "kernels/parallel.hpp"

#include <atomic>

namespace convoy::cpu {

namespace {

/// Clears the alarm, and raises it where a stored value is not finite.
void check_stored_values(const GraphIndex& g, Lowering& l) {
  std::vector<Tensor> operands;
  std::vector<int64_t> counts;
  for (Value v = 0; v < g.view().tensors.n; ++v) {
    const TensorDesc& t = g.tensor(v);
    const bool stored = t.role == Role::param || t.role == Role::state || t.role == Role::frozen;
    if (!stored || t.alias_of >= 0 || t.dtype != DType::f32 || g.consumers(v).empty()) continue;
    operands.push_back(l.read(v));
    counts.push_back(g.elements(v));
  }
  operands.push_back(l.alarm());
  l.kernel("check of stored values", operands, [counts](const Operands& p) {
    std::atomic<uint32_t> bad{0};
    for (std::size_t i = 0; i < counts.size(); ++i)
      parallel(counts[i], kGrain, [&](int64_t begin, int64_t end) {
        if (flat().not_finite(p.at(i) + begin, end - begin) != 0) bad.store(1, std::memory_order_relaxed);
      });
    *p.at<uint32_t>(counts.size()) = bad.load();
  }, When::refresh);
}

void check_node(const GraphIndex& g, uint32_t n) {
  if (g.node(n).op_version > 1) throw Refused("is version " + std::to_string(g.node(n).op_version) + " of its operator; 1 is known");
  for (uint32_t i = 0; i < g.node(n).n_in + g.node(n).n_out; ++i) {
    const Value v = i < g.node(n).n_in ? g.in(n, i) : g.out(n, i - g.node(n).n_in);
    if (v != kNoValue && (g.tensor(v).dtype == DType::f16 || g.tensor(v).dtype == DType::bf16))
      throw Refused("has a value of 16-bit floats; this backend computes in f32");
  }
}

GroupNote lower_group(Lowering& l, const GraphIndex& g, const Group& group) {
  l.begin(group);
  try {
    for (uint32_t n : group.nodes) check_node(g, n);
    const OpLowering* row = find_lowering(g.node(group.leader).op);
    if (row == nullptr)
      throw Refused("is operator " + std::to_string(static_cast<uint32_t>(g.node(group.leader).op)) +
                    ", which this backend does not know");
    row->lower(l, group);
    return l.end();
  } catch (const Refused& r) {
    return l.refuse(r.what());
  } catch (const dnnl::error& e) {
    return l.refuse(std::string("oneDNN refuses it: ") + e.what());
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
    if (node.text.empty()) node.text = node.via == Via::view ? "view" : "kernel";
  }
}

}  // namespace

Compiled lower_graph(const GraphView& view, IStepHooks* hooks) {
  Compiled out;
  out.graph = std::make_unique<GraphIndex>(view);
  out.notes.resize(view.nodes.n);
  const GraphIndex& g = *out.graph;
  const auto groups = group_nodes(g);
  Lowering l(g, groups, out.schedule, hooks);
  check_stored_values(g, l);
  bool backward = false;
  for (uint32_t i = 0; i < groups.size(); ++i) {
    if (!backward && g.node(groups[i].leader).phase != Phase::forward) {
      backward = true;
      out.backward_begin = out.schedule.size(When::run);
    }
    note_nodes(out, groups[i], i, lower_group(l, g, groups[i]));
  }
  if (!backward) out.backward_begin = out.schedule.size(When::run);
  out.schedule.plan();
  return out;
}

}  // namespace convoy::cpu
