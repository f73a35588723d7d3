#include "train/initial_values.hpp"

#include "error.hpp"

#include <convoy/sdk/philox.hpp>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <numbers>
#include <string>

namespace convoy::train {

namespace {

/// "normal(0, 0.01)" -> name and numbers.
struct Init {
  std::string name;
  std::vector<double> args;
};

Init parse(const std::string& text) {
  Init out;
  const auto open = text.find('(');
  out.name = text.substr(0, open);
  if (open == std::string::npos) return out;
  const char* p = text.c_str() + open + 1;
  for (char* end = nullptr; *p != '\0' && *p != ')'; p = end) {
    while (*p == ',' || *p == ' ') ++p;
    out.args.push_back(std::strtod(p, &end));
    if (end == p) throw Error(ErrorKind::bug, "initial value '" + text + "' was not checked");
  }
  return out;
}

/// 64-bit FNV-1a: keeps parameters of one seed apart.
uint64_t hash_name(const std::string& name) {
  uint64_t h = 0xcbf29ce484222325u;
  for (unsigned char c : name) h = (h ^ c) * 0x100000001b3u;
  return h;
}

double fan_in(const ir::Tensor& t) {
  return t.dims.empty() ? 1.0 : static_cast<double>(t.elements()) / static_cast<double>(t.dims[0]);
}

double fan_out(const ir::Tensor& t) {
  if (t.dims.size() < 2) return 1.0;
  return static_cast<double>(t.elements()) / static_cast<double>(t.dims[1]);  // K R S
}

using Draw = std::function<double(sdk::Random&)>;

double normal(sdk::Random& r) {  // Box and Muller; one of the pair, so an index costs a fixed number of words
  const double u = 1.0 - static_cast<double>(r.uniform());
  const double v = static_cast<double>(r.uniform());
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

Draw scaled_normal(double stdev, double mean = 0) {
  return [=](sdk::Random& r) { return mean + stdev * normal(r); };
}

Draw between(double lo, double hi) {
  return [=](sdk::Random& r) { return lo + (hi - lo) * static_cast<double>(r.uniform()); };
}

Draw truncated(double stdev) {
  return [=](sdk::Random& r) {
    double x = normal(r);
    while (std::abs(x) > 2) x = normal(r);
    return stdev * x;
  };
}

Draw constant(double value) {
  return [=](sdk::Random&) { return value; };
}

Draw make_draw(const ir::Tensor& t) {
  const Init init = parse(t.init);
  const auto arg = [&](std::size_t i) { return init.args.at(i); };
  if (init.name == "zeros") return constant(0);
  if (init.name == "ones") return constant(1);
  if (init.name == "constant") return constant(arg(0));
  if (init.name == "normal") return scaled_normal(arg(1), arg(0));
  if (init.name == "uniform") return between(arg(0), arg(1));
  if (init.name == "trunc_normal") return truncated(arg(0));
  if (init.name == "kaiming_normal_fan_out") return scaled_normal(std::sqrt(2 / fan_out(t)));
  if (init.name == "kaiming_normal_fan_in") return scaled_normal(std::sqrt(2 / fan_in(t)));
  if (init.name == "xavier_uniform") {
    const double bound = std::sqrt(6 / (fan_in(t) + fan_out(t)));
    return between(-bound, bound);
  }
  if (init.name == "xavier_gaussian_in") return scaled_normal(std::sqrt(arg(0) / fan_in(t)));
  const double bound = 1 / std::sqrt(init.name == "torch_default_bias" ? arg(0) : fan_in(t));
  if (init.name == "torch_default" || init.name == "torch_default_bias") return between(-bound, bound);
  throw Error(ErrorKind::bug, "unknown initial value '" + t.init + "' of '" + t.name + "'");
}

}  // namespace

std::vector<float> initial_values(const ir::Tensor& t, uint64_t seed) {
  const Draw draw = make_draw(t);
  const uint64_t key = seed ^ hash_name(t.name);
  std::vector<float> out(static_cast<std::size_t>(t.elements()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    sdk::Random random(key, sdk::RandomUse::init, 0, i);
    out[i] = static_cast<float>(draw(random));
  }
  return out;
}

}  // namespace convoy::train
