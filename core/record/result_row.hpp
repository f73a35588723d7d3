// One row of results.csv: what was measured for one configuration, and whether that may be believed.
// The columns and their order are what people's scripts rely on: new ones go to the end, none is renamed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convoy::record {

/// The first line of results.csv.
inline constexpr std::string_view kResultHeader =
    "model,variant,mode,device,device_name,precision,batch_per_replica,replicas,comm,sync,sync_options,status,"
    "images_per_second,images_per_second_p10,images_per_second_p90,step_ms,step_ms_p99,compute_ms,"
    "comm_total_ms,comm_exposed_ms,comm_hidden_ms,convoy_wait_ms,bytes_sent_per_step,peak_device_bytes,"
    "fraction_of_limit,minutes_per_million,cost_per_million,joules_per_image,gate,residency,fraction_of_roofline,repeats,sweep";

enum class RowStatus { ok, out_of_memory, gate_failed, unsupported, error };

/// "ok", "out_of_memory", ...: as results.csv spells it.
std::string_view to_string(RowStatus status);

/// Absent and non-finite numbers are written as empty fields: not measured.
struct ResultRow {
  std::string model;         // "resnet"
  std::string variant;       // "depth=50 version=v1.5"
  std::string mode;          // "train", "inference", "evaluate"
  std::string device;        // the plugin
  std::string device_name;   // the hardware
  std::string precision;
  std::optional<std::int64_t> batch_per_replica;
  std::optional<std::int64_t> replicas;
  std::string comm;
  std::string sync;
  std::string sync_options;
  RowStatus status = RowStatus::error;
  std::optional<double> images_per_second;      // from the median step of all repeats, all replicas together
  std::optional<double> images_per_second_p10;
  std::optional<double> images_per_second_p90;
  std::optional<double> step_ms;                // median
  std::optional<double> step_ms_p99;
  std::optional<double> compute_ms;
  std::optional<double> comm_total_ms;
  std::optional<double> comm_exposed_ms;
  std::optional<double> comm_hidden_ms;
  std::optional<double> convoy_wait_ms;
  std::optional<std::int64_t> bytes_sent_per_step;
  std::optional<std::int64_t> peak_device_bytes;
  std::optional<double> fraction_of_limit;      // 0..1: multiply-adds a second over the device's own peak
  std::optional<double> minutes_per_million;    // images
  std::optional<double> cost_per_million;       // images
  std::optional<double> joules_per_image;
  std::string gate;                             // "passed" and what was found, or why there is no number
  std::string residency;                        // where the images of a benchmark lay: "device", "host", "real"
  std::optional<double> fraction_of_roofline;   // 0..1: of what layers could reach one by one, bytes counted too
  std::optional<std::int64_t> repeats;          // that the row is made of
  std::string sweep;                            // the axes' values: "model.depth=50 data.batch=4"
};

/// The row's fields in the order of kResultHeader, unquoted.
std::vector<std::string> to_fields(const ResultRow& row);

}  // namespace convoy::record
