#include "graph_index.hpp"

namespace convoy::cuda {

GraphIndex::GraphIndex(const GraphView& view)
    : view_(view),
      producer_(view.tensors.n, kNoNode),
      consumers_(view.tensors.n),
      updated_(view.tensors.n, false) {
  for (uint32_t n = 0; n < view.nodes.n; ++n) {
    const NodeDesc& d = view.nodes[n];
    training_ = training_ || d.phase == Phase::backward;
    for (uint32_t i = 0; i < d.n_in; ++i)
      if (const Value v = in(n, i); v != kNoValue && (consumers_[v].empty() || consumers_[v].back() != n))
        consumers_[v].push_back(n);
    for (uint32_t i = 0; i < d.n_out; ++i)
      if (const Value v = out(n, i); v != kNoValue) producer_[v] = n;
  }
  for (Value v = 0; v < view.tensors.n; ++v)
    if (const int32_t old = tensor(v).alias_of; old >= 0) updated_[static_cast<Value>(old)] = true;
}

Value GraphIndex::in(uint32_t n, uint32_t i) const {
  const NodeDesc& d = node(n);
  return i < d.n_in ? view_.edges.p[d.first_in + i] : kNoValue;
}

Value GraphIndex::out(uint32_t n, uint32_t i) const {
  const NodeDesc& d = node(n);
  return i < d.n_out ? view_.edges.p[d.first_out + i] : kNoValue;
}

uint32_t GraphIndex::sole_consumer(Value v) const {
  return !is_boundary(v) && consumers_[v].size() == 1 ? consumers_[v][0] : kNoNode;
}

bool GraphIndex::is_boundary(Value v) const {
  const Role r = tensor(v).role;
  return r != Role::activation && r != Role::saved_opaque;
}

bool GraphIndex::is_constant(Value v) const {
  const Role r = tensor(v).role;
  return (r == Role::param || r == Role::state || r == Role::frozen) && tensor(v).alias_of < 0 && !updated_[v];
}

int64_t GraphIndex::elements(Value v) const {
  int64_t n = 1;
  for (uint32_t i = 0; i < tensor(v).rank; ++i) n *= tensor(v).dim[i];
  return n;
}

uint64_t GraphIndex::bytes(Value v) const { return static_cast<uint64_t>(elements(v)) * size_of(tensor(v).dtype); }

std::vector<int64_t> GraphIndex::dims(Value v) const {
  const TensorDesc& t = tensor(v);
  return {t.dim, t.dim + t.rank};
}

void GraphIndex::need_zero(uint32_t n, uint64_t from) const {
  const auto* p = static_cast<const unsigned char*>(node(n).attrs);
  for (uint64_t i = from; i < node(n).attrs_size; ++i)
    if (p[i] != 0) throw Refused("has attributes newer than this backend knows");
}

uint64_t size_of(DType t) {
  switch (t) {
    case DType::f32: case DType::i32: return 4;
    case DType::f16: case DType::bf16: return 2;
    case DType::u8: return 1;
    case DType::i64: return 8;
  }
  return 0;
}

const char* name_of(DType t) {
  switch (t) {
    case DType::f32: return "f32";
    case DType::f16: return "f16";
    case DType::bf16: return "bf16";
    case DType::u8: return "u8";
    case DType::i32: return "i32";
    case DType::i64: return "i64";
  }
  return "an unknown type";
}

}  // namespace convoy::cuda
