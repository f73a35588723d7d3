// The oracle itself: the reference kernels in double against numbers worked out by hand or taken from their sources.
// Gradients are held to finite differences elsewhere (tests/unit/ir).
#include "one_node.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace convoy::contract {

namespace {

void is(const std::vector<double>& found, const std::vector<double>& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-7));
}

std::vector<double> counting(int64_t n) {
  std::vector<double> out;
  for (int64_t i = 1; i <= n; ++i) out.push_back(static_cast<double>(i));
  return out;
}

ConvAttrs conv_attrs(int32_t size, int32_t kernel, int32_t stride, int32_t lo, int32_t hi) {
  ConvAttrs a{};
  for (int i = 0; i < 2; ++i) {
    a.stride[i] = stride, a.dilation[i] = 1, a.pad_lo[i] = lo, a.pad_hi[i] = hi;
    a.kernel[i] = kernel, a.input_size[i] = size;
  }
  a.groups = 1;
  a.compute = DType::f32;
  return a;
}

PoolAttrs pool_attrs(int32_t size, int32_t window, int32_t stride, int32_t pad, bool ceil_mode, bool count_pad) {
  PoolAttrs a{};
  for (int i = 0; i < 2; ++i)
    a.window[i] = window, a.stride[i] = stride, a.pad_lo[i] = a.pad_hi[i] = pad, a.input_size[i] = size;
  a.ceil_mode = ceil_mode ? 1 : 0;
  a.count_include_pad = count_pad ? 1 : 0;
  return a;
}

}  // namespace

