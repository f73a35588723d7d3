// Element by element, biases and copies of channels, against loops in double.
#include "kernels_test.hpp"

namespace convoy::cuda::test {

namespace {

/// Sums of numbers of about 2 may cancel: below this an error counts as absolute.
constexpr double kSums = 0.1;

}  // namespace

TEST_SUITE_BEGIN("elementwise");

TEST_CASE("relu lets through what is positive, and NaN") {
  each_case([](Type t, const Layout& l) {
    auto x = Tensor::random(t, l, 1);
    x(0, 0) = NAN;
    x.upload();
    Tensor y(t, l);
    finish(relu({x.in(), y.out(), t, l.rows, l.c}, nullptr));
    compare(y, 0, 1, [&](int64_t r, int64_t c) { return relu_of(x(r, c)); });
  });
}

TEST_CASE("relu works in place") {
  each_case([](Type t, const Layout& l) {
    auto x = Tensor::random(t, l, 1);
    const Tensor before = Tensor::random(t, l, 1);
    finish(relu({x.in(), x.out(), t, l.rows, l.c}, nullptr));
    compare(x, 0, 1, [&](int64_t r, int64_t c) { return relu_of(before(r, c)); });
  });
}

TEST_CASE("relu's gradient, with a second gradient before and another behind") {
  each_case([](Type t, const Layout& l) {
    const auto dy = Tensor::random(t, l, 1), dy2 = Tensor::random(t, l, 2), y = Tensor::random(t, l, 3),
               after = Tensor::random(t, l, 4);
    for (int form = 0; form < 4; ++form) {
      INFO("form " << form);
      ReluGradArgs a{dy.in(), {}, y.in(), {}, {}, t, l.rows, l.c};
      if ((form & 1) != 0) a.dy2 = dy2.in();
      if ((form & 2) != 0) a.after = after.in();
      Tensor dx(t, l);
      a.dx = dx.out();
      finish(relu_grad(a, nullptr));
      compare(dx, tolerance(t), kSums, [&](int64_t r, int64_t c) {
        const double d = dy(r, c) + ((form & 1) != 0 ? dy2(r, c) : 0);
        return (y(r, c) > 0 ? d : 0) + ((form & 2) != 0 ? after(r, c) : 0);
      });
    }
  });
}

TEST_CASE("add, with relu behind it or not") {
  each_case([](Type t, const Layout& l) {
    const auto x = Tensor::random(t, l, 1), z = Tensor::random(t, {l.rows, l.c}, 2);
    for (bool relu : {false, true}) {
      Tensor y(t, l);
      finish(add({x.in(), z.in(), y.out(), relu, t, l.rows, l.c}, nullptr));
      compare(y, tolerance(t), kSums, [&](int64_t r, int64_t c) {
        const double v = x(r, c) + z(r, c);
        return relu ? relu_of(v) : v;
      });
    }
  });
}

TEST_CASE("weighted sums of one to eight") {
  for (Type t : float_types())
    for (int n = 1; n <= kMaxSources; ++n) {
      const Layout l{19, 24};
      INFO(text(t, l) << " n " << n);
      std::vector<Tensor> x;
      Tensor y(t, l);
      WeightedSumArgs a;
      a.n = n;
      a.y = y.out();
      a.type = t;
      a.rows = l.rows;
      a.c = l.c;
      for (int i = 0; i < n; ++i) {
        x.push_back(Tensor::random(t, l, static_cast<unsigned>(i + 1)));
        a.x[i] = x.back().in();
        a.weight[i] = 0.25f * static_cast<float>(i + 1);
      }
      finish(weighted_sum(a, nullptr));
      compare(y, tolerance(t), kSums, [&](int64_t r, int64_t c) {
        double sum = 0;
        for (int i = 0; i < n; ++i) sum += 0.25 * (i + 1) * x[static_cast<size_t>(i)](r, c);
        return sum;
      });
    }
}

TEST_CASE("bias_add, with an addend and relu or not") {
  each_case([](Type t, const Layout& l) {
    const auto x = Tensor::random(t, l, 1), more = Tensor::random(t, l, 2), bias = floats(l.c, 3);
    for (int form = 0; form < 4; ++form) {
      Tensor y(t, l);
      BiasAddArgs a{x.in(), bias.as<float>(), {}, (form & 1) != 0, y.out(), t, l.rows, l.c};
      if ((form & 2) != 0) a.add = more.in();
      finish(bias_add(a, nullptr));
      compare(y, tolerance(t), kSums, [&](int64_t r, int64_t c) {
        const double v = x(r, c) + bias(0, c) + ((form & 2) != 0 ? more(r, c) : 0);
        return (form & 1) != 0 ? relu_of(v) : v;
      });
    }
  });
}

TEST_CASE("bias_grad sums over rows, through a relu or not") {
  each_case([](Type t, const Layout& l) {
    const auto dy = Tensor::random(t, l, 1), y = Tensor::random(t, l, 2);
    for (bool gated : {false, true}) {
      Tensor dx(t, l);
      Tensor dbias = blank_floats(l.c);
      const Memory scratch(bias_grad_scratch_bytes(l.rows, l.c));
      BiasGradArgs a{dy.in(), {}, {}, dbias.as<float>(), t, l.rows, l.c, scratch.get()};
      if (gated) {
        a.y = y.in();
        a.dx = dx.out();
      }
      finish(bias_grad(a, nullptr));
      const auto d = [&](int64_t r, int64_t c) { return gated && !(y(r, c) > 0) ? 0 : dy(r, c); };
      if (gated) compare(dx, 0, 1, d);
      compare(dbias, tolerance(Type::f32), std::sqrt(static_cast<double>(l.rows)), [&](int64_t, int64_t c) {
        double sum = 0;
        for (int64_t r = 0; r < l.rows; ++r) sum += d(r, c);
        return sum;
      });
    }
  });
}

TEST_CASE("concat puts channels side by side, and slices take them out") {
  for (Type t : {Type::f32, Type::bf16, Type::f16, Type::u8, Type::i64})
    for (const std::vector<int64_t>& c :
         {std::vector<int64_t>{64, 32, 8}, {3, 5}, {8, 1, 8}, {16}, {1, 2, 4, 8, 16, 32, 64, 128}}) {
      const int64_t rows = 41;
      int64_t all = 0;
      std::vector<Tensor> x;
      ConcatArgs a;
      for (size_t i = 0; i < c.size(); ++i) {
        x.push_back(Tensor::random(t, {rows, c[i]}, static_cast<unsigned>(i + 1), 0, 100));
        a.x[i] = x.back().in();
        a.c[i] = c[i];
        all += c[i];
      }
      Tensor y(t, {rows, all});
      a.n = static_cast<int>(c.size());
      a.y = y.out();
      a.type = t;
      a.rows = rows;
      finish(concat(a, nullptr));
      int64_t start = 0;
      for (size_t i = 0; i < c.size(); ++i) {
        Tensor part(t, {rows, c[i], 3});
        finish(copy_channels({{y.as<char>() + start * size_of(t), all}, part.out(), t, rows, c[i]}, nullptr));
        compare(part, 0, 1, [&](int64_t r, int64_t k) { return x[i](r, k); });
        start += c[i];
      }
      compare(y, 0, 1, [&](int64_t r, int64_t k) {
        size_t i = 0;
        for (; k >= c[i]; ++i) k -= c[i];
        return x[i](r, k);
      });
    }
}

TEST_CASE("sizes that cannot be are refused, empty ones do nothing") {
  CHECK(relu({{}, {}, Type::f32, -1, 4}, nullptr) == cudaErrorInvalidValue);
  CHECK(relu({{nullptr, 0}, {nullptr, 0}, Type::f32, 0, 4}, nullptr) == cudaSuccess);
  const auto x = Tensor::random(Type::f32, {4, 8}, 1);
  CHECK(relu({{x.as<float>(), 4}, x.out(), Type::f32, 4, 8}, nullptr) == cudaErrorInvalidValue);
  CHECK(relu({x.in(), x.out(), Type::u8, 4, 8}, nullptr) == cudaErrorInvalidValue);
}

TEST_SUITE_END();

}  // namespace convoy::cuda::test
