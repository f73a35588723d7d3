// Per-node kernels over host memory: a table from operator to function makes a device that the core can stitch.
// A backend with a dozen kernels is about a hundred lines on top of this. No planner, no graph: the core has those.
#pragma once

#include <convoy/ops.hpp>
#include <convoy/sdk/host_device.hpp>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace convoy::sdk {

/// A tensor of a node, copied from the graph so that launches look nothing up.
struct TensorView {
  bool present = false;
  DType dtype = DType::f32;
  std::vector<int64_t> dims;

  int64_t elements() const {
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    return n;
  }
};

/// A node with its shapes and attributes.
class NodeView {
 public:
  NodeView(const GraphView& g, uint32_t node) : op(g.nodes[node].op), name(text(g.nodes[node].name)) {
    const NodeDesc& n = g.nodes[node];
    for (uint32_t i = 0; i < n.n_in; ++i) in.push_back(view(g, g.edges.p[n.first_in + i]));
    for (uint32_t i = 0; i < n.n_out; ++i) out.push_back(view(g, g.edges.p[n.first_out + i]));
    attributes_.resize(n.attrs_size);
    if (n.attrs_size > 0) std::memcpy(attributes_.data(), n.attrs, n.attrs_size);
  }

  template <class Attrs>
  Attrs attrs() const {
    Attrs a{};
    std::memcpy(&a, attributes_.data(), attributes_.size() < sizeof a ? attributes_.size() : sizeof a);
    return a;
  }

  Op op;
  std::string name;
  std::vector<TensorView> in;
  std::vector<TensorView> out;

 private:
  static TensorView view(const GraphView& g, Value v) {
    if (v == kNoValue) return {};
    const TensorDesc& t = g.tensors[v];
    return {true, t.dtype, {t.dim, t.dim + t.rank}};
  }

  std::vector<unsigned char> attributes_;
};

/// What a kernel computes with: pointers in the node's order, null where a value is absent.
struct KernelArgs {
  const NodeView& node;
  const Binding* io;

  template <class T>
  const T* in(std::size_t i) const {
    return static_cast<const T*>(io[i].ptr);
  }
  template <class T>
  T* out(std::size_t i) const {
    return static_cast<T*>(io[node.in.size() + i].ptr);
  }
};

/// One row of the table. `refuse` returns why this node cannot run, or "": optional, null = every node can.
struct Kernel {
  Op op;
  void (*run)(const KernelArgs&);
  std::string (*refuse)(const NodeView&) = nullptr;
};

using KernelTable = std::vector<Kernel>;

inline const Kernel* find_kernel(const KernelTable& table, Op op) {
  for (const Kernel& k : table)
    if (k.op == op) return &k;
  return nullptr;
}

/// HostDevice with kernels. `table` outlives it.
class KernelDevice : public HostDevice, public IKernels {
 public:
  KernelDevice(const KernelTable& table, uint32_t ordinal) : HostDevice(ordinal), table_(table) {}

  void* query(const char* id) noexcept override {
    if (std::strcmp(id, IKernels::id) == 0) return static_cast<IKernels*>(this);
    return HostDevice::query(id);
  }
  void destroy() noexcept override { delete this; }

  Code supports(const GraphView& g, uint32_t node, Support* out) noexcept override {
    return guard("supports", [&] {
      const std::string reason = refusal(NodeView(g, node));
      out->code = reason.empty() ? Code::ok : Code::unsupported;
      copy_text(out->reason, reason);
    });
  }
  Code prepare(const GraphView& g, uint32_t node, uint64_t* workspace, uint64_t* kernel) noexcept override {
    return guard("prepare", [&] {
      auto prepared = std::make_unique<Prepared>(Prepared{NodeView(g, node), find_kernel(table_, g.nodes[node].op)});
      if (prepared->kernel == nullptr) throw Error(Code::unsupported, refusal(prepared->node));
      *workspace = 0;
      *kernel = reinterpret_cast<uint64_t>(prepared.release());
    });
  }
  Code launch(uint64_t kernel, Stream, Span<const Binding> io, void*) noexcept override {
    const auto* p = reinterpret_cast<const Prepared*>(kernel);
    return guard(p->node.name.c_str(), [&] { p->kernel->run({p->node, io.p}); });
  }
  void release(uint64_t kernel) noexcept override { delete reinterpret_cast<Prepared*>(kernel); }

  /// Why a node cannot run here, or "".
  std::string refusal(const NodeView& n) const {
    const Kernel* k = find_kernel(table_, n.op);
    if (k == nullptr) return "no kernel for operator " + std::to_string(static_cast<uint32_t>(n.op));
    for (const auto* list : {&n.in, &n.out})
      for (const TensorView& t : *list)
        if (t.present && (t.dtype == DType::f16 || t.dtype == DType::bf16)) return "16-bit floats are not computed here";
    return k->refuse == nullptr ? "" : k->refuse(n);
  }

 private:
  struct Prepared {
    NodeView node;
    const Kernel* kernel;
  };

  const KernelTable& table_;
};

}  // namespace convoy::sdk
