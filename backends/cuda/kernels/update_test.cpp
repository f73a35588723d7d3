// Update rules and the gradient check against their formulas in double.
#include "kernels_test.hpp"

#include <functional>
#include <limits>

namespace convoy::cuda::test {

namespace {

// A few operations in f32 on numbers of about 1.
constexpr double kLimit = 2e-6;

/// A parameter with gradient and two states, of a length that is no multiple of a vector, begun off 16 bytes or not.
struct Parameter {
  Parameter(Type grad_type, int64_t count, int64_t start)
      : p(Tensor::random(Type::f32, {1, count, 0, start}, 1)),
        grad(Tensor::random(grad_type, {1, count, 0, start}, 2)),
        first(Tensor::random(Type::f32, {1, count, 0, start}, 3, 0.1, 1)),
        second(Tensor::random(Type::f32, {1, count, 0, start}, 4, 0.1, 1)),
        copy(grad_type, {1, count, 0, start}),
        lr(floats(1, 5, 0.1, 0.2)),
        factor(floats(1, 6, 0.5, 1)),
        old_p(p.host),
        old_first(first.host),
        old_second(second.host),
        type(grad_type),
        count(count) {}

  void give(UpdateArgs& a) {
    a.p = p.as<float>();
    a.grad = grad.as<void>();
    a.grad_type = type;
    a.copy = copy.as<void>();
    a.copy_type = type;
    a.count = count;
    a.lr = lr.as<float>();
    a.grad_factor = factor.as<float>();
  }
  double g(int64_t i) const { return factor(0, 0) * grad(0, i); }

