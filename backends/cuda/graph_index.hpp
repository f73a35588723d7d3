// A GraphView with the questions a compiler asks: who makes a value, who uses it, what does a node say.
// Read-only; decides nothing.
#pragma once

#include <convoy/abi.hpp>
#include <convoy/ops.hpp>
#include <convoy/sdk/plugin.hpp>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace convoy::cuda {

constexpr uint32_t kNoNode = 0xffffffffu;

/// A node that this backend does not compute, with the reason as the user reads it.
class Refused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Borrows the view.
class GraphIndex {
 public:
  explicit GraphIndex(const GraphView& view);

  const GraphView& view() const { return view_; }
  uint32_t nodes() const { return view_.nodes.n; }
  const NodeDesc& node(uint32_t n) const { return view_.nodes[n]; }
  const TensorDesc& tensor(Value v) const { return view_.tensors[v]; }
  std::string name(uint32_t n) const { return sdk::text(node(n).name); }

  /// kNoValue where there are fewer, or it is absent.
  Value in(uint32_t n, uint32_t i) const;
  Value out(uint32_t n, uint32_t i) const;

  /// The node that writes `v`; kNoNode for what the core provides.
  uint32_t producer(Value v) const { return producer_[v]; }
  /// Nodes that read `v`, in order.
  const std::vector<uint32_t>& consumers(Value v) const { return consumers_[v]; }
  /// The only reader of `v`; kNoNode where there are none or several, or the core sees `v` too.
  uint32_t sole_consumer(Value v) const;

  /// True where the core owns the memory.
  bool is_boundary(Value v) const;
  /// A parameter, state or frozen value that nothing in this graph updates.
  bool is_constant(Value v) const;
  /// True where the graph has a backward pass.
  bool training() const { return training_; }

  int64_t elements(Value v) const;
  uint64_t bytes(Value v) const;
  std::vector<int64_t> dims(Value v) const;

  /// Errors: Refused, where the node has attributes beyond those this backend was written for.
  template <class Attrs>
  Attrs attrs(uint32_t n) const {
    Attrs out{};
    const uint64_t size = node(n).attrs_size;
    if (size > sizeof(Attrs)) need_zero(n, sizeof(Attrs));
    std::memcpy(&out, node(n).attrs, size < sizeof(Attrs) ? size : sizeof(Attrs));
    return out;
  }

 private:
  void need_zero(uint32_t n, uint64_t from) const;

  const GraphView& view_;
  std::vector<uint32_t> producer_;
  std::vector<std::vector<uint32_t>> consumers_;
  std::vector<bool> updated_;
  bool training_ = false;
};

/// Bytes of one element.
uint64_t size_of(DType t);
/// "f32", "bf16" ...
const char* name_of(DType t);

}  // namespace convoy::cuda
