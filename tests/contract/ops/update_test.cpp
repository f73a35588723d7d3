// Update rules: parameters and optimiser state after one step, in place.
#include "one_node.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

namespace convoy::contract {

namespace {

const std::vector<Dims> kShapes{{16, 8, 3, 3}, {17}, {10, 5}, {3, 1, 1, 1}, {1}};

Value gradient(Case& c, const Dims& d) { return c.give(Role::grad, d, around_zero()); }

}  // namespace

TEST_SUITE("contract: update") {
  TEST_CASE("sgd is the same on every backend, or refused with a reason") {
    std::vector<Case> cases;
    for (const Dims& d : kShapes)
      for (const double momentum : {0.0, 0.9})
        for (const double decay : {0.0, 1e-2})
          for (const bool nesterov : {false, true}) {
            if (nesterov && momentum == 0) continue;
            SgdAttrs a{};
            a.momentum = momentum, a.weight_decay = decay, a.nesterov = nesterov ? 1 : 0;
            a.dampening = momentum > 0 && !nesterov && decay > 0 ? 0.5 : 0;
            Case& c = cases.emplace_back(fmt::format("momentum {} decay {} nesterov {} dampening {}", momentum, decay, nesterov, a.dampening));
            const Value p = c.param(d), g = gradient(c, d), buffer = momentum > 0 ? c.state(d) : kNoValue;
            c.run(Op::sgd, {p, g, buffer, c.scalar(0.1)}, a);
          }
    hold_to_reference(cases);
  }

  TEST_CASE("lars is the same on every backend, or refused with a reason") {
    std::vector<Case> cases;
    for (const Dims& d : kShapes)
      for (const bool zero : {false, true}) {
        LarsAttrs a{};
        a.momentum = 0.9, a.weight_decay = 1e-2, a.trust = 1e-3, a.eps = 1e-8;
        Case& c = cases.emplace_back(zero ? "a parameter of zeros" : "lars");
        const Value p = c.param(d, zero ? constant(0) : around_zero()), g = gradient(c, d), buffer = c.state(d);
        c.run(Op::lars, {p, g, buffer, c.scalar(0.1)}, a);
      }
    hold_to_reference(cases);
  }

  TEST_CASE("rmsprop is the same on every backend, or refused with a reason") {
    std::vector<Case> cases;
    for (const Dims& d : kShapes)
      for (const double momentum : {0.0, 0.9}) {
        RmspropAttrs a{};
        a.alpha = 0.9, a.eps = 1e-3, a.momentum = momentum, a.weight_decay = 1e-2;
        Case& c = cases.emplace_back(fmt::format("momentum {}", momentum));
        const Value p = c.param(d), g = gradient(c, d), square = c.state(d, between(0.1, 1));
        const Value buffer = momentum > 0 ? c.state(d) : kNoValue;
        c.run(Op::rmsprop, {p, g, square, buffer, c.scalar(0.1)}, a);
      }
    hold_to_reference(cases);
  }

  TEST_CASE("adamw is the same on every backend, or refused with a reason") {
    std::vector<Case> cases;
    for (const Dims& d : kShapes)
      for (const double t : {1.0, 7.0}) {
        AdamwAttrs a{};
        a.beta1 = 0.9, a.beta2 = 0.999, a.eps = 1e-8, a.weight_decay = 1e-2;
        Case& c = cases.emplace_back(fmt::format("step {}", t));
        const Value p = c.param(d), g = gradient(c, d), m = c.state(d), v = c.state(d, between(0.1, 1));
        const Value lr = c.scalar(0.01), step = c.scalar(t);
        c.run(Op::adamw, {p, g, m, v, lr, step}, a);
      }
    hold_to_reference(cases);
  }

  TEST_CASE("ema is the same on every backend, or refused with a reason") {
    std::vector<Case> cases;
    for (const Dims& d : kShapes) {
      EmaAttrs a{};
      a.decay = 0.99;
      Case& c = cases.emplace_back("decay 0.99");
      const Value shadow = c.state(d), p = c.param(d);
      c.run(Op::ema, {shadow, p}, a);
    }
    hold_to_reference(cases);
  }

  TEST_CASE("unscale_check is the same on every backend, or refused with a reason") {
    std::vector<Case> cases;
    for (const double clip : {0.0, 0.5, 1000.0})
      for (const bool finite : {true, false}) {
        UnscaleCheckAttrs a{};
        a.clip_norm = clip;
        Case& c = cases.emplace_back(fmt::format("clip at {}{}", clip, finite ? "" : ", a gradient is not finite"));
        const Value scale = c.scalar(128), g0 = gradient(c, {17, 3});
        const Value g1 = c.give(Role::grad, {5}, finite ? around_zero() : constant(HUGE_VAL));
        c.run(Op::unscale_check, {scale, g0, g1}, a);
      }
    hold_to_reference(cases);
  }
}

}  // namespace convoy::contract
