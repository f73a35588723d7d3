// Runs a graph node by node with the double-precision kernels: what tests compare every backend with.
// Not a device: values are vectors, nothing is planned. Link convoy_reference_kernels_f64.
#pragma once

#include "kernels.hpp"

#include <convoy/abi.hpp>

#include <cstdint>
#include <vector>

namespace convoy::reference {

static_assert(sizeof(Scalar) == sizeof(double), "build this with CONVOY_REFERENCE_SCALAR=double");

/// Borrows the graph. f32 values are doubles here, other types are themselves; all begin as zeros.
/// Values that are alias_of another share its memory, as on a device. Errors: sdk::Error, what a kernel refuses.
class Interpreter {
 public:
  explicit Interpreter(const GraphView& g) : graph_(g), values_(g.tensors.n) {
    for (Value v = 0; v < g.tensors.n; ++v) {
      const TensorDesc& t = g.tensors[v];
      int64_t n = 1;
      for (uint32_t d = 0; d < t.rank; ++d) n *= t.dim[d];
      values_[v].resize(static_cast<std::size_t>(n) * size_of(t.dtype) / sizeof(uint64_t) + 1);
      counts_.push_back(n);
    }
  }

  /// Elements of a value: `f` for f32, `as<int32_t>` and so on for others.
  double* f(Value v) { return as<double>(v); }
  template <class T>
  T* as(Value v) {
    return reinterpret_cast<T*>(values_[home(v)].data());
  }
  int64_t count(Value v) const { return counts_[v]; }
  std::vector<double> copy(Value v) { return {f(v), f(v) + count(v)}; }

  void run() {
    for (uint32_t i = 0; i < graph_.nodes.n; ++i) run_node(i);
  }

 private:
  static std::size_t size_of(DType t) {
    switch (t) {
      case DType::f32: case DType::i64: return 8;
      case DType::i32: return 4;
      default: return 1;
    }
  }

  Value home(Value v) const {
    const int32_t alias = graph_.tensors[v].alias_of;
    return alias >= 0 ? static_cast<Value>(alias) : v;
  }

  void run_node(uint32_t i) {
    const NodeDesc& n = graph_.nodes[i];
    if (n.phase == Phase::marker) return;
    const sdk::PreparedKernel kernel(kernels(), graph_, i);
    std::vector<Binding> io;
    for (uint32_t e = 0; e < n.n_in; ++e) io.push_back(bind(graph_.edges.p[n.first_in + e]));
    for (uint32_t e = 0; e < n.n_out; ++e) io.push_back(bind(graph_.edges.p[n.first_out + e]));
    std::vector<uint64_t> workspace(kernel.workspace() / sizeof(uint64_t) + 1);
    kernel.run(io.data(), workspace.data());
  }

  Binding bind(Value v) { return {v, 0, v == kNoValue ? nullptr : static_cast<void*>(values_[home(v)].data())}; }

  const GraphView& graph_;
  std::vector<std::vector<uint64_t>> values_;  // words, so that every element type is aligned
  std::vector<int64_t> counts_;
};

}  // namespace convoy::reference
