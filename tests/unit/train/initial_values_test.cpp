// Initial values: moments of each rule, bounds, and independence of order.
#include "train/initial_values.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace convoy;
using namespace convoy::train;

namespace {

ir::Tensor tensor(std::vector<int64_t> dims, std::string init, std::string name = "w") {
  ir::Tensor t;
  t.dims = std::move(dims);
  t.init = std::move(init);
  t.name = std::move(name);
  t.role = Role::param;
  return t;
}

double mean(const std::vector<float>& v) { return std::accumulate(v.begin(), v.end(), 0.0) / v.size(); }

double stdev(const std::vector<float>& v) {
  const double m = mean(v);
  double sum = 0;
  for (float x : v) sum += (x - m) * (x - m);
  return std::sqrt(sum / v.size());
}

// 64 x 32 x 3 x 3 = 18,432 draws: the sample deviation of the deviation is 0.5 %, so 3 % is six of them.
const std::vector<int64_t> kConv{64, 32, 3, 3};
constexpr double kMoment = 0.03;

}  // namespace

TEST_SUITE("initial values") {
  TEST_CASE("constants") {
    for (float x : initial_values(tensor({8}, "zeros"), 1)) CHECK(x == 0);
    for (float x : initial_values(tensor({8}, "ones"), 1)) CHECK(x == 1);
    for (float x : initial_values(tensor({8}, "constant(0.25)"), 1)) CHECK(x == 0.25f);
  }

  TEST_CASE("the deviations of the normal rules are those of their papers") {
    const double fan_in = 32 * 9, fan_out = 64 * 9;
    CHECK(stdev(initial_values(tensor(kConv, "kaiming_normal_fan_out"), 1)) ==
          doctest::Approx(std::sqrt(2 / fan_out)).epsilon(kMoment));
    CHECK(stdev(initial_values(tensor(kConv, "kaiming_normal_fan_in"), 1)) ==
          doctest::Approx(std::sqrt(2 / fan_in)).epsilon(kMoment));
    CHECK(stdev(initial_values(tensor(kConv, "xavier_gaussian_in(2)"), 1)) ==
          doctest::Approx(std::sqrt(2 / fan_in)).epsilon(kMoment));
    CHECK(stdev(initial_values(tensor(kConv, "normal(0, 0.01)"), 1)) == doctest::Approx(0.01).epsilon(kMoment));
    CHECK(mean(initial_values(tensor(kConv, "normal(3, 0.01)"), 1)) == doctest::Approx(3).epsilon(kMoment));
  }

  TEST_CASE("the bounds of the uniform rules are kept and reached") {
    const auto range = [](const std::string& init) {
      const auto v = initial_values(tensor(kConv, init), 1);
      return std::pair(*std::min_element(v.begin(), v.end()), *std::max_element(v.begin(), v.end()));
    };
    const auto near = [](std::pair<float, float> got, double lo, double hi) {
      CHECK(got.first >= lo);
      CHECK(got.second <= hi);
      CHECK(got.first == doctest::Approx(lo).epsilon(kMoment));
      CHECK(got.second == doctest::Approx(hi).epsilon(kMoment));
    };
    const double fan_in = 32 * 9, fan_out = 64 * 9;
    near(range("uniform(-1, 2)"), -1, 2);
    near(range("torch_default"), -1 / std::sqrt(fan_in), 1 / std::sqrt(fan_in));
    near(range("torch_default_bias(100)"), -0.1, 0.1);
    near(range("xavier_uniform"), -std::sqrt(6 / (fan_in + fan_out)), std::sqrt(6 / (fan_in + fan_out)));
    near(range("trunc_normal(0.1)"), -0.2, 0.2);
  }

  TEST_CASE("seed and name decide, and nothing else") {
    const auto a = initial_values(tensor(kConv, "normal(0, 1)", "a"), 1);
    CHECK(a == initial_values(tensor(kConv, "normal(0, 1)", "a"), 1));
    CHECK(a != initial_values(tensor(kConv, "normal(0, 1)", "b"), 1));
    CHECK(a != initial_values(tensor(kConv, "normal(0, 1)", "a"), 2));
    auto longer = kConv;
    longer[0] = 65;
    const auto more = initial_values(tensor(longer, "normal(0, 1)", "a"), 1);
    CHECK(std::equal(a.begin(), a.end(), more.begin()));
  }
}
