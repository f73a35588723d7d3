// batch_norm with batch and with running statistics, and its gradient.
#include "one_node.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

namespace convoy::contract {

namespace {

const std::vector<Dims> kShapes{{2, 8, 6, 6}, {1, 1, 4, 4}, {3, 17, 3, 5}, {2, 3, 1, 1}, {4, 5, 1, 1}, {2, 16, 9, 2}, {1, 3, 7, 7}};

BatchNormAttrs attrs(double eps, double momentum) {
  BatchNormAttrs a{};
  a.eps = eps;
  a.momentum = momentum;
  return a;
}

std::string text(const Dims& d, double eps) { return fmt::format("({},{},{},{}) eps {}", d[0], d[1], d[2], d[3], eps); }

}  // namespace

TEST_SUITE("contract: batch_norm") {
  TEST_CASE("batch_norm in training and its running statistics are the same on every backend, or refused with a reason") {
    std::vector<Case> cases;
    for (const Dims& d : kShapes)
      for (const double eps : {1e-5, 1e-3}) {
        Case& c = cases.emplace_back(text(d, eps));
        const Dims channels{d[1]};
        const Value x = c.x(d, between(0, 3)), gamma = c.param(channels), beta = c.param(channels);
        const Value mean = c.state(channels), var = c.state(channels, between(0.5, 2));
        c.run(Op::batch_norm, {x, gamma, beta, mean, var}, attrs(eps, eps == 1e-5 ? 0.1 : 0.01));
      }
    hold_to_reference(cases);
  }

  TEST_CASE("batch_norm of a single value per channel keeps its running variance fed with zero") {
    Case c("one sample of one pixel");
    const Value x = c.x({1, 3, 1, 1}), gamma = c.param({3}), beta = c.param({3});
    const Value mean = c.state({3}), var = c.state({3}, between(0.5, 2));
    c.run(Op::batch_norm, {x, gamma, beta, mean, var}, attrs(1e-5, 0.1));
    hold_to_reference({c});
  }

  TEST_CASE("batch_norm in inference is the same on every backend, or refused with a reason") {
    std::vector<Case> cases;
    for (const Dims& d : kShapes) {
      Case& c = cases.emplace_back(text(d, 1e-5));
      const Dims channels{d[1]};
      const Value x = c.x(d), gamma = c.param(channels), beta = c.param(channels);
      const Value mean = c.state(channels), var = c.state(channels, between(0.5, 2));
      c.run(Op::batch_norm_infer, {x, gamma, beta, mean, var}, attrs(1e-5, 0.1));
    }
    hold_to_reference(cases);
  }

  TEST_CASE("batch_norm's gradient is the same on every backend, or refused with a reason") {
    std::vector<Case> cases;
    for (const Dims& d : kShapes) {
      if (d[0] * d[2] * d[3] == 2) continue;  // of two values nothing but eps is left: all digits cancel
      Case forward(text(d, 1e-5), 2);
      const Dims channels{d[1]};
      const Value fx = forward.x(d), gamma = forward.param(channels), beta = forward.param(channels);
      const Value mean = forward.state(channels), var = forward.state(channels, between(0.5, 2));
      forward.run(Op::batch_norm, {fx, gamma, beta, mean, var}, attrs(1e-5, 0.1));
      const auto made = truth_of(forward);
      const auto& out = forward.graph().nodes[0].out;

      Case& c = cases.emplace_back(forward.what());
      // x before dy: values are random by index, and a dy equal to x has a gradient of nothing but roundings.
      const Value x = c.x(d, listed(forward.data().at(fx))), dy = c.x(d), g = c.param(channels);
      const Value saved_mean = c.x(channels, listed(made.at(out[1]))), inv_std = c.x(channels, listed(made.at(out[2])));
      c.run(Op::batch_norm_grad, {dy, x, g, saved_mean, inv_std}, attrs(1e-5, 0.1));
    }
    hold_to_reference(cases);
  }
}

}  // namespace convoy::contract
