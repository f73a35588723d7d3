// Every backward rule against central differences of the forward pass, in double through the reference kernels:
// rule and kernel of a gradient have to agree with the forward kernel, which contains no gradient.
#include "ir/autodiff.hpp"
#include "ir/verify.hpp"

#include "graph_maker.hpp"

#include <interpreter.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>

using namespace convoy;
using namespace convoy::testing;

namespace {

// A step of 1e-4 leaves a truncation error of h^2 / 6 times the third derivative, about 1e-9 for values of order
// one, and a rounding error of 1e-16 / h, about 1e-12 of the loss. 1e-6 of the tensor's largest gradient is a
// hundred times more than both together, and far below what any wrong factor, sign, index or edge would make.
constexpr double kStep = 1e-4;
constexpr double kTolerance = 1e-6;
constexpr double kScale = 1.75;          // of the gradients: exact in binary, and not 1
constexpr std::size_t kMostProbes = 60;  // elements of a tensor that are probed; spread evenly

enum class Fill {
  normal,    // around 0
  positive,  // between 0.5 and 1.5
  apart,     // no two closer than 2 / n and none within 1 / n of 0: nowhere near a kink of relu or max_pool
};

/// The operators whose gradients the cases of this file went through.
std::set<Op>& covered() {
  static std::set<Op> ops;
  return ops;
}

struct Case : GraphMaker {
  std::map<Value, Fill> fills;
  std::map<Value, std::vector<int32_t>> labels;
  Value rng_value = kNoValue;

  /// A parameter, so that its gradient is asked for.
  Value variable(const Dims& d, Fill fill = Fill::normal) {
    const Value v = param("p" + std::to_string(graph.tensors.size()), d);
    fills[v] = fill;
    return v;
  }
  /// Not differentiated.
  Value constant(const Dims& d, Fill fill = Fill::normal) {
    const Value v = input("c" + std::to_string(graph.tensors.size()), d);
    fills[v] = fill;
    return v;
  }
  Value label_input(std::vector<int32_t> values) {
    const Value v = input("labels" + std::to_string(graph.tensors.size()), {static_cast<int64_t>(values.size())}, DType::i32);
    labels[v] = std::move(values);
    return v;
  }
  Value random_counter() { return rng_value = rng(); }
  /// A scalar that depends on every element of `y` with its own weight: sum of y times random numbers.
  Value weigh(Value y) {
    const int64_t n = graph[y].elements();
    const std::string name = "weigh" + std::to_string(y);
    const Value flat = one(Op::reshape, {y}, reshape_attrs({1, n}), name + ".flat");
    return one(Op::reshape, {one(Op::linear, {flat, constant({1, n})}, name)}, reshape_attrs({}), name + ".scalar");
  }
};

/// A graph with memory: the same values of inputs and parameters wherever it is made.
class Evaluation {
 public:
  Evaluation(const Case& c, const ir::Graph& graph, Value scale)
      : flat_(std::make_unique<ir::FlatGraph>(graph)), run_(flat_->view()) {
    for (const auto& [v, fill] : c.fills) fill_value(v, fill);
    for (const auto& [v, values] : c.labels) std::copy(values.begin(), values.end(), run_.as<int32_t>(v));
    if (c.rng_value != kNoValue) std::copy_n(std::begin(kCounter), 4, run_.as<int64_t>(c.rng_value));
    if (scale != kNoValue) run_.f(scale)[0] = kScale;
  }

  reference::Interpreter& interpreter() { return run_; }
  double loss(Value v) {
    run_.run();
    return run_.f(v)[0];
  }

 private:
  static constexpr int64_t kCounter[4] = {20, 7, 1000, 0};  // seed, step, first sample

