// softmax_xent with smoothing, samples that do not count, ties and large logits; and its gradient.
#include "one_node.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

namespace convoy::contract {

namespace {

SoftmaxXentAttrs smoothing(double s) {
  SoftmaxXentAttrs a{};
  a.label_smoothing = s;
  return a;
}

struct Batch {
  const char* what;
  int64_t N, K;
  Fill logits, labels;
};

std::vector<Batch> batches() {
  return {
      {"10 classes", 7, 10, between(-3, 3), classes(10)},
      {"two classes", 3, 2, between(-3, 3), classes(2)},
      {"more classes than a vector", 2, 1000, between(-3, 3), classes(1000)},
      {"odd", 5, 17, between(-3, 3), classes(17)},
      {"every third sample does not count", 8, 10, between(-3, 3), classes(10, 3)},
      {"no sample counts", 4, 10, between(-3, 3), constant(-1)},
      {"ties: the lower index is the larger", 16, 12, few_values(), classes(12)},
      {"a NaN logit is no hit", 1, 3, listed({NAN, 1, 2}), constant(0)},
      {"logits far from zero", 4, 10, between(-200, 200), classes(10)},
  };
}

}  // namespace

TEST_SUITE("contract: softmax_xent") {
  TEST_CASE("loss, probabilities and counters are the same on every backend, or refused with a reason") {
    std::vector<Case> cases;
    for (const Batch& b : batches())
      for (const double s : {0.0, 0.1}) {
        Case& c = cases.emplace_back(fmt::format("{}, smoothing {}", b.what, s));
        const Value logits = c.x({b.N, b.K}, b.logits), labels = c.give(Role::input, {b.N}, b.labels, DType::i32);
        c.run(Op::softmax_xent, {logits, labels}, smoothing(s));
      }
    hold_to_reference(cases);
  }

  TEST_CASE("softmax_xent's gradient is the same on every backend, or refused with a reason") {
    std::vector<Case> cases;
    for (const Batch& b : batches())
      for (const double s : {0.0, 0.1}) {
        Case forward(b.what, 2);
        const Value logits = forward.x({b.N, b.K}, b.logits);
        const Value labels = forward.give(Role::input, {b.N}, b.labels, DType::i32);
        forward.run(Op::softmax_xent, {logits, labels}, smoothing(s));
        const auto probs_made = truth_of(forward).at(forward.graph().nodes[0].out[1]);

        Case& c = cases.emplace_back(fmt::format("{}, smoothing {}", b.what, s));
        const Value probs = c.x({b.N, b.K}, listed(probs_made));
        const Value same_labels = c.give(Role::input, {b.N}, listed(forward.data().at(labels)), DType::i32);
        c.run(Op::softmax_xent_grad, {probs, same_labels, c.scalar(0.75)}, smoothing(s));
      }
    hold_to_reference(cases);
  }
}

}  // namespace convoy::contract
