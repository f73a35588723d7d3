// Batch normalisation's kernels against loops in double, one channel at a time.
#include "kernels_test.hpp"

namespace convoy::cuda::test {

namespace {

constexpr double kEps = 1e-5, kMomentum = 0.1;

struct Moments {
  double mean, var;
};
Moments moments(const Tensor& x, int64_t c) {
  const int64_t rows = x.layout().rows;
  double sum = 0, squares = 0;
  for (int64_t r = 0; r < rows; ++r) sum += x(r, c);
  const double mean = sum / static_cast<double>(rows);
  for (int64_t r = 0; r < rows; ++r) squares += (x(r, c) - mean) * (x(r, c) - mean);
  return {mean, squares / static_cast<double>(rows)};
}

/// x, its parameters, and what the statistics kernel made of it.
struct Batch {
  Batch(Type t, const Layout& l, double centre)
      : x(Tensor::random(t, l, 1, centre - 2, centre + 2)),
        gamma(floats(l.c, 2, 0.5, 1.5)),
        beta(floats(l.c, 3)),
        running_mean(floats(l.c, 4)),
        running_var(floats(l.c, 5, 0.5, 2)),
        mean(blank_floats(l.c)),
        inv_std(blank_floats(l.c)),
        new_mean(blank_floats(l.c)),
        new_var(blank_floats(l.c)),
        type(t),
        l(l) {}

