// Graph: the core's graph builder in readable calls, for people who write models.
// No shape rules (the core's builder has them) and no gradients. Header-only, C++17, hidden in each plugin.
#pragma once

#include <convoy/ops.hpp>
#include <convoy/sdk/plugin.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

namespace convoy::sdk {

/// A tensor of the graph being built. Belongs to its Graph; copying copies the reference.
struct Var {
  Value v = kNoValue;
};

/// Height and width. One number stands for both: `3` is 3 x 3, `{1, 7}` is 1 high and 7 wide.
struct Pair {
  int64_t h;
  int64_t w;
  Pair(int64_t both) : h(both), w(both) {}
  Pair(int64_t height, int64_t width) : h(height), w(width) {}
};

/// `{out, kernel, stride, pad}` and what is rarely needed. `init` is spelt as for IGraphBuilder::param.
struct Conv {
  int64_t out;
  Pair kernel = 1;
  Pair stride = 1;
  Pair pad = 0;
  int64_t groups = 1;
  bool bias = false;
  std::string init = "kaiming_normal_fan_out";
  std::string bias_init = "zeros";
  Pair dilation = 1;
};

/// `momentum` is the weight of the new batch (PyTorch's convention; MXNet writes 1 - momentum).
struct BatchNorm {
  double eps = 1e-5;
  double momentum = 0.1;
  bool train_gamma = true;  // false: gamma stays 1, is stored with the weights and never updated
};

/// A fully connected layer. An empty `bias_init` means torch_default_bias(inputs).
struct Fc {
  bool bias = true;
  std::string init = "torch_default";
  std::string bias_init;
};

struct Pool {
  Pair window;
  Pair stride;
  Pair pad = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;  // average pooling only
};

/// Defaults: Krizhevsky 2012 as MXNet writes it.
struct Lrn {
  int32_t size = 5;
  double alpha = 1e-4;
  double beta = 0.75;
  double k = 2;
};

/// Leaves its scope of the report when it ends. Keep it in a variable.
class [[nodiscard]] Scope {
 public:
  Scope(IGraphBuilder& builder, const std::string& name) : builder_(builder) {
    check(builder_.scope(str(name), 1), name.c_str());
  }
  ~Scope() { builder_.scope({nullptr, 0}, 0); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  IGraphBuilder& builder_;
};

/// Emits nodes into the core's builder. What a call means is the catalogue's (convoy/ops.hpp).
///
/// A layer `name` makes parameters `name.weight` and `name.bias`, batch normalisation also
/// `name.running_mean` and `name.running_var`: the names that PyTorch's files use.
/// Calls without a name call their node after what they are applied to: "conv1.relu".
/// Errors: throws sdk::Error where the builder refuses; the builder's message has the shapes.
/// Threads: one. Owns: nothing; valid as long as the builder.
class Graph {
 public:
  /// `training`: batch statistics and dropout, else inference. The parameters are the same.
  Graph(IGraphBuilder& builder, bool training) : builder_(builder), training_(training) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  bool training() const { return training_; }
  [[nodiscard]] Scope scope(const std::string& name) { return Scope(builder_, name); }

  TensorDesc shape(Var x) {
    TensorDesc out{};
    check(builder_.shape(x.v, &out, sizeof(out)), "shape of a value");
    return out;
  }

  // ---- values ---------------------------------------------------------------------------------------------

  /// A model has two: "images" (batch, channels, height, width) and "labels" (batch) of i32.
  Var input(const std::string& name, DType t, const std::vector<int64_t>& dims) {
    return made([&](Value* v) { return builder_.input(str(name), t, span(dims), v); }, name);
  }
  /// Trained, f32.
  Var param(const std::string& name, const std::vector<int64_t>& dims, const std::string& init) {
    return made([&](Value* v) { return builder_.param(str(name), DType::f32, span(dims), str(init), v); }, name);
  }
  /// Kept across steps and not trained, f32.
  Var state(const std::string& name, const std::vector<int64_t>& dims, const std::string& init) {
    return made([&](Value* v) { return builder_.state(str(name), DType::f32, span(dims), str(init), v); }, name);
  }
  /// Stored and loaded with the weights, never updated, f32.
  Var frozen(const std::string& name, const std::vector<int64_t>& dims, const std::string& init) {
    return made([&](Value* v) { return builder_.frozen(str(name), DType::f32, span(dims), str(init), v); }, name);
  }
  /// A constant, f32. It has no gradient.
  Var fill(const std::vector<int64_t>& dims, double value, const std::string& name = "fill") {
    auto a = sized<FillAttrs>();
    a.dtype = DType::f32;
    a.rank = copy_dims(dims, a.dim, name);
    a.value = value;
    return one(Op::fill, {}, a, name);
  }

