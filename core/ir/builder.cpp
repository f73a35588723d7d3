#include "ir/builder.hpp"

#include "error.hpp"
#include "ir/op_rule.hpp"
#include "nearest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>

namespace convoy::ir {

namespace {

constexpr uint64_t kLongestName = 512;                   // what weight files allow
constexpr int64_t kMostElements = int64_t{1} << 40;      // of one boundary value: its bytes fit any offset
constexpr uint64_t kMostDimensions = 6;                  // TensorDesc

std::string text(Str s) { return s.n == 0 || s.p == nullptr ? std::string() : std::string(s.p, s.n); }

/// Names end up in weight files, tables and messages.
void check_name(const std::string& name) {
  if (name.empty() || name.size() > kLongestName)
    throw Error(ErrorKind::usage, fmt::format("a value needs a name of 1 to {} bytes, not {}", kLongestName, name.size()));
  if (std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
    throw Error(ErrorKind::usage, "a value's name holds a control character");
  if (name.find(':') != std::string::npos)
    throw Error(ErrorKind::usage, fmt::format("'{}': a colon in a name is reserved for optimiser state", name));
  if (name == "__metadata__") throw Error(ErrorKind::usage, "'__metadata__' is reserved in weight files");
}

std::vector<int64_t> checked_dims(const std::string& name, Span<const int64_t> dims) {
  if (dims.n > kMostDimensions)
    throw Error(ErrorKind::usage, fmt::format("'{}' has {} dimensions; at most {} are allowed", name, dims.n, kMostDimensions));
  std::vector<int64_t> out(dims.p, dims.p + dims.n);
  for (int64_t d : out)
    if (d < 1) throw Error(ErrorKind::usage, fmt::format("'{}' has shape {}; each dimension is at least 1", name, shape_text(out)));
  if (saturating_product(out) > kMostElements)
    throw Error(ErrorKind::usage, fmt::format("'{}' has shape {}; at most {} elements are allowed", name, shape_text(out), kMostElements));
  return out;
}

template <class T>
T& required(T* p, const char* what) {
  if (p == nullptr) throw Error(ErrorKind::usage, fmt::format("no room was given for {}", what));
  return *p;
}

/// Models emit forward graphs; the rest is the core's.
void check_offered(Op op, const std::string& name) {
  const OpRule* rule = find_rule(op);
  if (rule == nullptr)
    throw Error(ErrorKind::usage, fmt::format("'{}': no operator has the number {}; this host knows opset {}", name,
                                              static_cast<uint32_t>(op), CONVOY_OPSET));
  if (rule->earliest == Phase::forward) return;
  std::vector<std::string> known;
  for (const OpRule& r : all_rules())
    if (r.earliest == Phase::forward) known.emplace_back(r.name);
  throw Error(ErrorKind::usage, fmt::format("'{}': {} is not for models, the core adds it; models have {}", name, rule->name,
                                            join_names(known)));
}

}  // namespace

Code GraphBuilder::report(Code code, const char* where, const char* message) noexcept {
  try {
    return fail_(code, where, message);
  } catch (...) {  // the sink is out of memory, or there is none: the code alone has to do
    return code;
  }
}

template <class F>
Code GraphBuilder::guarded(const char* where, F&& body) noexcept {
  const std::size_t tensors = graph_.tensors.size(), nodes = graph_.nodes.size(), scopes = graph_.scopes.size();
  Code code = Code::invalid;
  try {
    body();
    return Code::ok;
  } catch (const std::bad_alloc&) {
    code = report(Code::out_of_memory, where, "out of host memory while building the graph");
  } catch (const std::exception& e) {
    code = report(Code::invalid, where, e.what());
  }
  for (std::size_t i = tensors; i < graph_.tensors.size(); ++i)
    if (const Tensor& t = graph_.tensors[i]; is_boundary(t.role) && t.alias_of < 0) names_.erase(t.name);
  graph_.tensors.resize(tensors);
  graph_.nodes.resize(nodes);
  graph_.scopes.resize(scopes);
  return code;
}

void GraphBuilder::set_input_source(const std::string& name, DType stored, const float* mean, const float* stdev) {
  source_name_ = name;
  source_type_ = stored;
  std::copy(mean, mean + 4, source_mean_);
  std::copy(stdev, stdev + 4, source_stdev_);
}

Value GraphBuilder::add_boundary(Role role, const std::string& name, DType t, Span<const int64_t> dims,
                                 const std::string& init) {
  check_name(name);
  if (names_.count(name) > 0) throw Error(ErrorKind::usage, fmt::format("two values are called '{}'", name));
  if (size_of(t) == 0) throw Error(ErrorKind::usage, fmt::format("'{}': no type has the number {}", name, static_cast<uint32_t>(t)));
  Tensor tensor;
  tensor.name = name;
  tensor.dtype = t;
  tensor.role = role;
  tensor.dims = checked_dims(name, dims);
  tensor.init = init;
  const Value v = graph_.add(std::move(tensor));
  names_.insert(name);
  return v;
}

Code GraphBuilder::input(Str name, DType t, Span<const int64_t> dims, Value* out) noexcept {
  return guarded("input", [&] {
    required(out, "the input");
    const std::string n = text(name);
    const bool convert = n == source_name_ && t == DType::f32 && source_type_ != DType::f32;
    Value v = add_boundary(Role::input, n, convert ? source_type_ : t, dims, "");
    if (convert) {
      ImageNormalizeAttrs a{};
      a.struct_size = sizeof a;
      std::copy(source_mean_, source_mean_ + 4, a.mean);
      std::copy(source_stdev_, source_stdev_ + 4, a.stdev);
      v = append_node(graph_, Op::image_normalize, {v}, pack(a), n + ".normalize", Phase::forward)[0];
    }
    *out = v;
  });
}

Code GraphBuilder::add_initialised(Role role, const char* where, Str name, DType t, Span<const int64_t> dims, Str init,
                                   Value* out) noexcept {
  return guarded(where, [&] {
    required(out, "the value");
    const Value v = add_boundary(role, text(name), t, dims, text(init));
    try {
      check_init(text(init), dims.n);
    } catch (const Error& e) {
      throw Error(ErrorKind::usage, fmt::format("'{}': {}", text(name), e.what()));
    }
    *out = v;
  });
}

Code GraphBuilder::param(Str name, DType t, Span<const int64_t> dims, Str init, Value* out) noexcept {
  return add_initialised(Role::param, "param", name, t, dims, init, out);
}

Code GraphBuilder::state(Str name, DType t, Span<const int64_t> dims, Str init, Value* out) noexcept {
  return add_initialised(Role::state, "state", name, t, dims, init, out);
}

Code GraphBuilder::frozen(Str name, DType t, Span<const int64_t> dims, Str init, Value* out) noexcept {
  return add_initialised(Role::frozen, "frozen", name, t, dims, init, out);
}

Code GraphBuilder::node(Op op, Span<const Value> in, const void* attrs, uint64_t attrs_size, Str name,
                        Span<Value> out) noexcept {
  return guarded("node", [&] {
    const std::string n = text(name);
    check_offered(op, n);
    std::vector<std::byte> bytes(attrs == nullptr ? 0 : attrs_size);
    if (!bytes.empty()) std::memcpy(bytes.data(), attrs, attrs_size);
    const uint32_t scope = open_scopes_.empty() ? 0 : open_scopes_.back();
    const auto results = append_node(graph_, op, {in.p, in.p + in.n}, std::move(bytes), n, Phase::forward, scope);
    if (results.size() != out.n)
      throw Error(ErrorKind::usage, fmt::format("{} '{}' has {} outputs, room for {} was given", rule_of(op).name, n,
                                                results.size(), out.n));
    std::copy(results.begin(), results.end(), &required(out.p, "the outputs"));
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
    open_scopes_.reserve(open_scopes_.size() + 1);
    graph_.scopes.push_back(outer + text(name));
    open_scopes_.push_back(static_cast<uint32_t>(graph_.scopes.size() - 1));
  });
}

Code GraphBuilder::shape(Value v, TensorDesc* out, uint64_t out_size) noexcept {
  return guarded("shape", [&] {
    required(out, "the shape");
    if (v >= graph_.tensors.size()) throw Error(ErrorKind::usage, fmt::format("value {} does not exist", v));
    const Tensor& t = graph_[v];
    TensorDesc d{};
    d.rank = static_cast<uint32_t>(t.dims.size());
    std::copy(t.dims.begin(), t.dims.end(), d.dim);
    d.dtype = t.dtype;
    d.role = t.role;
    d.alias_of = t.alias_of;
    d.bucket = -1;
    std::memcpy(out, &d, std::min<uint64_t>(out_size, sizeof d));
  });
}

}  // namespace convoy::ir
