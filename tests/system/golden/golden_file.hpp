// A golden file in memory, and the comparison of a tensor with its stored norm, sum and probes.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convoy::testing {

struct Stats {
  double l2 = 0;
  double sum = 0;
  std::vector<std::pair<uint64_t, double>> probes;
};

struct GoldenFile {
  std::string variant;
  uint32_t resolution = 0;
  uint32_t batch = 0;
  std::vector<int32_t> labels;
  std::optional<std::pair<double, double>> bn_gamma;
  std::vector<std::pair<std::string, std::vector<int64_t>>> parameters;  // in the model's order
  std::vector<std::pair<std::string, std::vector<int64_t>>> buffers;

  std::vector<double> eval_logits_first;
  Stats eval_logits;
  std::vector<std::vector<int64_t>> eval_top5;
  double eval_loss = 0;

  double train_loss = 0;
  Stats train_logits;
  std::map<std::string, Stats> train_grads;
  std::map<std::string, Stats> train_buffers;

  double lr = 0, momentum = 0, weight_decay = 0;
  std::vector<double> sgd_losses;
  std::map<std::string, Stats> sgd_parameters;  // after the fifth update

  static GoldenFile read(const std::filesystem::path& path);
};

/// Euclidean norm.
double l2_of(const std::vector<float>& v);
/// |l2 - golden| / golden; golden 0 is compared absolutely.
double l2_error(const std::vector<float>& got, const Stats& want);
/// Largest |probe - golden| over the golden tensor's rms.
double probe_error(const std::vector<float>& got, const Stats& want);
/// Euclidean |a - b| / |b|.
double relative_error(const std::vector<float>& a, const std::vector<double>& b);
/// The q-quantile of the values, 0 where there are none.
double quantile(std::vector<double> values, double q);

}  // namespace convoy::testing
