// The graph while the core works on it: growable tables in ordinary C++, and the flat form for backends.
// No shape rules (ops/), no gradients (autodiff), no decision about how anything is computed.
#pragma once

#include <convoy/abi.hpp>
#include <convoy/ops.hpp>

#include <cstddef>
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace convoy::ir {

struct Tensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> dims;  // empty = a scalar of one element
  Role role = Role::activation;
  int32_t alias_of = -1;      // the boundary value whose memory holds this updated content
  int32_t bucket = -1;
  uint64_t bucket_offset = 0;  // bytes
  std::string init;            // params, states and frozen values: how they begin

  int64_t elements() const {
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    return n;
  }
};

struct Node {
  Op op{};
  std::string name;
  std::vector<Value> in;   // kNoValue for an absent optional input
  std::vector<Value> out;  // kNoValue for an absent optional output
  std::vector<std::byte> attrs;
  Phase phase = Phase::forward;
  uint32_t scope = 0;
};

/// Bytes of one element.
inline uint64_t size_of(DType t) {
  switch (t) {
    case DType::f32: case DType::i32: return 4;
    case DType::f16: case DType::bf16: return 2;
    case DType::u8: return 1;
    case DType::i64: return 8;
  }
  return 0;
}

/// "f32", "bf16" ...
inline const char* name_of(DType t) {
  switch (t) {
    case DType::f32: return "f32";
    case DType::f16: return "f16";
    case DType::bf16: return "bf16";
    case DType::u8: return "u8";
    case DType::i32: return "i32";
    case DType::i64: return "i64";
  }
  return "?";
}

inline uint64_t bytes_of(const Tensor& t) { return static_cast<uint64_t>(t.elements()) * size_of(t.dtype); }

/// True where the core owns the memory of values in this role.
inline bool is_boundary(Role r) { return r != Role::activation && r != Role::saved_opaque; }

/// Attributes as bytes and back. `Attrs` begins with struct_size.
template <class Attrs>
std::vector<std::byte> pack(const Attrs& a) {
  std::vector<std::byte> out(sizeof(Attrs));
  std::memcpy(out.data(), &a, sizeof(Attrs));
  return out;
}
template <class Attrs>
Attrs unpack(const Node& n) {
  Attrs out{};
  if (!n.attrs.empty()) std::memcpy(&out, n.attrs.data(), std::min(n.attrs.size(), sizeof(Attrs)));
  return out;
}

/// Tensors and nodes by index; nodes stand in an order in which they can run.
struct Graph {
  std::vector<Tensor> tensors;
  std::vector<Node> nodes;
  std::vector<std::string> scopes{""};

  Value add(Tensor t) {
    tensors.push_back(std::move(t));
    return static_cast<Value>(tensors.size() - 1);
  }
  const Tensor& operator[](Value v) const { return tensors[v]; }
  Tensor& operator[](Value v) { return tensors[v]; }
};

/// Immutable flat tables of a graph, self-contained. `view()` stays valid as long as this object, which must
/// not move after view() was taken: hold it by unique_ptr.
class FlatGraph {
 public:
  explicit FlatGraph(const Graph& g);
  FlatGraph(const FlatGraph&) = delete;
  FlatGraph& operator=(const FlatGraph&) = delete;

  const GraphView& view() const { return view_; }

 private:
  Graph source_;  // owns names and attributes
  std::vector<TensorDesc> tensors_;
  std::vector<NodeDesc> nodes_;
  std::vector<Value> edges_;
  std::vector<Str> scopes_;
  GraphView view_{};
};

}  // namespace convoy::ir
