#include "ir/builder.hpp"

#include "error.hpp"
#include "ir/op_rule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>

namespace convoy::ir {

namespace {

constexpr uint64_t kLongestName = 512;  // what weight files allow

std::string text(Str s) { return s.n == 0 ? std::string() : std::string(s.p, s.n); }

}  // namespace

template <class F>
Code GraphBuilder::guarded(const char* where, F&& body) noexcept {
  try {
    body();
    return Code::ok;
  } catch (const std::bad_alloc&) {
    return fail_(Code::out_of_memory, where, "out of host memory while building the graph");
  } catch (const std::exception& e) {
    return fail_(Code::invalid, where, e.what());
  }
}

void GraphBuilder::set_input_source(const std::string& name, DType stored, const float* mean, const float* stdev) {
  source_name_ = name;
  source_type_ = stored;
  std::copy(mean, mean + 4, source_mean_);
  std::copy(stdev, stdev + 4, source_stdev_);
}

Value GraphBuilder::add_boundary(Role role, Str name, DType t, Span<const int64_t> dims, const std::string& init) {
  const std::string n = text(name);
  if (n.empty() || n.size() > kLongestName)
    throw Error(ErrorKind::usage, fmt::format("a value needs a name of 1 to {} bytes, not '{}'", kLongestName, n));
  if (n.find(':') != std::string::npos)
    throw Error(ErrorKind::usage, fmt::format("'{}': a colon in a name is reserved for optimiser state", n));
  if (dims.n > 6) throw Error(ErrorKind::usage, fmt::format("'{}' has {} dimensions; at most 6 are allowed", n, dims.n));
  if (size_of(t) == 0) throw Error(ErrorKind::usage, fmt::format("'{}': no type has the number {}", n, static_cast<uint32_t>(t)));
  Tensor tensor;
  tensor.name = n;
  tensor.dtype = t;
  tensor.role = role;
  tensor.dims.assign(dims.p, dims.p + dims.n);
  tensor.init = init;
  int64_t elements = 1;
  for (int64_t d : tensor.dims) {
    if (d < 1 || elements > (int64_t{1} << 40) / d)
      throw Error(ErrorKind::usage, fmt::format("'{}' cannot have shape {}", n, shape_text(tensor.dims)));
    elements *= d;
  }
  if (!names_.insert(n).second) throw Error(ErrorKind::usage, fmt::format("two values are called '{}'", n));
  return graph_.add(std::move(tensor));
}

Code GraphBuilder::input(Str name, DType t, Span<const int64_t> dims, Value* out) noexcept {
  return guarded("input", [&] {
    const bool convert = text(name) == source_name_ && t == DType::f32 && source_type_ != DType::f32;
    *out = add_boundary(Role::input, name, convert ? source_type_ : t, dims, "");
    if (!convert) return;
    ImageNormalizeAttrs a{};
    a.struct_size = sizeof a;
    std::copy(source_mean_, source_mean_ + 4, a.mean);
    std::copy(source_stdev_, source_stdev_ + 4, a.stdev);
    *out = append_node(graph_, Op::image_normalize, {*out}, pack(a), "normalize", Phase::forward)[0];
  });
}

Code GraphBuilder::param(Str name, DType t, Span<const int64_t> dims, Str init, Value* out) noexcept {
  return guarded("param", [&] {
    check_init(text(init));
    *out = add_boundary(Role::param, name, t, dims, text(init));
  });
}

Code GraphBuilder::state(Str name, DType t, Span<const int64_t> dims, Str init, Value* out) noexcept {
  return guarded("state", [&] {
    check_init(text(init));
    *out = add_boundary(Role::state, name, t, dims, text(init));
  });
}

Code GraphBuilder::frozen(Str name, DType t, Span<const int64_t> dims, Str init, Value* out) noexcept {
  return guarded("frozen", [&] {
    check_init(text(init));
    *out = add_boundary(Role::frozen, name, t, dims, text(init));
  });
}

Code GraphBuilder::node(Op op, Span<const Value> in, const void* attrs, uint64_t attrs_size, Str name,
                        Span<Value> out) noexcept {
  return guarded("node", [&] {
    if (find_rule(op) == nullptr)
      throw Error(ErrorKind::usage, fmt::format("'{}': no operator has the number {}; this host knows opset {}",
                                                text(name), static_cast<uint32_t>(op), CONVOY_OPSET));
    std::vector<std::byte> bytes(attrs == nullptr ? 0 : attrs_size);
    if (!bytes.empty()) std::memcpy(bytes.data(), attrs, attrs_size);
    const uint32_t scope = open_scopes_.empty() ? 0 : open_scopes_.back();
    const std::size_t tensors = graph_.tensors.size();
    const auto results = append_node(graph_, op, {in.p, in.p + in.n}, std::move(bytes), text(name), Phase::forward, scope);
    if (results.size() != out.n) {
      graph_.nodes.pop_back();
      graph_.tensors.resize(tensors);
      throw Error(ErrorKind::usage, fmt::format("{} '{}' has {} outputs, room for {} was given", rule_of(op).name,
                                                text(name), results.size(), out.n));
    }
    std::copy(results.begin(), results.end(), out.p);
  });
}

Code GraphBuilder::scope(Str name, uint32_t push) noexcept {
  return guarded("scope", [&] {
    if (push == 0) {
      if (open_scopes_.empty()) throw Error(ErrorKind::usage, "a scope is closed that was not opened");
      open_scopes_.pop_back();
      return;
    }
    const std::string outer = open_scopes_.empty() ? "" : graph_.scopes[open_scopes_.back()] + "/";
    graph_.scopes.push_back(outer + text(name));
    open_scopes_.push_back(static_cast<uint32_t>(graph_.scopes.size() - 1));
  });
}

Code GraphBuilder::shape(Value v, TensorDesc* out, uint64_t out_size) noexcept {
  return guarded("shape", [&] {
    if (v >= graph_.tensors.size()) throw Error(ErrorKind::usage, fmt::format("value {} does not exist", v));
    const Tensor& t = graph_[v];
    TensorDesc d{};
    d.rank = static_cast<uint32_t>(t.dims.size());
    std::copy(t.dims.begin(), t.dims.end(), d.dim);
    d.dtype = t.dtype;
    d.role = t.role;
    d.alias_of = t.alias_of;
    d.bucket = -1;
    std::memcpy(out, &d, std::min<uint64_t>(out_size, sizeof d));  // the name would not outlive the call
  });
}

}  // namespace convoy::ir
