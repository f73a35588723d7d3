#include "golden_file.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>

namespace convoy::testing {

namespace {

using Json = nlohmann::ordered_json;

Stats stats(const Json& j) {
  Stats out{j.at("l2"), j.at("sum"), {}};
  for (const auto& p : j.at("probe")) out.probes.emplace_back(p[0], p[1]);
  return out;
}

std::map<std::string, Stats> stats_by_name(const Json& j) {
  std::map<std::string, Stats> out;
  for (const auto& [name, s] : j.items()) out[name] = stats(s);
  return out;
}

std::vector<std::pair<std::string, std::vector<int64_t>>> shapes(const Json& j) {
  std::vector<std::pair<std::string, std::vector<int64_t>>> out;
  for (const auto& [name, dims] : j.items()) out.emplace_back(name, dims.get<std::vector<int64_t>>());
  return out;
}

}  // namespace

double l2_of(const std::vector<float>& v) {
  double sum = 0;
  for (float x : v) sum += static_cast<double>(x) * static_cast<double>(x);
  return std::sqrt(sum);
}

GoldenFile GoldenFile::read(const std::filesystem::path& path) {
  std::ifstream in(path);
  const Json j = Json::parse(in);
  GoldenFile g;
  g.variant = j.at("variant");
  g.resolution = j.at("resolution");
  g.batch = j.at("batch");
  g.labels = j.at("labels").get<std::vector<int32_t>>();
  if (!j.at("bn_gamma").is_null()) g.bn_gamma = {j["bn_gamma"][0], j["bn_gamma"][1]};
  g.parameters = shapes(j.at("parameters"));
  g.buffers = shapes(j.at("buffers"));
  const Json& eval = j.at("eval");
  g.eval_logits_first = eval.at("logits_first").get<std::vector<double>>();
  g.eval_logits = stats(eval.at("logits"));
  g.eval_top5 = eval.at("top5").get<std::vector<std::vector<int64_t>>>();
  g.eval_loss = eval.at("loss");
  const Json& train = j.at("train");
  g.train_loss = train.at("loss");
  g.train_logits = stats(train.at("logits"));
  g.train_grads = stats_by_name(train.at("grads"));
  if (train.contains("buffers")) g.train_buffers = stats_by_name(train.at("buffers"));
  const Json& sgd = j.at("sgd");
  g.lr = sgd.at("lr");
  g.momentum = sgd.at("momentum");
  g.weight_decay = sgd.at("weight_decay");
  g.sgd_losses = sgd.at("losses").get<std::vector<double>>();
  g.sgd_parameters = stats_by_name(sgd.at("parameters"));
  return g;
}

double l2_error(const std::vector<float>& got, const Stats& want) {
  const double diff = std::abs(l2_of(got) - want.l2);
  return want.l2 == 0 ? diff : diff / want.l2;
}

double probe_error(const std::vector<float>& got, const Stats& want) {
  const double rms = want.l2 / std::sqrt(static_cast<double>(got.size()));
  double worst = 0;
  for (const auto& [index, value] : want.probes)
    worst = std::max(worst, std::abs(static_cast<double>(got.at(index)) - value));
  return rms == 0 ? worst : worst / rms;
}

double relative_error(const std::vector<float>& a, const std::vector<double>& b) {
  double diff = 0, norm = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    diff += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(diff / norm);
}

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

}  // namespace convoy::testing