  void fill_value(Value v, Fill fill) {
    std::mt19937_64 random(1000 + v);
    double* out = run_.f(v);
    const auto n = static_cast<std::size_t>(run_.count(v));
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> positive(0.5, 1.5);
    for (std::size_t i = 0; i < n; ++i) out[i] = fill == Fill::positive ? positive(random) : normal(random);
    if (fill != Fill::apart) return;
    for (std::size_t i = 0; i < n; ++i) out[i] = (2.0 * static_cast<double>(i) + 1) / static_cast<double>(n) - 1;
    if (n % 2 == 1) out[n / 2] = 1.5;  // the middle one would be 0
    std::shuffle(out, out + n, random);
  }

  std::unique_ptr<ir::FlatGraph> flat_;
  reference::Interpreter run_;
};

double slope(Evaluation& e, Value loss, double* x) {
  const double middle = *x;
  *x = middle + kStep;
  const double above = e.loss(loss);
  *x = middle - kStep;
  const double below = e.loss(loss);
  *x = middle;
  return (above - below) / (2 * kStep);
}

void compare(const std::string& name, Evaluation& forward, Value loss, Value param, const std::vector<double>& gradient) {
  double largest = 1e-3;  // so that gradients that are all zero are held to an absolute 1e-9
  for (double g : gradient) largest = std::max(largest, std::abs(g));
  const std::size_t stride = gradient.size() / kMostProbes + 1;
  for (std::size_t i = 0; i < gradient.size(); i += stride) {
    const double want = kScale * slope(forward, loss, forward.interpreter().f(param) + i);
    CHECK_MESSAGE(std::abs(gradient[i] - want) <= kTolerance * largest,
                  name << "[" << i << "]: gradient " << gradient[i] << ", finite difference " << want);
  }
}

/// Differentiates a copy of the case's graph and compares every parameter's gradient.
void check_gradients(const Case& c, Value loss) {
  for (const ir::Node& n : c.graph.nodes)
    if (ir::rule_of(n.op).gradient != nullptr) covered().insert(n.op);
  ir::Graph whole = c.graph;
  whole[loss].role = Role::output;
  ir::Tensor t;
  t.name = "scale";
  t.role = Role::scalar;
  const Value scale = whole.add(t);
  const ir::Gradients gradients = ir::differentiate(whole, loss, scale);
  ir::verify(whole);
  std::size_t params = 0;
  for (const auto& [v, fill] : c.fills) params += c.graph[v].role == Role::param ? 1 : 0;
  CHECK(gradients.pairs.size() == params);

  Evaluation backward(c, whole, scale), forward(c, c.graph, kNoValue);
  backward.interpreter().run();
  for (const auto& [param, grad] : gradients.pairs)
    compare(c.graph[param].name, forward, loss, param, backward.interpreter().copy(grad));
}

void check_conv(const ConvSpec& s, const Dims& x, const Dims& w) {
  Case c;
  const Value y = c.one(Op::conv2d, {c.variable(x), c.variable(w)}, conv_attrs(s), "conv");
  check_gradients(c, c.weigh(y));
}

void check_pool(Op op, const PoolSpec& s, const Dims& x) {
  Case c;
  check_gradients(c, c.weigh(c.one(op, {c.variable(x, Fill::apart)}, pool_attrs(s), "pool")));
}

/// A pool of attributes that reaches every edge: overlaps, gaps, uneven padding, windows that hang over.
std::vector<PoolSpec> pool_specs() {
  std::vector<PoolSpec> out;
  for (bool ceil_mode : {false, true})
    for (bool include : {false, true})
      for (PoolSpec s : {PoolSpec{}, PoolSpec{{3, 3}, {2, 2}}, PoolSpec{{3, 2}, {1, 3}}, PoolSpec{{3, 3}, {2, 2}, {1, 1}, {1, 1}},
                         PoolSpec{{3, 4}, {2, 3}, {2, 0}, {0, 3}}, PoolSpec{{1, 1}, {2, 2}}, PoolSpec{{7, 6}, {1, 1}}}) {
        s.ceil_mode = ceil_mode;
        s.count_include_pad = include;
        out.push_back(s);
      }
  return out;
}

void check_xent(double smoothing, std::vector<int32_t> labels) {
  Case c;
  const Value logits = c.variable({static_cast<int64_t>(labels.size()), 7});
  check_gradients(c, c.all(Op::softmax_xent, {logits, c.label_input(labels)}, xent_attrs(smoothing), "loss")[0]);
}

std::vector<Value> batch_norm(Case& c, Value x, const std::string& name) {
  const Dims channels{c.dims(x)[1]};
  const Value mean = c.state(name + ".mean", channels), var = c.state(name + ".var", channels);
  return c.all(Op::batch_norm, {x, c.variable(channels, Fill::positive), c.variable(channels), mean, var}, batch_norm_attrs(1e-3), name);
}

}  // namespace