  // ---- layers with parameters -------------------------------------------------------------------------------

  /// x (N, C, H, W) -> (N, out, P, Q). Weight (out, C / groups, R, S).
  Var conv(Var x, const std::string& name, const Conv& c) {
    const TensorDesc in = image(x, name);
    if (c.groups < 1 || in.dim[1] % c.groups != 0)
      throw Error(Code::invalid, name + ": " + std::to_string(in.dim[1]) + " channels do not divide into " +
                                     std::to_string(c.groups) + " groups");
    const Var w = param(name + ".weight", {c.out, in.dim[1] / c.groups, c.kernel.h, c.kernel.w}, c.init);
    auto a = sized<ConvAttrs>();
    put(c.kernel, a.kernel, name);
    put(c.stride, a.stride, name);
    put(c.dilation, a.dilation, name);
    put(c.pad, a.pad_lo, name);
    put(c.pad, a.pad_hi, name);
    put({in.dim[2], in.dim[3]}, a.input_size, name);
    a.groups = narrow(c.groups, name);
    a.compute = DType::f32;
    const Var y = one(Op::conv2d, {x, w}, a, name);
    return c.bias ? add_bias(y, name, c.out, c.bias_init) : y;
  }

  /// x (N, I) -> (N, out). Weight (out, I).
  Var fc(Var x, const std::string& name, int64_t out, const Fc& f = {}) {
    const TensorDesc in = shape(x);
    if (in.rank != 2)
      throw Error(Code::invalid, name + ": a fully connected layer takes (samples, features), not rank " +
                                     std::to_string(in.rank) + "; use gap() or flatten() before it");
    const Var w = param(name + ".weight", {out, in.dim[1]}, f.init);
    const Var y = one(Op::linear, {x, w}, name);
    if (!f.bias) return y;
    const std::string otherwise = "torch_default_bias(" + std::to_string(in.dim[1]) + ")";
    return add_bias(y, name, out, f.bias_init.empty() ? otherwise : f.bias_init);
  }

  /// Batch normalisation over N, H, W: batch statistics in training, running ones in inference.
  Var bn(Var x, const std::string& name, const BatchNorm& b = {}) {
    const std::vector<int64_t> channels{image(x, name).dim[1]};
    const std::string gamma_name = name + ".weight";
    const Var gamma = b.train_gamma ? param(gamma_name, channels, "ones") : frozen(gamma_name, channels, "ones");
    const Var beta = param(name + ".bias", channels, "zeros");
    const Var mean = state(name + ".running_mean", channels, "zeros");
    const Var var = state(name + ".running_var", channels, "ones");
    auto a = sized<BatchNormAttrs>();
    a.eps = b.eps;
    a.momentum = b.momentum;
    if (!training_) return one(Op::batch_norm_infer, {x, gamma, beta, mean, var}, a, name);
    return node(Op::batch_norm, {x, gamma, beta, mean, var}, &a, sizeof(a), name, 5)[0];
  }

  // ---- layers without ---------------------------------------------------------------------------------------

  Var relu(Var x, const std::string& name = {}) { return one(Op::relu, {x}, named(name, x, ".relu")); }
  Var add(Var a, Var b, const std::string& name = {}) { return one(Op::add, {a, b}, named(name, a, ".add")); }
  Var max_pool(Var x, const Pool& p, const std::string& name = {}) {
    return pool(Op::max_pool, x, p, named(name, x, ".max_pool"));
  }
  Var avg_pool(Var x, const Pool& p, const std::string& name = {}) {
    return pool(Op::avg_pool, x, p, named(name, x, ".avg_pool"));
  }

  /// Global average: (N, C, H, W) -> (N, C).
  Var gap(Var x, const std::string& name = {}) {
    const std::string n = named(name, x, ".gap");
    const TensorDesc in = image(x, n);
    auto a = sized<GlobalPoolAttrs>();
    put({in.dim[2], in.dim[3]}, a.input_size, n);
    return one(Op::global_avg_pool, {x}, a, n);
  }