TEST_SUITE("oracle") {
  TEST_CASE("conv2d does not flip its window") {
    Case c("1..9 with a 2x2 window");
    const Value x = c.x({1, 1, 3, 3}, listed(counting(9))), w = c.param({1, 1, 2, 2}, listed({1, 10, 100, 1000}));
    c.run(Op::conv2d, {x, w}, conv_attrs(3, 2, 1, 0, 0));
    is(first_output(c), {5421, 6532, 8754, 9865});
  }

  TEST_CASE("padding is zeros, more of it at the high end if so asked") {
    Case c("pad 0 and 1, stride 2");
    const Value x = c.x({1, 1, 3, 3}, listed(counting(9))), w = c.param({1, 1, 2, 2}, listed({1, 10, 100, 1000}));
    c.run(Op::conv2d, {x, w}, conv_attrs(3, 2, 2, 0, 1));
    is(first_output(c), {5421, 603, 87, 9});
  }

  TEST_CASE("groups keep their channels apart") {
    Case c("two groups of one channel");
    const Value x = c.x({1, 2, 1, 1}, listed({3, 5})), w = c.param({4, 1, 1, 1}, listed({1, 2, 10, 20}));
    auto a = conv_attrs(1, 1, 1, 0, 0);
    a.groups = 2;
    c.run(Op::conv2d, {x, w}, a);
    is(first_output(c), {3, 6, 50, 100});
  }

  TEST_CASE("average pooling divides by what PyTorch divides by") {
    // nn.AvgPool2d(2, 2, padding=1) on 1..9, with and without count_include_pad.
    for (const bool count_pad : {true, false}) {
      Case c("pad 1");
      const Value x = c.x({1, 1, 3, 3}, listed(counting(9)));
      c.run(Op::avg_pool, {x}, pool_attrs(3, 2, 2, 1, false, count_pad));
      is(first_output(c), count_pad ? std::vector<double>{0.25, 1.25, 2.75, 7} : std::vector<double>{1, 2.5, 5.5, 7});
    }
    // ceil_mode on 5x5: the last window hangs over the input by one and is divided by what lies inside.
    Case c("ceil");
    const Value x = c.x({1, 1, 5, 5}, listed(counting(25)));
    c.run(Op::avg_pool, {x}, pool_attrs(5, 2, 2, 0, true, true));
    is(first_output(c), {4, 6, 7.5, 14, 16, 17.5, 21.5, 23.5, 25});
  }

  TEST_CASE("max pooling's gradient goes to the first of equals") {
    Case c("all equal");
    const Value dy = c.x({1, 1, 1, 1}, constant(5)), x = c.x({1, 1, 2, 2}, constant(3)), y = c.x({1, 1, 1, 1}, constant(3));
    c.run(Op::max_pool_grad, {dy, x, y}, pool_attrs(2, 2, 2, 0, false, true));
    is(first_output(c), {5, 0, 0, 0});
  }

  TEST_CASE("batch_norm feeds the running variance unbiased and normalises with the biased one") {
    Case c("1 2 3 4");
    BatchNormAttrs a{};
    a.eps = 0.75, a.momentum = 0.5;
    const Value x = c.x({1, 1, 2, 2}, listed(counting(4)));
    const Value gamma = c.param({1}, constant(2)), beta = c.param({1}, constant(10));
    const Value mean = c.state({1}, constant(1)), var = c.state({1}, constant(1));
    c.run(Op::batch_norm, {x, gamma, beta, mean, var}, a);
    const auto found = truth_of(c);
    const auto& out = c.graph().nodes[0].out;
    const double s = 1 / std::sqrt(1.25 + 0.75);
    is(found.at(out[0]), {10 - 3 * s, 10 - s, 10 + s, 10 + 3 * s});
    is(found.at(out[1]), {2.5});
    is(found.at(out[2]), {s});
    is(found.at(out[3]), {1.75});                  // (1 + 2.5) / 2
    is(found.at(out[4]), {0.5 + 0.5 * 5.0 / 3});  // sum of squares 5, over 3
  }

  TEST_CASE("softmax_xent means over the samples that count, and counts hits") {
    Case c("two samples and one that does not count");
    const Value logits = c.x({3, 2}, listed({0, 0, 1, 3, 9, 9}));
    const Value labels = c.give(Role::input, {3}, listed({0, 0, -1}), DType::i32);
    c.run(Op::softmax_xent, {logits, labels}, SoftmaxXentAttrs{});
    const auto found = truth_of(c);
    const auto& out = c.graph().nodes[0].out;
    is(found.at(out[0]), {(std::log(2.0) + std::log(1 + std::exp(2.0))) / 2});
    CHECK(found.at(out[2])[0] == 1);  // of equal logits the lower index is the larger
    CHECK(found.at(out[3])[0] == 2);
  }

  TEST_CASE("a NaN logit is no hit") {
    Case c("the label's logit is NaN");
    const Value logits = c.x({1, 2}, listed({NAN, 0}));
    const Value labels = c.give(Role::input, {1}, constant(0), DType::i32);
    c.run(Op::softmax_xent, {logits, labels}, SoftmaxXentAttrs{});
    const auto found = truth_of(c);
    const auto& out = c.graph().nodes[0].out;
    CHECK(std::isnan(found.at(out[0])[0]));
    CHECK(found.at(out[2])[0] == 0);
    CHECK(found.at(out[3])[0] == 0);
  }

  TEST_CASE("a label that is no class is an error that names it") {
    Case c("label 7 of 2 classes");
    const Value logits = c.x({1, 2}), labels = c.give(Role::input, {1}, constant(7), DType::i32);
    c.run(Op::softmax_xent, {logits, labels}, SoftmaxXentAttrs{});
    CHECK_THROWS_WITH_AS((void)truth_of(c), "label 7 of sample 0 is not below 2 classes", sdk::Error);
  }

  TEST_CASE("lrn divides alpha by the size of the window") {
    Case c("three channels");
    LrnAttrs a{};
    a.size = 3, a.alpha = 3, a.beta = 0.5, a.k = 1;
    const Value x = c.x({1, 3, 1, 1}, listed({1, 2, 3}));
    c.run(Op::lrn, {x}, a);
    is(first_output(c), {1 / std::sqrt(6.0), 2 / std::sqrt(15.0), 3 / std::sqrt(14.0)});
  }

  TEST_CASE("Philox gives the words of its authors' known-answer test") {
    CHECK(sdk::philox4x32({0, 0, 0, 0}, 0) == sdk::PhiloxWords{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    CHECK(sdk::philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822u) ==
          sdk::PhiloxWords{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
  }

  TEST_CASE("dropout compares the words of its counter with p, and scales what is left") {
    Case c("eight elements of a sample");
    DropoutAttrs a{};
    a.p = 0.5;
    const Value x = c.x({1, 8}, constant(3)), rng = c.give(Role::scalar, {4}, constant(0), DType::i64);
    c.run(Op::dropout, {x, rng}, a);
    const auto next = sdk::philox4x32({1, 0, 0, 0}, 0);
    std::vector<double> expected{0, 6, 6, 6};  // 0x6627e8d5 is below one half, the three others are not
    for (const uint32_t word : next) expected.push_back(word >= 0x80000000u ? 6 : 0);
    is(first_output(c), expected);
  }

  TEST_CASE("a part of a batch keeps what the whole batch keeps") {
    DropoutAttrs a{};
    a.p = 0.4, a.stream = 2;
    Case whole("four samples"), half("its last two");
    const Value x = whole.x({4, 10}, constant(1));
    const Value rng = whole.give(Role::scalar, {4}, listed({77, 3, 100, 0}), DType::i64);
    whole.run(Op::dropout, {x, rng}, a);
    const Value x2 = half.x({2, 10}, constant(1));
    const Value rng2 = half.give(Role::scalar, {4}, listed({77, 3, 102, 0}), DType::i64);
    half.run(Op::dropout, {x2, rng2}, a);
    const auto all = first_output(whole);
    is(first_output(half), {all.begin() + 20, all.end()});
  }

  TEST_CASE("sgd follows PyTorch's order of decay, momentum and Nesterov") {
    Case c("one parameter");
    SgdAttrs a{};
    a.momentum = 0.5, a.weight_decay = 0.25, a.nesterov = 1;
    const Value p = c.param({1}, constant(2)), g = c.give(Role::grad, {1}, constant(1)), b = c.state({1}, constant(4));
    c.run(Op::sgd, {p, g, b, c.scalar(0.5)}, a);
    const auto found = truth_of(c);
    const auto& out = c.graph().nodes[0].out;
    is(found.at(out[1]), {3.5});                          // 0.5 * 4 + (1 + 0.25 * 2)
    is(found.at(out[0]), {2 - 0.5 * (1.5 + 0.5 * 3.5)});  // Nesterov looks ahead
  }

  TEST_CASE("adamw decays the parameter apart from the gradient and corrects both moments") {
    Case c("first step");
    AdamwAttrs a{};
    a.beta1 = 0.5, a.beta2 = 0.75, a.eps = 0, a.weight_decay = 0.5;
    const Value p = c.param({1}, constant(2)), g = c.give(Role::grad, {1}, constant(-3));
    const Value m = c.state({1}, constant(0)), v = c.state({1}, constant(0));
    const Value lr = c.scalar(0.25), t = c.scalar(1);
    c.run(Op::adamw, {p, g, m, v, lr, t}, a);
    is(first_output(c), {2 - 0.25 * 0.5 * 2 + 0.25});  // the first step is lr in the gradient's direction
  }

  TEST_CASE("unscale_check clips the norm of all gradients together") {
    Case c("3 and 4, scaled by 8");
    UnscaleCheckAttrs a{};
    a.clip_norm = 2.5;
    const Value scale = c.scalar(8);
    const Value g0 = c.give(Role::grad, {1}, constant(24)), g1 = c.give(Role::grad, {1}, constant(32));
    c.run(Op::unscale_check, {scale, g0, g1}, a);
    const auto found = truth_of(c);
    const auto& out = c.graph().nodes[0].out;
    CHECK(found.at(out[0])[0] == 0);
    is(found.at(out[1]), {0.5 / 8});
  }
}

}  // namespace convoy::contract
