#include "exec/stitched.hpp"

#include "error.hpp"
#include "ir/op_rule.hpp"

#include <convoy/ops.hpp>
#include <convoy/sdk/planner.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

namespace convoy::exec {

namespace {

constexpr uint64_t kAlignment = 64;  // what IKernels promises kernels for workspaces; tensors get the same
constexpr std::size_t kRefusalsShown = 8;

bool is_marker(Op op) { return op == Op::grads_ready || op == Op::params_needed; }

bool in_arena(const TensorDesc& t) { return t.role == Role::activation || t.role == Role::saved_opaque; }

uint64_t bytes_of(const TensorDesc& t) {
  uint64_t n = ir::size_of(t.dtype);
  for (uint32_t i = 0; i < t.rank; ++i) n *= static_cast<uint64_t>(t.dim[i]);
  return n;
}

std::string shape_text(const TensorDesc& t) {
  return fmt::format("({})", fmt::join(t.dim, t.dim + t.rank, ","));
}

/// Input and output values of a node, in the order of its kernel's bindings.
std::vector<Value> values_of(const GraphView& g, const NodeDesc& n) {
  std::vector<Value> out;
  for (uint32_t i = 0; i < n.n_in; ++i) out.push_back(g.edges.p[n.first_in + i]);
  for (uint32_t i = 0; i < n.n_out; ++i) out.push_back(g.edges.p[n.first_out + i]);
  return out;
}

}  // namespace

std::string describe_node(const GraphView& view, uint32_t node) {
  const NodeDesc& n = view.nodes[node];
  std::string shapes;
  for (uint32_t i = 0; i < n.n_in; ++i)
    if (const Value v = view.edges.p[n.first_in + i]; v != kNoValue)
      shapes += (shapes.empty() ? "" : " ") + shape_text(view.tensors[v]);
  return fmt::format("{} ({} {})", sdk::text(n.name), ir::rule_of(n.op).name, shapes);
}

void throw_refused(const Device& device, const GraphView& view, const std::vector<Refusal>& refusals) {
  Error e(ErrorKind::plugin,
          fmt::format("{} of {} nodes cannot run on device '{}'", refusals.size(), view.nodes.n, device.name()),
          "P501");
  for (std::size_t i = 0; i < std::min(refusals.size(), kRefusalsShown); ++i)
    e.note("node", fmt::format("{}: '{}: {}'", describe_node(view, refusals[i].node), device.name(),
                               refusals[i].reason));
  if (refusals.size() > kRefusalsShown)
    e.note("", fmt::format("... and {} more", refusals.size() - kRefusalsShown));
  e.note("fix", "another device");
  throw e;
}

StitchedExecutable::StitchedExecutable(const Device& device, const GraphView& view, IStepHooks* hooks)
    : device_(device), view_(view), hooks_(hooks) {
  prepare_nodes();
  plan_memory();
}

StitchedExecutable::~StitchedExecutable() {
  for (const Launch& l : launches_)
    if (!is_marker(view_.nodes[l.node].op)) device_.kernels()->release(l.kernel);
}

void StitchedExecutable::prepare_nodes() {
  std::vector<Refusal> refusals;
  for (uint32_t i = 0; i < view_.nodes.n; ++i) {
    if (is_marker(view_.nodes[i].op)) continue;
    auto answer = sdk::sized<Support>();
    device_.check(device_.kernels()->supports(view_, i, &answer), "ask for support");
    if (answer.code != Code::ok)
      refusals.push_back({i, answer.reason[0] != '\0' ? answer.reason : "no reason given"});
  }
  if (!refusals.empty()) throw_refused(device_, view_, refusals);
  for (uint32_t i = 0; i < view_.nodes.n; ++i) {
    Launch l;
    l.node = i;
    if (!is_marker(view_.nodes[i].op))
      device_.check(device_.kernels()->prepare(view_, i, &l.workspace, &l.kernel),
                    "prepare " + describe_node(view_, i));
    workspace_bytes_ = std::max(workspace_bytes_, l.workspace);
    launches_.push_back(l);
  }
}

void StitchedExecutable::plan_memory() {
  std::vector<sdk::Lifetime> lives(view_.tensors.n);
  std::vector<bool> seen(view_.tensors.n, false);
  for (uint32_t i = 0; i < view_.nodes.n; ++i)
    for (Value v : values_of(view_, view_.nodes[i])) {
      if (v == kNoValue || !in_arena(view_.tensors[v])) continue;
      if (!seen[v]) lives[v] = {bytes_of(view_.tensors[v]), i, i};
      seen[v] = true;
      lives[v].last = i;
    }
  std::vector<sdk::Lifetime> pieces;
  std::vector<Value> owner;
  for (Value v = 0; v < view_.tensors.n; ++v)
    if (seen[v]) {
      pieces.push_back(lives[v]);
      owner.push_back(v);
    }
  const auto plan = sdk::plan_arena(pieces, kAlignment);
  offsets_.assign(view_.tensors.n, -1);
  for (std::size_t i = 0; i < owner.size(); ++i) offsets_[owner[i]] = static_cast<int64_t>(plan.offsets[i]);
  workspace_offset_ = (plan.bytes + kAlignment - 1) / kAlignment * kAlignment;
  arena_bytes_ = workspace_offset_ + workspace_bytes_;
}

void* StitchedExecutable::query(const char* id) noexcept {
  return std::strcmp(id, IExecutable::id) == 0 ? static_cast<IExecutable*>(this) : nullptr;
}

Code StitchedExecutable::memory(MemoryReport* out) noexcept {
  uint32_t kernels = 0;
  for (const Launch& l : launches_) kernels += is_marker(view_.nodes[l.node].op) ? 0 : 1;
  *out = {sizeof(MemoryReport), kernels, arena_bytes_, workspace_bytes_, 0};
  return Code::ok;
}

Code StitchedExecutable::describe(INodeReport& out) noexcept {
  for (uint32_t i = 0; i < launches_.size(); ++i) {
    const bool marker = is_marker(view_.nodes[launches_[i].node].op);
    const Code c = out.note(launches_[i].node, marker ? Via::view : Via::kernel, i,
                            sdk::str(marker ? "hook" : "stitched"));
    if (c != Code::ok) return c;
  }
  return Code::ok;
}

Code StitchedExecutable::bind(void* arena, Span<const Binding> boundary) noexcept {
  return sdk::guard("StitchedExecutable::bind", [&] {
    std::vector<void*> address(view_.tensors.n, nullptr);
    for (Value v = 0; v < view_.tensors.n; ++v)
      if (offsets_[v] >= 0) address[v] = static_cast<char*>(arena) + offsets_[v];
    for (uint64_t i = 0; i < boundary.n; ++i) address[boundary.p[i].v] = boundary.p[i].ptr;
    for (Value v = 0; v < view_.tensors.n; ++v)
      if (view_.tensors[v].alias_of >= 0)
        address[v] = address[static_cast<Value>(view_.tensors[v].alias_of)];
    workspace_ = static_cast<char*>(arena) + workspace_offset_;
    bindings_.clear();
    for (Launch& l : launches_) {
      l.first_binding = bindings_.size();
      for (Value v : values_of(view_, view_.nodes[l.node]))
        bindings_.push_back({v, 0, v == kNoValue ? nullptr : address[v]});
      l.n_bindings = bindings_.size() - l.first_binding;
    }
  });
}

Code StitchedExecutable::run_marker(const NodeDesc& n, Stream s) noexcept {
  if (hooks_ == nullptr) return Code::ok;
  MarkerAttrs a{};
  std::memcpy(&a, n.attrs, std::min<uint64_t>(n.attrs_size, sizeof a));
  return n.op == Op::grads_ready ? hooks_->grads_ready(a.bucket, s) : hooks_->params_needed(a.bucket, s);
}

Code StitchedExecutable::run(Stream s, uint64_t) noexcept {
  for (const Launch& l : launches_) {
    const NodeDesc& n = view_.nodes[l.node];
    const Code c = is_marker(n.op)
                       ? run_marker(n, s)
                       : device_.kernels()->launch(l.kernel, s, {bindings_.data() + l.first_binding, l.n_bindings},
                                                   workspace_);
    if (c != Code::ok) return c;
  }
  return Code::ok;
}

Code StitchedExecutable::value_layout(Value, Str* tag) noexcept {
  *tag = sdk::str("canonical");
  return Code::ok;
}

Code StitchedExecutable::export_value(Value v, Stream s, void* canonical) noexcept {
  const uint64_t n = bytes_of(view_.tensors[v]);
  return device_.raw().copy(s, host_view(canonical, n), 0, buffers_[v], 0, n);
}

Code StitchedExecutable::import_value(Value v, Stream s, const void* canonical) noexcept {
  const uint64_t n = bytes_of(view_.tensors[v]);
  return device_.raw().copy(s, buffers_[v], 0, host_view(canonical, n), 0, n);
}

}  // namespace convoy::exec