  /// Average over `out` windows along each side, from floor(i in / out) to ceil((i + 1) in / out): PyTorch's adaptive
  /// pooling. Windows overlap, or repeat, where sizes do not divide; nothing at all where the size is `out` already.
  Var adaptive_avg_pool(Var x, const Pair& out, const std::string& name = {}) {
    const std::string n = named(name, x, ".adaptive_avg_pool");
    const TensorDesc in = image(x, n);
    if (out.h < 1 || out.w < 1) throw Error(Code::invalid, n + ": the size to give out must be positive");
    if (in.dim[2] % out.h == 0 && in.dim[3] % out.w == 0) return average(x, {in.dim[2] / out.h, in.dim[3] / out.w}, n);
    return adapt(adapt(x, 2, out.h, n + ".rows"), 3, out.w, n + ".columns");
  }

  Var lrn(Var x, const Lrn& l = {}, const std::string& name = {}) {
    auto a = sized<LrnAttrs>();
    a.size = l.size;
    a.alpha = l.alpha;
    a.beta = l.beta;
    a.k = l.k;
    return one(Op::lrn, {x}, a, named(name, x, ".lrn"));
  }

  /// Drops with probability `p` in training; nothing at all in inference.
  Var dropout(Var x, double p, const std::string& name = {}) {
    if (!training_) return x;
    if (random_.v == kNoValue) random_ = input("rng", DType::i64, {4});
    auto a = sized<DropoutAttrs>();
    a.stream = dropouts_++;
    a.p = p;
    return one(Op::dropout, {x, random_}, a, named(name, x, ".dropout"));
  }

  /// Along `axis`; 1 is the channels.
  Var concat(const std::vector<Var>& xs, const std::string& name = {}, int32_t axis = 1) {
    if (xs.empty()) throw Error(Code::invalid, "concat: nothing to join");
    auto a = sized<ConcatAttrs>();
    a.axis = axis;
    return one(Op::concat, xs, a, named(name, xs[0], ".concat"));
  }

  /// x[start, start + length) along `axis`.
  Var slice(Var x, int32_t axis, int64_t start, int64_t length, const std::string& name = {}) {
    auto a = sized<SliceAttrs>();
    a.axis = axis;
    a.start = start;
    a.length = length;
    return one(Op::slice, {x}, a, named(name, x, ".slice"));
  }

  Var reshape(Var x, const std::vector<int64_t>& dims, const std::string& name = {}) {
    const std::string n = named(name, x, ".reshape");
    auto a = sized<ReshapeAttrs>();
    a.rank = copy_dims(dims, a.dim, n);
    return one(Op::reshape, {x}, a, n);
  }
  /// (N, ...) -> (N, everything else).
  Var flatten(Var x, const std::string& name = {}) {
    const TensorDesc in = shape(x);
    int64_t features = 1;
    for (uint32_t i = 1; i < in.rank; ++i) features *= in.dim[i];
    return reshape(x, {in.dim[0], features}, named(name, x, ".flatten"));
  }

  Var cast(Var x, DType to, const std::string& name = {}) {
    auto a = sized<CastAttrs>();
    a.to = to;
    return one(Op::cast, {x}, a, named(name, x, ".cast"));
  }

  // ---- loss -------------------------------------------------------------------------------------------------

  /// Mean softmax cross-entropy, a scalar. Label smoothing is the experiment's: the core sets it.
  Var xent(Var logits, Var labels, const std::string& name = "loss") {
    auto a = sized<SoftmaxXentAttrs>();
    return node(Op::softmax_xent, {logits, labels}, &a, sizeof(a), name, 4)[0];
  }

  /// sum_i weights[i] xs[i], for auxiliary heads. At most 8.
  Var weighted_sum(const std::vector<Var>& xs, const std::vector<double>& weights,
                   const std::string& name = "weighted_sum") {
    auto a = sized<WeightedSumAttrs>();
    if (xs.size() != weights.size() || xs.empty() || xs.size() > 8)
      throw Error(Code::invalid, name + ": takes 1 to 8 values, and as many weights");
    a.n = static_cast<uint32_t>(xs.size());
    for (std::size_t i = 0; i < weights.size(); ++i) a.weight[i] = weights[i];
    return one(Op::weighted_sum, xs, a, name);
  }

  // ---- anything else ----------------------------------------------------------------------------------------