  void run() {
    const Memory scratch(batch_norm_statistics_scratch_bytes(l.rows, l.c));
    finish(batch_norm_statistics(
        {x.in(), type, l.rows, l.c, mean.as<float>(), inv_std.as<float>(), running_mean.as<float>(),
         running_var.as<float>(), new_mean.as<float>(), new_var.as<float>(), kEps, kMomentum, scratch.get()},
        nullptr));
  }
  Tensor x, gamma, beta, running_mean, running_var, mean, inv_std, new_mean, new_var;
  Type type;
  Layout l;
};

}  // namespace

TEST_SUITE_BEGIN("batch_norm");

TEST_CASE("moments and running statistics of a batch, also far from zero") {
  each_case([](Type t, const Layout& l) {
    for (double centre : {0.0, 100.0}) {
      INFO("centre " << centre);
      Batch b(t, l, centre);
      b.run();
      // The variance of a batch is found to 1e-4 of it even where the mean is 100 times the deviation.
      const auto inv_std = [&](int64_t, int64_t c) { return 1 / std::sqrt(moments(b.x, c).var + kEps); };
      compare(b.mean, 2e-6, 1, [&](int64_t, int64_t c) { return moments(b.x, c).mean; });
      compare(b.inv_std, 1e-4, 1e-6, inv_std);
      compare(b.new_mean, 2e-6, 1,
              [&](int64_t, int64_t c) { return 0.9 * b.running_mean(0, c) + 0.1 * moments(b.x, c).mean; });
      compare(b.new_var, 1e-4, 1e-6, [&](int64_t, int64_t c) {
        const double n = static_cast<double>(l.rows), var = moments(b.x, c).var;
        return 0.9 * b.running_var(0, c) + 0.1 * (n > 1 ? var * n / (n - 1) : var);
      });
    }
  });
}

TEST_CASE("the same moments come from sums") {
  const int64_t c = 70, rows = 1000;
  const auto sum = floats(c, 1, -100, 100), squares = floats(c, 2, 500, 1000);
  auto mean = blank_floats(c), inv_std = blank_floats(c);
  BatchNormStatisticsArgs a;
  a.rows = rows;
  a.c = c;
  a.saved_mean = mean.as<float>();
  a.saved_inv_std = inv_std.as<float>();
  finish(batch_norm_finalize(sum.as<float>(), squares.as<float>(), a, nullptr));
  compare(mean, 1e-6, 1e-6, [&](int64_t, int64_t k) { return sum(0, k) / rows; });
  compare(inv_std, 1e-6, 1e-6, [&](int64_t, int64_t k) {
    const double m = sum(0, k) / rows;
    return 1 / std::sqrt(squares(0, k) / rows - m * m + 1e-5);
  });
}

TEST_CASE("application, with an addend and relu or not, from either kind of variance") {
  each_case([](Type t, const Layout& l) {
    Batch b(t, l, 1);
    b.run();
    b.mean.download();
    b.inv_std.download();
    const auto more = Tensor::random(t, l, 9);
    for (int form = 0; form < 8; ++form) {
      INFO("form " << form);
      const bool adds = (form & 1) != 0, relu = (form & 2) != 0, infers = (form & 4) != 0;
      Tensor y(t, l);
      BatchNormApplyArgs a;
      a.x = b.x.in();
      a.gamma = b.gamma.as<float>();
      a.beta = b.beta.as<float>();
      a.mean = infers ? b.running_mean.as<float>() : b.mean.as<float>();
      if (infers)
        a.var = b.running_var.as<float>();
      else
        a.inv_std = b.inv_std.as<float>();
      if (adds) a.add = more.in();
      a.relu = relu;
      a.y = y.out();
      a.type = t;
      a.rows = l.rows;
      a.c = l.c;
      finish(batch_norm_apply(a, nullptr));
      compare(y, tolerance(t), 1, [&](int64_t r, int64_t c) {
        const double mean = infers ? b.running_mean(0, c) : b.mean(0, c);
        const double inv = infers ? 1 / std::sqrt(b.running_var(0, c) + kEps) : b.inv_std(0, c);
        const double v = (b.x(r, c) - mean) * inv * b.gamma(0, c) + b.beta(0, c) + (adds ? more(r, c) : 0);
        return relu ? relu_of(v) : v;
      });
    }
  });
}

TEST_CASE("the gradient, through every gate, with one or two gradients and with the addend's") {
  each_case([](Type t, const Layout& l) {
    Batch b(t, l, 1);
    b.run();
    b.mean.download();
    b.inv_std.download();
    const auto dy = Tensor::random(t, l, 11), dy2 = Tensor::random(t, l, 12), more = Tensor::random(t, l, 13);
    const bool can_mask =
        l.c % (16 / size_of(t)) != 0 || (l.gap % (16 / size_of(t)) == 0 && l.start % (16 / size_of(t)) == 0);
    Tensor y(t, l);
    const Memory mask(can_mask ? batch_norm_mask_bytes(l.rows, l.c, t) : 0);
    BatchNormApplyArgs f;
    f.x = b.x.in();
    f.gamma = b.gamma.as<float>();
    f.beta = b.beta.as<float>();
    f.mean = b.mean.as<float>();
    f.inv_std = b.inv_std.as<float>();
    f.add = more.in();
    f.relu = true;
    f.mask = static_cast<uint8_t*>(mask.get());
    f.y = y.out();
    f.type = t;
    f.rows = l.rows;
    f.c = l.c;
    finish(batch_norm_apply(f, nullptr));
    y.download();
    for (int form = 0; form < 12; ++form) {
      const bool two = (form & 1) != 0, adds = (form & 2) != 0, gated = form / 4 > 0, by_mask = form / 4 == 1;
      if (by_mask && !can_mask) continue;
      INFO("form " << form);
      Tensor dx(t, l), dadd(t, l);
      auto dgamma = blank_floats(l.c), dbeta = blank_floats(l.c);
      const Memory scratch(batch_norm_grad_scratch_bytes(l.rows, l.c));
      BatchNormGradArgs a;
      a.dy = dy.in();
      if (two) a.dy2 = dy2.in();
      a.x = b.x.in();
      if (by_mask)
        a.mask = f.mask;
      else if (gated)
        a.y = y.in();
      a.gamma = f.gamma;
      a.saved_mean = f.mean;
      a.saved_inv_std = f.inv_std;
      a.dx = dx.out();
      if (adds) a.dadd = dadd.out();
      a.dgamma = dgamma.as<float>();
      a.dbeta = dbeta.as<float>();
      a.type = t;
      a.rows = l.rows;
      a.c = l.c;
      a.scratch = scratch.get();
      finish(batch_norm_grad(a, nullptr));
      if (adds)
        compare(dadd, tolerance(t), 0.1, [&](int64_t r, int64_t c) {
          const double all = dy(r, c) + (two ? dy2(r, c) : 0);
          return gated && !(y(r, c) > 0) ? 0 : all;
        });
      // Where dadd is written, it is what the rest is made from, rounded as it is.
      const auto d = [&](int64_t r, int64_t c) {
        const double all = adds ? dadd(r, c) : dy(r, c) + (two ? dy2(r, c) : 0);
        return gated && !(y(r, c) > 0) ? 0 : all;
      };
      const auto xh = [&](int64_t r, int64_t c) { return (b.x(r, c) - b.mean(0, c)) * b.inv_std(0, c); };
      std::vector<double> beta(static_cast<size_t>(l.c)), gamma(beta);
      for (int64_t c = 0; c < l.c; ++c)
        for (int64_t r = 0; r < l.rows; ++r) {
          beta[static_cast<size_t>(c)] += d(r, c);
          gamma[static_cast<size_t>(c)] += d(r, c) * xh(r, c);
        }
      const double n = static_cast<double>(l.rows);
      compare(dbeta, 1e-5, std::sqrt(n), [&](int64_t, int64_t c) { return beta[static_cast<size_t>(c)]; });
      compare(dgamma, 1e-5, std::sqrt(n), [&](int64_t, int64_t c) { return gamma[static_cast<size_t>(c)]; });
      // A single row has inv_std = 1 / sqrt(eps) = 316, which magnifies what the sums were rounded by.
      double largest = 0;
      for (int64_t c = 0; c < l.c; ++c) largest = std::max(largest, b.inv_std(0, c));
      compare(dx, tolerance(t), 2 * std::max(1.0, largest), [&](int64_t r, int64_t c) {
        const auto k = static_cast<size_t>(c);
        return b.gamma(0, c) * b.inv_std(0, c) * (d(r, c) - beta[k] / n - xh(r, c) * gamma[k] / n);
      });
    }
  });
}

TEST_CASE("folding gives the same as the normalisation behind it") {
  const int64_t k = 9, per = 75;
  const auto w = floats(k * per, 1), bias = floats(k, 2), gamma = floats(k, 3), beta = floats(k, 4),
             mean = floats(k, 5), var = floats(k, 6, 0.1, 2);
  for (Type t : float_types())
    for (bool biased : {false, true}) {
      Tensor w_out(t, {k, per}), bias_out(t, {1, k});
      finish(fold_batch_norm(
          {w.as<float>(), biased ? bias.as<float>() : nullptr, gamma.as<float>(), beta.as<float>(),
           mean.as<float>(), var.as<float>(), kEps, w_out.as<void>(), t, bias_out.as<void>(), t, k, per},
          nullptr));
      const auto s = [&](int64_t i) { return gamma(0, i) / std::sqrt(var(0, i) + kEps); };
      compare(w_out, tolerance(t), 1e-3, [&](int64_t i, int64_t j) { return w(0, i * per + j) * s(i); });
      compare(bias_out, tolerance(t), 1, [&](int64_t, int64_t i) {
        return ((biased ? bias(0, i) : 0) - mean(0, i)) * s(i) + beta(0, i);
      });
    }
}

TEST_SUITE_END();

}  // namespace convoy::cuda::test
