// Every operator alone, over shapes that vectorised code gets wrong, against the double-precision reference.
#include "trial.hpp"

#include <convoy/ops.hpp>

namespace convoy::cpu::testing {
namespace {

// Sums of up to a few thousand products of numbers in [-1, 1], relative to the largest result.
constexpr double kSums = 2e-5;
// One or a few roundings of f32.
constexpr double kRoundings = 1e-6;

void agrees(Recipe& r, double tolerance, float lo = -1, float hi = 1) {
  r.show_all();
  Trial t(r.graph);
  REQUIRE_MESSAGE(t.refusals.empty(), t.refusals);
  t.randomize(7, lo, hi);
  t.run();
  t.run_oracle();
  std::string where, how;
  for (const auto& n : t.notes) how += n.text + "; ";
  CHECK_MESSAGE(t.worst(&where) < tolerance, "at " << where << " by " << how);
  CHECK(how.find("ref") == std::string::npos);
}

struct ConvCase {
  int64_t n, c, h, w, k, r, s;
  int32_t stride[2], dilation[2], lo[2], hi[2], groups;
};

const ConvCase kConvolutions[] = {
    {2, 3, 9, 11, 5, 3, 3, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1},    // three channels, as pictures
    {2, 3, 9, 11, 5, 3, 3, {2, 1}, {1, 1}, {1, 0}, {0, 1}, 1},    // asymmetric padding and stride
    {2, 16, 9, 11, 16, 1, 7, {1, 1}, {1, 1}, {0, 3}, {0, 3}, 1},  // 1x7
    {2, 16, 9, 11, 32, 7, 1, {1, 1}, {1, 1}, {3, 0}, {3, 0}, 1},  // 7x1
    {2, 17, 9, 11, 5, 3, 3, {1, 1}, {2, 2}, {2, 2}, {2, 2}, 1},   // dilated, odd channels
    {2, 5, 9, 11, 3, 1, 1, {2, 2}, {1, 1}, {0, 0}, {0, 0}, 1},    // 1x1, stride 2
    {2, 32, 8, 8, 64, 1, 1, {2, 2}, {1, 1}, {0, 0}, {0, 0}, 1},
    {2, 6, 9, 11, 4, 3, 3, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2},    // groups that no block fits
    {2, 15, 9, 11, 5, 3, 3, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 5},
    {2, 5, 9, 11, 5, 3, 3, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 5},    // depthwise
    {2, 6, 9, 11, 12, 3, 3, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 6},   // depthwise, two outputs each
    {2, 32, 9, 9, 64, 3, 3, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2},
    {2, 48, 9, 9, 64, 3, 3, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2},
    {2, 3, 9, 11, 5, 5, 5, {1, 1}, {1, 1}, {4, 4}, {4, 4}, 1},    // padding nearly as wide as the window
    {1, 1, 1, 1, 1, 1, 1, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1},     // one number
    {2, 3, 30, 30, 8, 11, 11, {4, 4}, {1, 1}, {2, 2}, {1, 1}, 1},
    {2, 4, 9, 9, 4, 3, 3, {3, 3}, {1, 1}, {2, 2}, {0, 0}, 1},
    {2, 32, 9, 9, 32, 3, 3, {2, 2}, {2, 2}, {1, 2}, {2, 1}, 1},
    {3, 64, 14, 14, 64, 3, 3, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1},
    {2, 1, 28, 28, 16, 5, 5, {1, 1}, {1, 1}, {2, 2}, {2, 2}, 1},
};

ConvAttrs attrs_of(const ConvCase& c) {
  ConvAttrs a{};
  for (int i = 0; i < 2; ++i) {
    a.stride[i] = c.stride[i];
    a.dilation[i] = c.dilation[i];
    a.pad_lo[i] = c.lo[i];
    a.pad_hi[i] = c.hi[i];
  }
  a.groups = c.groups;
  a.kernel[0] = static_cast<int32_t>(c.r);
  a.kernel[1] = static_cast<int32_t>(c.s);
  a.input_size[0] = static_cast<int32_t>(c.h);
  a.input_size[1] = static_cast<int32_t>(c.w);
  a.compute = DType::f32;
  return a;
}

TEST_SUITE("cpu operators") {
  TEST_CASE("convolution and its gradients") {
    for (const ConvCase& c : kConvolutions) {
      CAPTURE(c.c);
      CAPTURE(c.k);
      CAPTURE(c.groups);
      const std::vector<int64_t> weights{c.k, c.c / c.groups, c.r, c.s};
      std::vector<int64_t> y;
      {
        Recipe r;
        const Value v = r.node(Op::conv2d, {r.input({c.n, c.c, c.h, c.w}), r.param(weights)}, attrs_of(c))[0];
        y = r.graph[v].dims;
        agrees(r, kSums);
      }
      {
        Recipe r;
        r.node(Op::conv2d_dgrad, {r.input(y), r.param(weights)}, attrs_of(c), Phase::backward);
        agrees(r, kSums);
      }
      {
        Recipe r;
        r.node(Op::conv2d_wgrad, {r.input(y), r.input({c.n, c.c, c.h, c.w})}, attrs_of(c), Phase::backward);
        agrees(r, kSums);
      }
    }
  }

  TEST_CASE("linear layers and their gradients") {
    for (auto [n, i, o] : {std::array<int64_t, 3>{4, 17, 5}, {1, 1, 1}, {3, 64, 10}, {8, 129, 33}, {2, 400, 128}}) {
      Recipe r;
      const Value x = r.input({n, i}), w = r.param({o, i}), dy = r.input({n, o});
      r.node(Op::linear, {x, w});
      r.node(Op::linear_dgrad, {dy, w});
      r.node(Op::linear_wgrad, {dy, x});
      agrees(r, kSums);
    }
  }

  TEST_CASE("bias and its gradient, rank 2 and 4") {
    for (const std::vector<int64_t>& dims : {std::vector<int64_t>{4, 17}, {3, 130}, {2, 5, 3, 7}, {2, 16, 4, 4}}) {
      Recipe r;
      const Value x = r.input(dims), b = r.param({dims[1]});
      r.node(Op::bias_add, {x, b});
      r.node(Op::bias_grad, {x});
      agrees(r, kSums);
    }
  }

  TEST_CASE("batch normalisation, its running statistics and its gradient") {
    for (const std::vector<int64_t>& d : {std::vector<int64_t>{2, 3, 5, 7}, {4, 16, 6, 6}, {3, 17, 4, 5}, {5, 1, 1, 1}, {2, 64, 1, 1}}) {
      Recipe r;
      const Value x = r.input(d), gamma = r.param({d[1]}), beta = r.param({d[1]});
      const Value mean = r.state({d[1]}), var = r.state({d[1]}), dy = r.input(d);
      const BatchNormAttrs a{0, 0, 1e-3, 0.3};
      const auto out = r.node(Op::batch_norm, {x, gamma, beta, mean, var}, a);
      r.node(Op::batch_norm_grad, {dy, x, gamma, out[1], out[2]}, a, Phase::backward);
      agrees(r, 1e-4);  // differences of nearly equal sums
    }
  }

  TEST_CASE("batch normalisation's gradient from given statistics") {
    Recipe r;
    const std::vector<int64_t> d{2, 16, 5, 5};
    const Value dy = r.input(d), x = r.input(d), gamma = r.param({16}), mean = r.input({16}), inv = r.input({16});
    r.node(Op::batch_norm_grad, {dy, x, gamma, mean, inv}, BatchNormAttrs{0, 0, 1e-5, 0.1}, Phase::backward);
    agrees(r, 1e-4, 0.5f, 2);
  }

  TEST_CASE("batch normalisation with stored statistics") {
    for (int64_t c : {3, 16, 17}) {
      Recipe r;
      const Value x = r.input({2, c, 5, 6}), gamma = r.param({c}), beta = r.param({c});
      r.node(Op::batch_norm_infer, {x, gamma, beta, r.state({c}), r.state({c})}, BatchNormAttrs{0, 0, 1e-5, 0.1});
      agrees(r, kSums, 0.1f, 1);
    }
  }

  TEST_CASE("relu and its gradient, over all lengths of a tail") {
    for (int64_t n : {1, 3, 15, 16, 17, 255, 257, 40000}) {
      Recipe r;
      const Value x = r.input({n}), dy = r.input({n}), y = r.node(Op::relu, {x})[0];
      r.node(Op::relu_grad, {dy, y});
      agrees(r, kRoundings);
    }
  }

  TEST_CASE("sums") {
    for (int64_t n : {1, 17, 300, 50000}) {
      Recipe r;
      const Value a = r.input({n}), b = r.input({n}), c = r.input({n});
      r.node(Op::add, {a, b});
      r.node(Op::add, {a, a});
      r.node(Op::add_n, {a});
      r.node(Op::add_n, {a, b, c, a});
      WeightedSumAttrs w{};
      w.n = 3;
      w.weight[0] = 1;
      w.weight[1] = 0.4;
      w.weight[2] = -2;
      r.node(Op::weighted_sum, {a, b, c}, w);
      agrees(r, kRoundings);
    }
  }

  TEST_CASE("pools of every kind, and their gradients") {
    struct Case {
      int64_t n, c, h, w;
      PoolAttrs a;
    };
    const Case cases[] = {
        {2, 3, 9, 11, {0, {3, 3}, {2, 2}, {1, 1}, {1, 1}, 0, 1, {}}}, {2, 16, 8, 8, {0, {2, 2}, {2, 2}, {0, 0}, {0, 0}, 0, 1, {}}},
        {2, 17, 7, 7, {0, {3, 3}, {2, 2}, {0, 0}, {0, 0}, 1, 1, {}}}, {2, 16, 7, 10, {0, {3, 3}, {2, 2}, {1, 1}, {1, 1}, 1, 1, {}}},
        {2, 5, 8, 8, {0, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 0, 0, {}}},  {2, 32, 7, 8, {0, {3, 2}, {2, 3}, {1, 0}, {2, 1}, 1, 0, {}}},
        {2, 16, 9, 9, {0, {1, 1}, {2, 2}, {0, 0}, {0, 0}, 0, 1, {}}}, {1, 1, 6, 6, {0, {5, 4}, {3, 2}, {2, 1}, {0, 2}, 1, 1, {}}},
        {2, 20, 7, 7, {0, {3, 3}, {2, 2}, {0, 1}, {1, 0}, 1, 1, {}}}, {2, 16, 7, 7, {0, {7, 7}, {1, 1}, {0, 0}, {0, 0}, 0, 1, {}}},
    };
    for (const Case& c : cases)
      for (Op op : {Op::max_pool, Op::avg_pool}) {
        CAPTURE(c.c);
        CAPTURE(static_cast<int>(op));
        PoolAttrs a = c.a;
        a.input_size[0] = static_cast<int32_t>(c.h);
        a.input_size[1] = static_cast<int32_t>(c.w);
        Recipe r;
        const Value x = r.input({c.n, c.c, c.h, c.w}), y = r.node(op, {x}, a)[0];
        const Value dy = r.input(r.graph[y].dims);
        if (op == Op::max_pool)
          r.node(Op::max_pool_grad, {dy, x, y}, a, Phase::backward);
        else
          r.node(Op::avg_pool_grad, {dy}, a, Phase::backward);
        agrees(r, kSums);
        if (op == Op::avg_pool) continue;
        Recipe lone;  // the gradient without its forward node
        const Value x2 = lone.input({c.n, c.c, c.h, c.w}), y2 = lone.input(r.graph[y].dims);
        lone.node(Op::max_pool_grad, {lone.input(r.graph[y].dims), x2, y2}, a, Phase::backward);
        agrees(lone, kSums);
      }
  }

  TEST_CASE("of equal maxima the first of the window gets the gradient") {
    for (int64_t channels : {1, 16, 17}) {
      Recipe r;
      PoolAttrs a{0, {3, 3}, {2, 2}, {1, 1}, {1, 1}, 0, 1, {7, 7}};
      const Value x = r.input({2, channels, 7, 7}), y = r.node(Op::max_pool, {x}, a)[0];
      r.node(Op::max_pool_grad, {r.input(r.graph[y].dims), x, y}, a, Phase::backward);
      r.show_all();
      Trial t(r.graph);
      t.randomize(3);
      for (int64_t i = 0; i < 2 * channels * 49; ++i) t.set(x, i, static_cast<double>(i * i % 3));
      t.run();
      t.run_oracle();
      CHECK(t.worst() < kSums);
    }
  }

  TEST_CASE("global average and its gradient") {
    for (const std::vector<int64_t>& d : {std::vector<int64_t>{2, 3, 5, 7}, {3, 64, 1, 1}, {2, 17, 7, 7}, {2, 130, 3, 3}}) {
      Recipe r;
      const GlobalPoolAttrs a{0, {static_cast<int32_t>(d[2]), static_cast<int32_t>(d[3])}};
      r.node(Op::global_avg_pool, {r.input(d)}, a);
      r.node(Op::global_avg_pool_grad, {r.input({d[0], d[1]})}, a, Phase::backward);
      agrees(r, kRoundings);
    }
  }

  TEST_CASE("local response normalisation and its gradient, windows that oneDNN has and has not") {
    for (int64_t channels : {1, 4, 16, 96})
      for (int32_t size : {1, 3, 5, 7})
        for (double beta : {0.75, 0.5, 1.0}) {
          Recipe r;
          const LrnAttrs a{0, size, 0.3, beta, 2};
          const Value x = r.input({2, channels, 9, 9}), y = r.node(Op::lrn, {x}, a)[0];
          r.node(Op::lrn_grad, {r.input({2, channels, 9, 9}), x, y}, a, Phase::backward);
          agrees(r, kSums);
        }
  }

  TEST_CASE("dropout draws what the reference draws, forward and backward") {
    for (double p : {0.0, 0.5, 0.9})
      for (const std::vector<int64_t>& d : {std::vector<int64_t>{3, 7}, {2, 5000}, {2, 5, 3, 3}, {1, 64}}) {
        Recipe r;
        const Value x = r.input(d), rng = r.value(Role::scalar, "rng", {4}, DType::i64);
        r.node(Op::dropout, {x, rng}, DropoutAttrs{0, 3, p});
        r.node(Op::dropout_grad, {x, rng}, DropoutAttrs{0, 3, p}, Phase::backward);
        agrees(r, kRoundings);
      }
  }

  TEST_CASE("concat and slice along every axis, at places where blocks do not divide") {
    for (int32_t axis : {0, 1, 2, 3})
      for (int64_t a : {8, 16, 3}) {
        std::vector<int64_t> d1{2, 16, 4, 5}, d2 = d1;
        d1[static_cast<std::size_t>(axis)] = a;
        d2[static_cast<std::size_t>(axis)] = 5;
        Recipe r;
        const Value x = r.input(d1), y = r.input(d2);
        const Value z = r.node(Op::concat, {x, y, x}, ConcatAttrs{0, axis})[0];
        r.node(Op::slice, {z}, SliceAttrs{0, axis, a, 5});
        agrees(r, kRoundings);
      }
    Recipe r;
    const Value z = r.node(Op::concat, {r.input({3, 4}), r.input({3, 2})}, ConcatAttrs{0, 1})[0];
    r.node(Op::slice, {z}, SliceAttrs{0, 1, 1, 3});
    agrees(r, kRoundings);
  }

  TEST_CASE("reshape, fill and casts") {
    Recipe r;
    ReshapeAttrs shape{};
    shape.rank = 2;
    shape.dim[0] = 2;
    shape.dim[1] = 60;
    r.node(Op::reshape, {r.input({2, 3, 4, 5})}, shape);
    FillAttrs fill{};
    fill.dtype = DType::f32;
    fill.rank = 1;
    fill.dim[0] = 5;
    fill.value = 2.5;
    r.node(Op::fill, {}, fill);
    r.node(Op::cast, {r.input({7}, DType::u8)}, CastAttrs{0, DType::f32});
    r.node(Op::cast, {r.input({7}, DType::i32)}, CastAttrs{0, DType::f32});
    r.node(Op::cast, {r.input({7})}, CastAttrs{0, DType::i32});
    agrees(r, kRoundings, -100, 100);
  }

  TEST_CASE("pictures are normalised by channel") {
    for (DType t : {DType::u8, DType::f32}) {
      Recipe r;
      const ImageNormalizeAttrs a{0, {120.5f, 100, 90, 0}, {60, 50.25f, 40, 1}};
      r.node(Op::image_normalize, {r.input({2, 3, 5, 7}, t)}, a);
      agrees(r, kRoundings);
    }
  }

  TEST_CASE("softmax cross-entropy: loss, counters and gradient; samples that do not count") {
    for (double smoothing : {0.0, 0.1})
      for (int64_t classes : {2, 10, 1000}) {
        Recipe r;
        const Value x = r.input({6, classes}), labels = r.input({6}, DType::i32), scale = r.value(Role::scalar, "scale", {});
        const SoftmaxXentAttrs a{0, 0, smoothing};
        const auto out = r.node(Op::softmax_xent, {x, labels}, a);
        r.node(Op::softmax_xent_grad, {out[1], labels, scale}, a, Phase::backward);
        r.show_all();
        Trial t(r.graph);
        REQUIRE_MESSAGE(t.refusals.empty(), t.refusals);
        t.randomize(5, -4, 4);
        const int32_t given[] = {0, 1, -1, 1, 0, -1};
        for (int i = 0; i < 6; ++i) t.set(labels, i, given[i]);
        t.set(x, classes, 2);  // of equal logits the lower class is the larger
        t.set(x, classes + 1, 2);
        t.set(scale, 0, 0.5);
        t.run();
        t.run_oracle();
        std::string where;
        CHECK_MESSAGE(t.worst(&where) < kRoundings, where);
      }
  }

  TEST_CASE("update rules") {
    for (int64_t n : {1, 17, 70000}) {
      Recipe r;
      const Value lr = r.value(Role::scalar, "lr", {}), t = r.value(Role::scalar, "t", {}), g = r.input({n});
      r.node(Op::sgd, {r.param({n}), g, kNoValue, lr}, SgdAttrs{0, 0, 0, 0, 0.01}, Phase::update);
      r.node(Op::sgd, {r.param({n}), g, r.state({n}), lr}, SgdAttrs{0, 0, 0.9, 0.1, 0.01}, Phase::update);
      r.node(Op::sgd, {r.param({n}), g, r.state({n}), lr}, SgdAttrs{0, 1, 0.9, 0, 0.01}, Phase::update);
      r.node(Op::lars, {r.param({n}), g, r.state({n}), lr}, LarsAttrs{0, 0, 0.9, 0.01, 0.02, 1e-9}, Phase::update);
      r.node(Op::rmsprop, {r.param({n}), g, r.state({n}), r.state({n}), lr}, RmspropAttrs{0, 0, 0.9, 0.01, 0.9, 0.01}, Phase::update);
      r.node(Op::rmsprop, {r.param({n}), g, r.state({n}), kNoValue, lr}, RmspropAttrs{0, 0, 0.9, 0.01, 0, 0.01}, Phase::update);
      r.node(Op::adamw, {r.param({n}), g, r.state({n}), r.state({n}), lr, t}, AdamwAttrs{0, 0, 0.9, 0.999, 1e-8, 0.01}, Phase::update);
      r.node(Op::ema, {r.state({n}), r.param({n})}, EmaAttrs{0, 0, 0.99}, Phase::update);
      r.node(Op::unscale_check, {r.value(Role::scalar, "scale", {}), g, g}, UnscaleCheckAttrs{0, 0, 0.5}, Phase::update);
      agrees(r, 1e-5, 0.1f, 1);
    }
  }

  TEST_CASE("a gradient that is not finite is reported") {
    Recipe r;
    const Value scale = r.value(Role::scalar, "scale", {}), g = r.input({100});
    const auto out = r.node(Op::unscale_check, {scale, g}, UnscaleCheckAttrs{0, 0, 0}, Phase::update);
    r.show_all();
    Trial t(r.graph);
    t.randomize(1);
    t.set(scale, 0, 8);
    t.set(g, 57, std::numeric_limits<double>::infinity());
    t.run();
    CHECK(t.integer(out[0]) == 1);
    CHECK(t.get(out[1], 0) == 0);
  }
}

}  // namespace
}  // namespace convoy::cpu::testing