  Tensor p, grad, first, second, copy, lr, factor;
  std::vector<double> old_p, old_first, old_second;
  Type type;
  int64_t count;
};

/// Calls f(parameter) for every gradient type, length and start.
template <class F>
void each_parameter(F f) {
  for (Type t : float_types())
    for (int64_t count : {1, 1000, 5003})
      for (int64_t start : {0, 1}) {
        INFO(name_of(t) << " count " << count << " start " << start);
        Parameter p(t, count, start);
        f(p);
      }
}

void compare_p(Parameter& x, const std::function<double(int64_t)>& want) {
  compare(x.p, kLimit, 1, [&](int64_t, int64_t i) { return want(i); });
  compare(x.copy, tolerance(x.type), 1e-5, [&](int64_t, int64_t i) { return x.p(0, i); });
}

}  // namespace

TEST_SUITE_BEGIN("update");

TEST_CASE("sgd, plain, with momentum, and Nesterov's") {
  each_parameter([](Parameter& made) {
    for (int form = 0; form < 3; ++form) {
      INFO("form " << form);
      Parameter x(made.type, made.count, made.p.layout().start);
      SgdArgs a;
      x.give(a);
      a.weight_decay = 0.1;
      if (form > 0) {
        a.momentum_buffer = x.first.as<float>();
        a.momentum = 0.9;
        a.dampening = form == 1 ? 0.2 : 0;
        a.nesterov = form == 2;
      }
      finish(sgd(a, nullptr));
      const auto g = [&](int64_t i) { return x.g(i) + 0.1 * x.old_p[static_cast<size_t>(i)]; };
      const auto b = [&](int64_t i) {
        return 0.9 * x.old_first[static_cast<size_t>(i)] + (1 - a.dampening) * g(i);
      };
      if (form > 0) compare(x.first, kLimit, 1, [&](int64_t, int64_t i) { return b(i); });
      compare_p(x, [&](int64_t i) {
        const double step = form == 0 ? g(i) : form == 1 ? b(i) : g(i) + 0.9 * b(i);
        return x.old_p[static_cast<size_t>(i)] - x.lr(0, 0) * step;
      });
    }
  });
}

TEST_CASE("a skipped step changes nothing") {
  Parameter x(Type::f16, 1000, 0);
  const auto skip = integers(Type::i32, {1});
  SgdArgs a;
  x.give(a);
  a.copy = nullptr;
  a.momentum_buffer = x.first.as<float>();
  a.momentum = 0.9;
  a.skip = skip.as<int32_t>();
  finish(sgd(a, nullptr));
  compare(x.p, 0, 1, [&](int64_t, int64_t i) { return x.old_p[static_cast<size_t>(i)]; });
  compare(x.first, 0, 1, [&](int64_t, int64_t i) { return x.old_first[static_cast<size_t>(i)]; });
}

TEST_CASE("lars scales by the norms, and by 1 where one is 0") {
  each_parameter([](Parameter& made) {
    for (bool zero : {false, true}) {
      Parameter x(made.type, made.count, made.p.layout().start);
      if (zero) {
        std::fill(x.grad.host.begin(), x.grad.host.end(), 0);
        x.grad.upload();
      }
      LarsArgs a;
      x.give(a);
      const Memory scratch(lars_scratch_bytes(x.count));
      a.scratch = scratch.get();
      a.momentum_buffer = x.first.as<float>();
      a.momentum = 0.9;
      a.weight_decay = 0.1;
      a.trust = 0.02;
      a.eps = 1e-3;
      finish(lars(a, nullptr));
      double ps = 0, gs = 0;
      for (int64_t i = 0; i < x.count; ++i) {
        ps += x.old_p[static_cast<size_t>(i)] * x.old_p[static_cast<size_t>(i)];
        gs += x.g(i) * x.g(i);
      }
      const double p = std::sqrt(ps), g = std::sqrt(gs),
                   local = p > 0 && g > 0 ? 0.02 * p / (g + 0.1 * p + 1e-3) : 1;
      const auto b = [&](int64_t i) {
        return 0.9 * x.old_first[static_cast<size_t>(i)] +
               local * x.lr(0, 0) * (x.g(i) + 0.1 * x.old_p[static_cast<size_t>(i)]);
      };
      compare(x.first, kLimit, 1, [&](int64_t, int64_t i) { return b(i); });
      compare_p(x, [&](int64_t i) { return x.old_p[static_cast<size_t>(i)] - b(i); });
    }
  });
}

TEST_CASE("rmsprop with momentum and without") {
  each_parameter([](Parameter& made) {
    for (bool momentum : {false, true}) {
      Parameter x(made.type, made.count, made.p.layout().start);
      RmspropArgs a;
      x.give(a);
      a.square_avg = x.first.as<float>();
      if (momentum) a.momentum_buffer = x.second.as<float>();
      a.alpha = 0.9;
      a.eps = 1e-3;
      a.momentum = 0.8;
      a.weight_decay = 0.1;
      finish(rmsprop(a, nullptr));
      const auto g = [&](int64_t i) { return x.g(i) + 0.1 * x.old_p[static_cast<size_t>(i)]; };
      const auto v = [&](int64_t i) { return 0.9 * x.old_first[static_cast<size_t>(i)] + 0.1 * g(i) * g(i); };
      const auto d = [&](int64_t i) {
        return g(i) / (std::sqrt(v(i)) + 1e-3) + (momentum ? 0.8 * x.old_second[static_cast<size_t>(i)] : 0);
      };
      compare(x.first, kLimit, 1, [&](int64_t, int64_t i) { return v(i); });
      if (momentum) compare(x.second, kLimit, 1, [&](int64_t, int64_t i) { return d(i); });
      compare_p(x, [&](int64_t i) { return x.old_p[static_cast<size_t>(i)] - x.lr(0, 0) * d(i); });
    }
  });
}

TEST_CASE("adamw in its third step") {
  each_parameter([](Parameter& x) {
    const auto t = floats(1, 9, 3, 3);
    AdamwArgs a;
    x.give(a);
    a.m = x.first.as<float>();
    a.v = x.second.as<float>();
    a.t = t.as<float>();
    a.weight_decay = 0.1;
    finish(adamw(a, nullptr));
    const auto m = [&](int64_t i) { return 0.9 * x.old_first[static_cast<size_t>(i)] + 0.1 * x.g(i); };
    const auto v = [&](int64_t i) {
      return 0.999 * x.old_second[static_cast<size_t>(i)] + 0.001 * x.g(i) * x.g(i);
    };
    compare(x.first, kLimit, 1, [&](int64_t, int64_t i) { return m(i); });
    compare(x.second, kLimit, 1, [&](int64_t, int64_t i) { return v(i); });
    compare_p(x, [&](int64_t i) {
      const double lr = x.lr(0, 0);
      return x.old_p[static_cast<size_t>(i)] * (1 - lr * 0.1) -
             lr * (m(i) / (1 - 0.9 * 0.9 * 0.9)) / (std::sqrt(v(i) / (1 - 0.999 * 0.999 * 0.999)) + 1e-8);
    });
  });
}

TEST_CASE("ema") {
  auto shadow = floats(1003, 1);
  const auto before = shadow.host;
  const auto p = floats(1003, 2);
  finish(ema({shadow.as<float>(), p.as<float>(), 1003, 0.99}, nullptr));
  compare(shadow, kLimit, 1,
          [&](int64_t, int64_t i) { return 0.99 * before[static_cast<size_t>(i)] + 0.01 * p(0, i); });
}

TEST_CASE("unscale_check finds what is not finite, and clips") {
  for (Type t : float_types())
    for (double bad : {0.0, static_cast<double>(INFINITY), static_cast<double>(NAN)})
      for (double clip : {0.0, 1.0, 1e6}) {
        INFO(name_of(t) << " bad " << bad << " clip " << clip);
        std::vector<Tensor> grads;
        std::vector<Vector> vectors;
        for (int i = 0; i < 70; ++i) {  // more than one launch's
          grads.push_back(Tensor::random(t, {1, 1 + i * 37, 0, i % 2}, static_cast<unsigned>(i)));
          if (i == 67 && bad != 0) {
            grads.back()(0, 1234) = bad;
            grads.back().upload();
          }
          vectors.push_back({grads.back().as<void>(), 1 + i * 37});
        }
        const auto scale = floats(1, 3, 128, 128);
        Tensor not_finite(Type::i32, {1, 1}), factor(Type::f32, {1, 1});
        const Memory scratch(unscale_check_scratch_bytes(70));
        finish(unscale_check({vectors.data(), 70, t, scale.as<float>(), clip, not_finite.as<int32_t>(),
                              factor.as<float>(), scratch.get()},
                             nullptr));
        double squares = 0;
        for (const Tensor& g : grads)
          for (double v : g.host) squares += v / 128 * v / 128;
        const double norm = std::sqrt(squares);
        compare(not_finite, 0, 1, [&](int64_t, int64_t) { return bad != 0 ? 1 : 0; });
        compare(factor, 1e-6, 0, [&](int64_t, int64_t) {
          return bad != 0 ? 0 : (clip > 0 && norm > clip ? clip / norm : 1) / 128;
        });
      }
}

TEST_SUITE_END();

}  // namespace convoy::cuda::test
