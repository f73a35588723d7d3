#include "ir/graph.hpp"

#include <algorithm>

namespace convoy::ir {

namespace {

constexpr uint32_t kOpVersion = 1;

/// 64-bit FNV-1a over words: cheap, and the same on every machine.
class Hash {
 public:
  void add(uint64_t word) {
    for (int i = 0; i < 8; ++i) value_ = (value_ ^ ((word >> (8 * i)) & 0xff)) * 0x100000001b3u;
  }
  void add(const std::vector<std::byte>& bytes) {
    for (std::byte b : bytes) value_ = (value_ ^ static_cast<uint64_t>(b)) * 0x100000001b3u;
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325u;
};

uint64_t hash_of(const Graph& g) {
  Hash h;
  for (const Tensor& t : g.tensors) {
    h.add(static_cast<uint64_t>(t.dtype));
    h.add(static_cast<uint64_t>(t.role));
    h.add(static_cast<uint64_t>(t.alias_of));
    h.add(static_cast<uint64_t>(t.bucket));
    h.add(t.bucket_offset);
    h.add(t.dims.size());
    for (int64_t d : t.dims) h.add(static_cast<uint64_t>(d));
  }
  for (const Node& n : g.nodes) {
    h.add(static_cast<uint64_t>(n.op));
    h.add(static_cast<uint64_t>(n.phase));
    h.add(n.in.size());
    for (Value v : n.in) h.add(v);
    h.add(n.out.size());
    for (Value v : n.out) h.add(v);
    h.add(n.attrs.size());
    h.add(n.attrs);
  }
  return h.value();
}

Str borrowed(const std::string& s) { return {s.data(), s.size()}; }

TensorDesc flatten(const Tensor& t) {
  TensorDesc d{};
  d.rank = static_cast<uint32_t>(t.dims.size());
  std::copy(t.dims.begin(), t.dims.end(), d.dim);
  d.dtype = t.dtype;
  d.role = t.role;
  d.alias_of = t.alias_of;
  d.bucket = t.bucket;
  d.bucket_offset = t.bucket_offset;
  d.name = borrowed(t.name);
  return d;
}

}  // namespace

FlatGraph::FlatGraph(const Graph& g) : source_(g) {
  for (const Tensor& t : source_.tensors) tensors_.push_back(flatten(t));
  for (const Node& n : source_.nodes) {
    NodeDesc d{};
    d.op = n.op;
    d.op_version = kOpVersion;
    d.first_in = static_cast<uint32_t>(edges_.size());
    d.n_in = static_cast<uint32_t>(n.in.size());
    edges_.insert(edges_.end(), n.in.begin(), n.in.end());
    d.first_out = static_cast<uint32_t>(edges_.size());
    d.n_out = static_cast<uint32_t>(n.out.size());
    edges_.insert(edges_.end(), n.out.begin(), n.out.end());
    d.phase = n.phase;
    d.scope = n.scope;
    d.attrs = n.attrs.empty() ? nullptr : n.attrs.data();
    d.attrs_size = n.attrs.size();
    d.name = borrowed(n.name);
    nodes_.push_back(d);
  }
  for (const std::string& s : source_.scopes) scopes_.push_back(borrowed(s));
  view_.struct_size = sizeof view_;
  view_.opset = CONVOY_OPSET;
  view_.tensors = {tensors_.data(), static_cast<uint32_t>(tensors_.size()), sizeof(TensorDesc)};
  view_.nodes = {nodes_.data(), static_cast<uint32_t>(nodes_.size()), sizeof(NodeDesc)};
  view_.edges = {edges_.data(), edges_.size()};
  view_.scopes = {scopes_.data(), static_cast<uint32_t>(scopes_.size()), sizeof(Str)};
  view_.hash = hash_of(source_);
}

}  // namespace convoy::ir
