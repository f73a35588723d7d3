// Kernels of single nodes: a table from operator to function makes a device that the core can stitch.
// A backend with a dozen kernels is about a hundred lines on top of this. No planner, no graph: the core has those.
#pragma once

#include <convoy/ops.hpp>
#include <convoy/sdk/catalogue.hpp>
#include <convoy/sdk/host_device.hpp>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace convoy::sdk {

/// A tensor of a node, copied from the graph so that launches look nothing up.
struct TensorView {
  bool present = false;  // false: an optional input or output that this node does not have
  DType dtype = DType::f32;
  std::vector<int64_t> dims;

  int64_t elements() const {
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    return n;
  }
};

/// A node with its shapes and attributes. Independent of the graph that it was made from.
class NodeView {
 public:
  NodeView(const GraphView& g, uint32_t node) : op(g.nodes[node].op), name(text(g.nodes[node].name)) {
    const NodeDesc& n = g.nodes[node];
    for (uint32_t i = 0; i < n.n_in; ++i) in.push_back(view(g, g.edges.p[n.first_in + i]));
    for (uint32_t i = 0; i < n.n_out; ++i) out.push_back(view(g, g.edges.p[n.first_out + i]));
    attributes_.resize(n.attrs != nullptr ? n.attrs_size : 0);
    if (!attributes_.empty()) std::memcpy(attributes_.data(), n.attrs, attributes_.size());
  }

  /// Attributes that the author's struct does not have yet read as zero.
  template <class Attrs>
  Attrs attrs() const {
    Attrs a{};
    const std::size_t known = attributes_.size() < sizeof a ? attributes_.size() : sizeof a;
    if (known > 0) std::memcpy(&a, attributes_.data(), known);
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

/// What a kernel computes with: host pointers in the node's order, null where a value is absent.
struct KernelArgs {
  const NodeView& node;
  const Binding* io;
  void* workspace;  // as many bytes as the kernel asked for, aligned to 64

  template <class T>
  const T* in(std::size_t i) const {
    return static_cast<const T*>(io[i].ptr);
  }
  template <class T>
  T* out(std::size_t i) const {
    return static_cast<T*>(io[node.in.size() + i].ptr);
  }
};

/// One row of a table.
struct Kernel {
  Op op;
  /// Allocates nothing; throws Error where data are wrong.
  void (*run)(const KernelArgs&);
  /// Why this node cannot run, or "". Optional: null = f32 tensors only.
  std::string (*refuse)(const NodeView&) = nullptr;
  /// Bytes of scratch memory. Optional: null = none.
  uint64_t (*workspace)(const NodeView&) = nullptr;
};

using KernelTable = std::vector<Kernel>;

/// "input 1 is i32; only f32 is computed here", or "" where all tensors of the node are f32.
inline std::string f32_only(const NodeView& n) {
  const auto complaint = [](const char* what, std::size_t i, DType t) {
    return std::string(what) + " " + std::to_string(i) + " is " + dtype_name(t) + "; only f32 is computed here";
  };
  for (std::size_t i = 0; i < n.in.size(); ++i)
    if (n.in[i].present && n.in[i].dtype != DType::f32) return complaint("input", i, n.in[i].dtype);
  for (std::size_t i = 0; i < n.out.size(); ++i)
    if (n.out[i].present && n.out[i].dtype != DType::f32) return complaint("output", i, n.out[i].dtype);
  return "";
}

inline const Kernel* find_kernel(const KernelTable& table, Op op) {
  for (const Kernel& k : table)
    if (k.op == op) return &k;
  return nullptr;
}

/// Why the kernels of `table` cannot run a node of `g`, or "".
inline std::string refusal(const KernelTable& table, const GraphView& g, uint32_t node) {
  if (std::string reason = not_understood(g.nodes[node]); !reason.empty()) return reason;
  const Kernel* k = find_kernel(table, g.nodes[node].op);
  if (k == nullptr) return "no kernel for " + op_name(g.nodes[node].op);
  const NodeView view(g, node);
  return k->refuse != nullptr ? k->refuse(view) : f32_only(view);
}

/// A node made ready to run. Errors of the constructor: unsupported, with the reason.
class PreparedKernel {
 public:
  PreparedKernel(const KernelTable& table, const GraphView& g, uint32_t node)
      : node_(g, node), kernel_(find_kernel(table, g.nodes[node].op)) {
    if (const std::string reason = refusal(table, g, node); !reason.empty()) throw Error(Code::unsupported, reason);
  }
  const NodeView& node() const { return node_; }
  uint64_t workspace() const { return kernel_->workspace != nullptr ? kernel_->workspace(node_) : 0; }
  /// `io` as IKernels::launch() gets it, with pointers that the host may dereference.
  void run(const Binding* io, void* workspace) const { kernel_->run({node_, io, workspace}); }

 private:
  NodeView node_;
  const Kernel* kernel_;
};

/// IKernels over a table, but for launch(). A part of its device. `table` outlives it.
class TableKernels : public IKernels {
 public:
  explicit TableKernels(const KernelTable& table) : table_(table) {}

  void* query(const char* id) noexcept override {
    return std::strcmp(id, IKernels::id) == 0 ? static_cast<IKernels*>(this) : nullptr;
  }
  void destroy() noexcept override {}

  Code supports(const GraphView& g, uint32_t node, Support* out) noexcept override {
    return guard("supports", [&] {
      const std::string reason = refusal(table_, g, node);
      auto answer = sized<Support>();
      answer.code = reason.empty() ? Code::ok : Code::unsupported;
      copy_text(answer.reason, reason);
      fill_record(out, answer);
    });
  }
  Code prepare(const GraphView& g, uint32_t node, uint64_t* workspace, uint64_t* kernel) noexcept override {
    return guard("prepare", [&] {
      auto made = std::make_unique<PreparedKernel>(table_, g, node);
      *workspace = made->workspace();
      *kernel = reinterpret_cast<uint64_t>(made.release());
    });
  }
  void release(uint64_t kernel) noexcept override { delete reinterpret_cast<PreparedKernel*>(kernel); }

  static const PreparedKernel& prepared(uint64_t kernel) { return *reinterpret_cast<const PreparedKernel*>(kernel); }

 protected:
  ~TableKernels() = default;

 private:
  const KernelTable& table_;
};

/// Kernels that are done when launch() returns.
class HostKernels final : public TableKernels {
 public:
  using TableKernels::TableKernels;
  Code launch(uint64_t kernel, Stream, Span<const Binding> io, void* workspace) noexcept override {
    const PreparedKernel& k = prepared(kernel);
    return guard(k.node().name.c_str(), [&] { k.run(io.p, workspace); });
  }
};

/// A whole device: HostDevice with the kernels of a table, which outlives it.
class KernelDevice : public HostDevice {
 public:
  KernelDevice(const KernelTable& table, uint32_t ordinal) : HostDevice(ordinal), kernels_(table) {}

  void* query(const char* id) noexcept override {
    if (void* facet = kernels_.query(id)) return facet;
    return HostDevice::query(id);
  }

 private:
  HostKernels kernels_;
};

}  // namespace convoy::sdk
