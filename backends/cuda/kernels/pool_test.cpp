// Pooling and convolution kernels against their definitions in double.
#include "kernels_test.hpp"

namespace convoy::cuda::test {

namespace {

/// Output size by the rule of convoy/ops.hpp.
int64_t out_size(int64_t in, int window, int stride, int lo, int hi, int dilation, bool ceil_mode) {
  const int64_t span = in + lo + hi - dilation * (window - 1) - 1;
  int64_t out = (ceil_mode ? (span + stride - 1) / stride : span / stride) + 1;
  if (ceil_mode && (out - 1) * stride >= in + lo) --out;
  return out;
}

PoolShape shape(int64_t n, int64_t h, int64_t w, int64_t c, int window, int stride, int lo, int hi,
                bool ceil_mode, bool include) {
  PoolShape s;
  s.n = n, s.h = h, s.w = w, s.c = c;
  s.p = out_size(h, window, stride, lo, hi, 1, ceil_mode);
  s.q = out_size(w, window, stride, lo, hi, 1, ceil_mode);
  for (int i = 0; i < 2; ++i) s.window[i] = window, s.stride[i] = stride, s.pad_lo[i] = lo, s.pad_hi[i] = hi;
  s.count_include_pad = include;
  return s;
}

std::vector<PoolShape> shapes() {
  return {shape(2, 11, 9, 16, 3, 2, 1, 1, false, false), shape(2, 8, 8, 13, 2, 2, 0, 0, false, false),
          shape(1, 7, 10, 8, 3, 1, 1, 1, false, true),   shape(3, 6, 7, 40, 3, 2, 0, 0, true, true),
          shape(2, 7, 6, 5, 3, 2, 1, 0, true, false),    shape(1, 5, 5, 24, 5, 5, 0, 0, false, true),
          shape(2, 9, 9, 8, 2, 3, 0, 0, false, false),   shape(1, 6, 6, 3, 3, 2, 1, 1, true, true)};
}

struct Span {
  Span(const PoolShape& s, int axis, int64_t out)
      : start(out * s.stride[axis] - s.pad_lo[axis]),
        stop(std::min<int64_t>(start + s.window[axis], (axis == 0 ? s.h : s.w) + s.pad_hi[axis])),
        begin(std::max<int64_t>(start, 0)),
        end(std::min(stop, axis == 0 ? s.h : s.w)) {}
  int64_t start, stop, begin, end;
};

/// Calls f(n, p, q, rows, columns) for every window.
template <class F>
void each_window(const PoolShape& s, F f) {
  for (int64_t n = 0; n < s.n; ++n)
    for (int64_t p = 0; p < s.p; ++p)
      for (int64_t q = 0; q < s.q; ++q) f(n, p, q, Span(s, 0, p), Span(s, 1, q));
}

int64_t first_maximum(const PoolShape& s, const Tensor& x, int64_t n, int64_t c, const Span& rows,
                      const Span& cols) {
  int64_t best = (n * s.h + rows.begin) * s.w + cols.begin;
  for (int64_t h = rows.begin; h < rows.end; ++h)
    for (int64_t w = cols.begin; w < cols.end; ++w) {
      const int64_t here = (n * s.h + h) * s.w + w;
      const double v = x(here, c), b = x(best, c);
      if (v > b || (std::isnan(v) && !std::isnan(b))) best = here;
    }
  return best;
}

double divisor(const PoolShape& s, const Span& rows, const Span& cols) {
  return static_cast<double>(s.count_include_pad ? (rows.stop - rows.start) * (cols.stop - cols.start)
                                                 : (rows.end - rows.begin) * (cols.end - cols.begin));
}

template <class F>
void each_pool(F f) {
  for (Type t : float_types())
    for (const PoolShape& s : shapes())
      for (int64_t gap : {0, 8, 3}) {
        INFO(name_of(t) << " " << s.n << "x" << s.h << "x" << s.w << "x" << s.c << " window " << s.window[0]
                        << " stride " << s.stride[0] << " gap " << gap);
        f(t, s, Layout{s.n * s.h * s.w, s.c, gap}, Layout{s.n * s.p * s.q, s.c, gap});
      }
}

}  // namespace

TEST_SUITE_BEGIN("pool");

TEST_CASE("max_pool and its gradient, with ties and NaN, by argmax and by search") {
  each_pool([](Type t, const PoolShape& s, const Layout& in, const Layout& out) {
    auto x = Tensor::random(t, in, 1);
    for (double& v : x.host) v = std::round(v);  // ties
    x(0, 0) = NAN;
    if (in.rows > 7) x(7, in.c - 1) = NAN;
    x.upload();
    const auto dy = Tensor::random(t, out, 2);
    Tensor y(t, out), dx(t, in), searched(t, in);
    const Memory argmax(max_pool_argmax_bytes(s));
    auto* where = static_cast<uint8_t*>(argmax.get());
    REQUIRE(where != nullptr);
    finish(max_pool({s, t, x.in(), y.out(), where, false}, nullptr));
    finish(max_pool_grad({s, t, dy.in(), {}, where, dx.out()}, nullptr));
    finish(max_pool_grad({s, t, dy.in(), x.in(), nullptr, searched.out()}, nullptr));
    std::vector<double> want_y(y.host.size()), want_dx(x.host.size());
    each_window(s, [&](int64_t n, int64_t p, int64_t q, const Span& rows, const Span& cols) {
      for (int64_t c = 0; c < s.c; ++c) {
        const int64_t best = first_maximum(s, x, n, c, rows, cols), o = (n * s.p + p) * s.q + q;
        want_y[static_cast<size_t>(o * s.c + c)] = x(best, c);
        want_dx[static_cast<size_t>(best * s.c + c)] += dy(o, c);
      }
    });
    compare(y, 0, 1, [&](int64_t r, int64_t c) { return want_y[static_cast<size_t>(r * s.c + c)]; });
    const auto gradient = [&](int64_t r, int64_t c) { return want_dx[static_cast<size_t>(r * s.c + c)]; };
    compare(dx, tolerance(t), 1e-5, gradient);
    compare(searched, tolerance(t), 1e-5, gradient);
  });
}

TEST_CASE("max_pool without argmax, with relu behind it") {
  const PoolShape s = shape(2, 11, 9, 16, 3, 2, 1, 1, false, false);
  const auto x = Tensor::random(Type::bf16, {2 * 11 * 9, 16}, 1, -2, 0.5);
  Tensor y(Type::bf16, {s.n * s.p * s.q, 16});
  finish(max_pool({s, Type::bf16, x.in(), y.out(), nullptr, true}, nullptr));
  std::vector<double> want(y.host.size());
  each_window(s, [&](int64_t n, int64_t p, int64_t q, const Span& rows, const Span& cols) {
    for (int64_t c = 0; c < s.c; ++c)
      want[static_cast<size_t>(((n * s.p + p) * s.q + q) * s.c + c)] =
          relu_of(x(first_maximum(s, x, n, c, rows, cols), c));
  });
  compare(y, 0, 1, [&](int64_t r, int64_t c) { return want[static_cast<size_t>(r * s.c + c)]; });
}

TEST_CASE("a window of more than 255 elements has no argmax") {
  const PoolShape s = shape(1, 16, 16, 8, 16, 16, 0, 0, false, false);
  CHECK(max_pool_argmax_bytes(s) == 0);
}

TEST_CASE("avg_pool and its gradient, counting padding or not, ceil mode too") {
  each_pool([](Type t, const PoolShape& s, const Layout& in, const Layout& out) {
    const auto x = Tensor::random(t, in, 1), dy = Tensor::random(t, out, 2);
    Tensor y(t, out), dx(t, in);
    finish(avg_pool({s, t, x.in(), y.out()}, nullptr));
    finish(avg_pool_grad({s, t, dy.in(), dx.out()}, nullptr));
    std::vector<double> want_y(y.host.size()), want_dx(x.host.size());
    each_window(s, [&](int64_t n, int64_t p, int64_t q, const Span& rows, const Span& cols) {
      const int64_t o = (n * s.p + p) * s.q + q;
      for (int64_t h = rows.begin; h < rows.end; ++h)
        for (int64_t w = cols.begin; w < cols.end; ++w)
          for (int64_t c = 0; c < s.c; ++c) {
            const int64_t i = (n * s.h + h) * s.w + w;
            want_y[static_cast<size_t>(o * s.c + c)] += x(i, c) / divisor(s, rows, cols);
            want_dx[static_cast<size_t>(i * s.c + c)] += dy(o, c) / divisor(s, rows, cols);
          }
    });
    compare(y, tolerance(t), 1e-1,
            [&](int64_t r, int64_t c) { return want_y[static_cast<size_t>(r * s.c + c)]; });
    compare(dx, tolerance(t), 1e-1,
            [&](int64_t r, int64_t c) { return want_dx[static_cast<size_t>(r * s.c + c)]; });
  });
}

TEST_CASE("global_avg_pool and its gradient") {
  for (Type t : float_types())
    for (const Layout& l : {Layout{3, 64}, Layout{2, 13}, Layout{4, 2048}, Layout{5, 24, 8}})
      for (int64_t area : {1, 49, 300}) {
        INFO(text(t, l) << " area " << area);
        const Layout planes{l.rows * area, l.c, l.gap};
        const auto x = Tensor::random(t, planes, 1), dy = Tensor::random(t, l, 2);
        Tensor y(t, l), dx(t, planes);
        finish(global_avg_pool({x.in(), y.out(), t, l.rows, area, l.c}, nullptr));
        finish(global_avg_pool_grad({dy.in(), dx.out(), t, l.rows, area, l.c}, nullptr));
        compare(y, tolerance(t), 1e-1, [&](int64_t n, int64_t c) {
          double sum = 0;
          for (int64_t i = 0; i < area; ++i) sum += x(n * area + i, c);
          return sum / static_cast<double>(area);
        });
        compare(dx, tolerance(t), 1e-4,
                [&](int64_t r, int64_t c) { return dy(r / area, c) / static_cast<double>(area); });
      }
}

TEST_CASE("direct convolution and both gradients") {
  struct Case {
    int64_t n, h, w, c, k;
    int window[2], stride[2], dilation[2], pad[2], groups;
  };
  const Case cases[] = {{2, 9, 7, 6, 4, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 1},
                        {2, 8, 9, 6, 9, {3, 2}, {2, 1}, {1, 2}, {1, 0}, 3},
                        {1, 11, 11, 3, 8, {7, 7}, {2, 2}, {1, 1}, {3, 3}, 1},
                        {3, 5, 5, 40, 40, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 40},
                        {1, 10, 10, 36, 5, {1, 1}, {3, 3}, {1, 1}, {0, 0}, 1}};
  for (Type t : float_types())
    for (const Case& k : cases) {
      INFO(name_of(t) << " c " << k.c << " k " << k.k << " groups " << k.groups);
      ConvShape s;
      s.n = k.n, s.h = k.h, s.w = k.w, s.c = k.c, s.k = k.k, s.groups = k.groups;
      for (int i = 0; i < 2; ++i)
        s.kernel[i] = k.window[i], s.stride[i] = k.stride[i], s.dilation[i] = k.dilation[i],
        s.pad_lo[i] = k.pad[i];
      s.p = out_size(s.h, s.kernel[0], s.stride[0], k.pad[0], k.pad[0], s.dilation[0], false);
      s.q = out_size(s.w, s.kernel[1], s.stride[1], k.pad[1], k.pad[1], s.dilation[1], false);
      const int64_t cg = s.c / s.groups, kg = s.k / s.groups;
      const Layout in{s.n * s.h * s.w, s.c, 2}, out{s.n * s.p * s.q, s.k, 1},
          weights{s.k * s.kernel[0] * s.kernel[1], cg};
      const auto x = Tensor::random(t, in, 1), dy = Tensor::random(t, out, 2),
                 w = Tensor::random(t, weights, 3);
      Tensor y(t, out), dx(t, in), dw(Type::f32, weights), narrow(t, weights);
      finish(conv_direct({s, t, x.in(), w.as<void>(), y.out()}, nullptr));
      finish(conv_direct_dgrad({s, t, dy.in(), w.as<void>(), dx.out()}, nullptr));
      finish(conv_direct_wgrad({s, t, dy.in(), x.in(), dw.as<void>(), Type::f32}, nullptr));
      finish(conv_direct_wgrad({s, t, dy.in(), x.in(), narrow.as<void>(), t}, nullptr));
      std::vector<double> want_y(y.host.size()), want_dx(dx.host.size()), want_dw(dw.host.size());
      for (int64_t n = 0; n < s.n; ++n)
        for (int64_t p = 0; p < s.p; ++p)
          for (int64_t q = 0; q < s.q; ++q)
            for (int64_t r = 0; r < s.kernel[0]; ++r)
              for (int64_t v = 0; v < s.kernel[1]; ++v) {
                const int64_t h = p * s.stride[0] + r * s.dilation[0] - s.pad_lo[0],
                              c0 = q * s.stride[1] + v * s.dilation[1] - s.pad_lo[1];
                if (h < 0 || h >= s.h || c0 < 0 || c0 >= s.w) continue;
                const int64_t i = (n * s.h + h) * s.w + c0, o = (n * s.p + p) * s.q + q;
                for (int64_t f = 0; f < s.k; ++f)
                  for (int64_t c = 0; c < cg; ++c) {
                    const int64_t tap = (f * s.kernel[0] + r) * s.kernel[1] + v, channel = f / kg * cg + c;
                    want_y[static_cast<size_t>(o * s.k + f)] += x(i, channel) * w(tap, c);
                    want_dx[static_cast<size_t>(i * s.c + channel)] += dy(o, f) * w(tap, c);
                    want_dw[static_cast<size_t>(tap * cg + c)] += dy(o, f) * x(i, channel);
                  }
              }
      compare(y, tolerance(t), 1,
              [&](int64_t r, int64_t c) { return want_y[static_cast<size_t>(r * s.k + c)]; });
      compare(dx, tolerance(t), 1,
              [&](int64_t r, int64_t c) { return want_dx[static_cast<size_t>(r * s.c + c)]; });
      compare(dw, tolerance(Type::f32), 1,
              [&](int64_t r, int64_t c) { return want_dw[static_cast<size_t>(r * cg + c)]; });
      compare(narrow, tolerance(t), 1,
              [&](int64_t r, int64_t c) { return want_dw[static_cast<size_t>(r * cg + c)]; });
    }
}

TEST_SUITE_END();

}  // namespace convoy::cuda::test
