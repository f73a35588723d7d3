// Measures the steps of one configuration, and puts them into a row. Gates and the order of many are elsewhere.
#pragma once

#include "record/result_row.hpp"
#include "train/device_limits.hpp"
#include "train/replica.hpp"

#include <atomic>
#include <optional>
#include <span>
#include <vector>

namespace convoy::train {

/// Warm-up, then milliseconds of each step, from one step's end to the next one's. Ends early where *stop is set.
/// Errors: numerics, where a loss is not finite; those of device and data.
std::vector<double> measure_steps(const experiment::Experiment& e, Replica& replica, const std::atomic<bool>& stop);

/// What is known of a configuration before anything was measured.
record::ResultRow empty_row(const experiment::Experiment& e, const std::string& mode, const std::string& device_name);

/// Rate, percentiles, minutes and cost from the steps of all repeats; nothing where there are none.
void add_rate(record::ResultRow& row, const experiment::Experiment& e, std::span<const double> step_ms);
void add_rate(record::ResultRow& row, const experiment::Experiment& e, const record::Distribution& step_ms);

/// Fractions of what the device could reach; after add_rate().
void add_limit(record::ResultRow& row, const Replica& replica, const experiment::Experiment& e, const DeviceLimits& limits);

}  // namespace convoy::train