TEST_SUITE("ir/gradients") {
  TEST_CASE("the comparison itself: a wrong gradient does not pass") {
    Case c;
    const Value x = c.variable({3, 4});
    const Value y = c.one(Op::weighted_sum, {x}, weighted_attrs({0.5}), "half");
    const Value loss = c.weigh(y);
    Evaluation e(c, c.graph, kNoValue);
    double* p = e.interpreter().f(x);
    const double right = slope(e, loss, p);
    const double weight = e.interpreter().f(c.node("weigh" + std::to_string(y)).in[1])[0];
    CHECK(std::abs(right - 0.5 * weight) < kTolerance);
    CHECK(std::abs(right - 0.50001 * weight) > kTolerance * std::abs(weight));  // a factor off by 2e-5
  }

  TEST_CASE("conv2d: strides, uneven padding, dilation, groups, long windows") {
    check_conv({}, {2, 3, 5, 6}, {4, 3, 3, 3});
    check_conv({{2, 3}, {1, 1}, {1, 1}}, {2, 3, 7, 8}, {2, 3, 3, 3});
    check_conv({{2, 1}, {2, 0}, {0, 1}}, {1, 2, 6, 5}, {3, 2, 3, 2});
    check_conv({{1, 2}, {2, 2}, {2, 2}, {2, 3}}, {1, 2, 8, 9}, {2, 2, 3, 3});
    check_conv({{1, 1}, {1, 1}, {1, 1}, {1, 1}, 2}, {2, 4, 5, 5}, {6, 2, 3, 3});
    check_conv({{2, 2}, {1, 1}, {1, 1}, {1, 1}, 6}, {2, 6, 6, 6}, {12, 1, 3, 3});  // depthwise, two outputs each
    check_conv({{1, 1}, {0, 3}, {0, 3}}, {1, 2, 4, 9}, {2, 2, 1, 7});
    check_conv({{2, 2}}, {2, 3, 5, 5}, {4, 3, 1, 1});  // steps over elements that then have gradient 0
    check_conv({{3, 3}, {5, 5}, {4, 4}}, {1, 1, 3, 3}, {1, 1, 4, 4});  // windows that see nothing but padding
  }

  TEST_CASE("linear and bias, for vectors and images") {
    Case c;
    const Value y = c.one(Op::linear, {c.variable({3, 5}), c.variable({4, 5})}, "fc");
    const Value z = c.one(Op::bias_add, {y, c.variable({4})}, "bias");
    check_gradients(c, c.weigh(z));
    Case images;
    check_gradients(images, images.weigh(images.one(Op::bias_add, {images.variable({2, 3, 4, 2}), images.variable({3})}, "bias")));
  }

  TEST_CASE("batch normalisation, through mean and variance") {
    for (const Dims& x : {Dims{3, 2, 4, 5}, Dims{4, 3, 1, 1}, Dims{1, 2, 3, 3}}) {
      Case c;
      const Value y = batch_norm(c, c.variable(x), "bn")[0];
      check_gradients(c, c.weigh(y));
    }
  }

  TEST_CASE("batch normalisation of something that no parameter stands behind, and with a frozen scale") {
    Case c;
    check_gradients(c, c.weigh(batch_norm(c, c.constant({3, 2, 4, 5}), "bn")[0]));
    Case frozen;
    const Value gamma = frozen.constant({2}, Fill::positive), beta = frozen.variable({2});
    const Value y = frozen.all(Op::batch_norm, {frozen.variable({3, 2, 4, 5}), gamma, beta, frozen.state("m", {2}), frozen.state("v", {2})},
                               batch_norm_attrs(), "bn")[0];
    check_gradients(frozen, frozen.weigh(y));
  }

  TEST_CASE("relu") {
    Case c;
    check_gradients(c, c.weigh(c.one(Op::relu, {c.variable({2, 3, 4, 4}, Fill::apart)}, "relu")));
  }

  TEST_CASE("max_pool: the first of each window's largest gets it all") {
    for (const PoolSpec& s : pool_specs())
      if (s.count_include_pad) check_pool(Op::max_pool, s, {2, 2, 7, 8});
  }

  TEST_CASE("avg_pool: padding counted or not, and what hangs over never") {
    for (const PoolSpec& s : pool_specs()) check_pool(Op::avg_pool, s, {1, 2, 7, 8});
  }

  TEST_CASE("global average pooling") {
    Case c;
    check_gradients(c, c.weigh(c.one(Op::global_avg_pool, {c.variable({2, 3, 4, 5})}, "gap")));
  }

  TEST_CASE("lrn: windows clipped at the first and last channels, and wider than all of them") {
    for (int32_t size : {1, 3, 5, 9})
      for (double beta : {0.75, 0.5}) {
        Case c;  // alpha large enough for the window's term to matter
        check_gradients(c, c.weigh(c.one(Op::lrn, {c.variable({2, 6, 2, 2})}, lrn_attrs(size, 0.7, beta, 1.5), "lrn")));
      }
  }

  TEST_CASE("dropout: what was dropped gets nothing, what was kept is scaled alike both ways") {
    for (double p : {0.0, 0.3, 0.9}) {
      Case c;
      const Value x = c.variable({5, 3, 2, 3});
      check_gradients(c, c.weigh(c.one(Op::dropout, {x, c.random_counter()}, dropout_attrs(p, 3), "drop")));
    }
  }

  TEST_CASE("sums: of two, weighted, and of the same value") {
    Case c;
    const Value a = c.variable({2, 3}), b = c.variable({2, 3});
    const Value sum = c.one(Op::add, {a, b}, "add");
    const Value twice = c.one(Op::add, {sum, sum}, "twice");
    const Value weighted = c.one(Op::weighted_sum, {twice, a, a, c.constant({2, 3})}, weighted_attrs({0.5, -2, 3, 1}), "weighted");
    check_gradients(c, c.weigh(weighted));
  }

  TEST_CASE("concatenation along every axis, with constants and the same part twice") {
    for (int32_t axis : {0, 1, 2, 3}) {
      Case c;
      Dims shorter{2, 3, 4, 2};
      shorter[static_cast<std::size_t>(axis)] = 1;
      const Value a = c.variable({2, 3, 4, 2}), b = c.variable(shorter);
      const Value zeros = c.one(Op::fill, {}, fill_attrs(shorter, 0), "zeros");
      check_gradients(c, c.weigh(c.one(Op::concat, {a, zeros, b, a}, concat_attrs(axis), "concat")));
    }
  }

  TEST_CASE("slices of every axis: from the start, from within, up to the end, and overlapping") {
    for (int32_t axis : {0, 1, 2, 3}) {
      Case c;
      const Value x = c.variable({4, 4, 4, 4});
      std::vector<Value> parts;
      for (const auto& [start, length] : {std::pair<int64_t, int64_t>{0, 2}, {1, 2}, {3, 1}, {0, 4}})
        parts.push_back(c.one(Op::slice, {x}, slice_attrs(axis, start, length), "part" + std::to_string(parts.size())));
      check_gradients(c, c.weigh(c.one(Op::concat, parts, concat_attrs(axis), "concat")));
    }
  }

  TEST_CASE("reshapes and casts move gradients, no more") {
    Case c;
    const Value y = c.one(Op::reshape, {c.variable({2, 3, 4})}, reshape_attrs({4, 6}), "reshape");
    check_gradients(c, c.weigh(c.one(Op::cast, {y}, cast_attrs(DType::f32), "cast")));
  }

  TEST_CASE("softmax cross-entropy: label smoothing, samples that do not count") {
    for (double smoothing : {0.0, 0.1, 0.7}) {
      check_xent(smoothing, {0, 6, 3, 3});
      check_xent(smoothing, {2, -1, 5, -1});
      check_xent(smoothing, {-1, -1});
      check_xent(smoothing, {4});
    }
  }

  TEST_CASE("a value with many uses, and a parameter with two") {
    Case c;
    const Value x = c.variable({2, 3, 6, 6}, Fill::apart), w = c.variable({3, 3, 3, 3});
    const auto same = conv_attrs({{1, 1}, {1, 1}, {1, 1}});
    const Value first = c.one(Op::conv2d, {x, w}, same, "first");
    const Value second = c.one(Op::conv2d, {first, w}, same, "second");
    const Value pooled = c.one(Op::avg_pool, {x}, pool_attrs({{3, 3}, {1, 1}, {1, 1}, {1, 1}}), "pool");
    const Value joined = c.one(Op::concat, {first, second, x, pooled}, concat_attrs(1), "concat");
    check_gradients(c, c.weigh(joined));
  }

  TEST_CASE("a parameter whose gradient also flows on into the network") {
    Case c;
    const Value y = c.one(Op::linear, {c.variable({2, 4}), c.variable({3, 4})}, "fc");
    check_gradients(c, c.weigh(c.one(Op::add, {y, c.variable({2, 3})}, "offset")));
  }

  TEST_CASE("a small residual network with an auxiliary head") {
    Case c;
    const auto same = conv_attrs({{1, 1}, {1, 1}, {1, 1}});
    const Value labels = c.label_input({1, -1, 3, 0});
    const Value stem = c.one(Op::conv2d, {c.constant({4, 2, 6, 6}), c.variable({4, 2, 3, 3})}, same, "stem");
    const Value act = c.one(Op::lrn, {batch_norm(c, stem, "bn0")[0]}, lrn_attrs(3, 0.1), "lrn");
    const Value inner = batch_norm(c, c.one(Op::conv2d, {act, c.variable({4, 4, 3, 3})}, same, "conv"), "bn1")[0];
    const Value block = c.one(Op::add, {act, inner}, "block");
    const Value small = c.one(Op::avg_pool, {block}, pool_attrs({{1, 1}, {2, 2}}), "subsample");
    const Value zeros = c.one(Op::fill, {}, fill_attrs({4, 1, 3, 3}, 0), "zeros");
    const Value wide = c.one(Op::concat, {zeros, small, zeros}, concat_attrs(1), "pad");
    const Value dropped = c.one(Op::dropout, {c.one(Op::global_avg_pool, {wide}, "gap"), c.random_counter()}, dropout_attrs(0.2), "drop");
    const Value logits = c.one(Op::bias_add, {c.one(Op::linear, {dropped, c.variable({5, 6})}, "fc"), c.variable({5})}, "fc.bias");
    const Value flat = c.one(Op::reshape, {small}, reshape_attrs({4, 36}), "flat");
    const Value aux = c.one(Op::linear, {flat, c.variable({5, 36})}, "aux");
    const Value main_loss = c.all(Op::softmax_xent, {logits, labels}, xent_attrs(0.1), "loss")[0];
    const Value aux_loss = c.all(Op::softmax_xent, {aux, labels}, xent_attrs(), "aux_loss")[0];
    check_gradients(c, c.one(Op::weighted_sum, {main_loss, aux_loss}, weighted_attrs({1, 0.4}), "total"));
  }

  // Last in the file, and doctest goes by file and line unless told otherwise.
  TEST_CASE("no operator with a gradient was left out by the cases above") {
    for (const ir::OpRule& r : ir::all_rules())
      if (r.gradient != nullptr) CHECK_MESSAGE(covered().count(r.op) == 1, r.name << " has a gradient that no case checks");
  }
}