  /// Any operator of the catalogue. `attrs` is copied; `outputs` is the operator's number of outputs.
  std::vector<Var> node(Op op, const std::vector<Var>& in, const void* attrs, std::size_t attrs_size,
                        const std::string& name, std::size_t outputs) {
    std::vector<Value> from;
    for (Var x : in) from.push_back(x.v);
    std::vector<Value> to(outputs, kNoValue);
    check(builder_.node(op, span(from), attrs, attrs_size, str(name), {to.data(), to.size()}), name.c_str());
    std::vector<Var> out;
    for (Value v : to) out.push_back(remember({v}, name));
    return out;
  }

 private:
  template <class Attrs>
  Var one(Op op, const std::vector<Var>& in, const Attrs& attrs, const std::string& name) {
    return node(op, in, &attrs, sizeof(attrs), name, 1)[0];
  }
  Var one(Op op, const std::vector<Var>& in, const std::string& name) { return node(op, in, nullptr, 0, name, 1)[0]; }

  template <class Make>
  Var made(Make&& make, const std::string& name) {
    Var out;
    check(make(&out.v), name.c_str());
    return remember(out, name);
  }

  Var add_bias(Var y, const std::string& name, int64_t n, const std::string& init) {
    return one(Op::bias_add, {y, param(name + ".bias", {n}, init)}, name + ".bias_add");
  }

  Var pool(Op op, Var x, const Pool& p, const std::string& name) {
    const TensorDesc in = image(x, name);
    auto a = sized<PoolAttrs>();
    put(p.window, a.window, name);
    put(p.stride, a.stride, name);
    put(p.pad, a.pad_lo, name);
    put(p.pad, a.pad_hi, name);
    put({in.dim[2], in.dim[3]}, a.input_size, name);
    a.ceil_mode = p.ceil_mode ? 1 : 0;
    a.count_include_pad = p.count_include_pad ? 1 : 0;
    return one(op, {x}, a, name);
  }

  /// Windows side by side.
  Var average(Var x, const Pair& window, const std::string& name) {
    return window.h == 1 && window.w == 1 ? x : avg_pool(x, {window, window}, name);
  }

  /// Adaptive pooling along one axis.
  Var adapt(Var x, int32_t axis, int64_t out, const std::string& name) {
    const int64_t in = image(x, name).dim[axis];
    const auto window = [axis](int64_t n) { return axis == 2 ? Pair(n, 1) : Pair(1, n); };
    if (in % out == 0) return average(x, window(in / out), name);
    std::vector<Var> parts;
    for (int64_t i = 0; i < out; ++i) {
      const int64_t start = i * in / out, length = ((i + 1) * in + out - 1) / out - start;
      const std::string part = name + std::to_string(i);
      parts.push_back(average(length == in ? x : slice(x, axis, start, length, part + ".slice"), window(length), part));
    }
    return concat(parts, name, axis);
  }

  /// Shape of x, which must be (N, C, H, W).
  TensorDesc image(Var x, const std::string& name) {
    const TensorDesc out = shape(x);
    if (out.rank != 4)
      throw Error(Code::invalid, name + ": takes (samples, channels, height, width), not rank " +
                                     std::to_string(out.rank));
    return out;
  }

  static int32_t narrow(int64_t n, const std::string& name) {
    if (n < 0 || n > std::numeric_limits<int32_t>::max())
      throw Error(Code::invalid, name + ": " + std::to_string(n) + " is out of range");
    return static_cast<int32_t>(n);
  }
  static void put(const Pair& p, int32_t (&out)[2], const std::string& name) {
    out[0] = narrow(p.h, name);
    out[1] = narrow(p.w, name);
  }
  static uint32_t copy_dims(const std::vector<int64_t>& dims, int64_t (&out)[6], const std::string& name) {
    if (dims.size() > 6) throw Error(Code::invalid, name + ": at most 6 dimensions");
    for (std::size_t i = 0; i < dims.size(); ++i) out[i] = dims[i];
    return static_cast<uint32_t>(dims.size());
  }

  Var remember(Var x, const std::string& name) {
    if (x.v == kNoValue) return x;
    if (names_.size() <= x.v) names_.resize(x.v + 1u);
    names_[x.v] = name;
    return x;
  }
  std::string named(const std::string& name, Var x, const char* suffix) const {
    if (!name.empty()) return name;
    return (x.v < names_.size() ? names_[x.v] : std::string()) + suffix;
  }

  IGraphBuilder& builder_;
  bool training_;
  Var random_;                      // the dropouts' counter, made on first use
  uint32_t dropouts_ = 0;
  std::vector<std::string> names_;  // by value: the node that made it
};

}  // namespace convoy::sdk
