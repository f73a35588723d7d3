// See result_row.hpp.
#include "record/result_row.hpp"

#include <fmt/format.h>

#include <cmath>

namespace convoy::record {
namespace {

std::string number(const std::optional<std::int64_t>& value) { return value ? std::to_string(*value) : ""; }

/// The shortest text that reads back as the same number.
std::string number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? fmt::format("{}", *value) : "";
}

}  // namespace

std::string_view to_string(RowStatus status) {
  switch (status) {
    case RowStatus::ok: return "ok";
    case RowStatus::out_of_memory: return "out_of_memory";
    case RowStatus::gate_failed: return "gate_failed";
    case RowStatus::unsupported: return "unsupported";
    case RowStatus::error: return "error";
  }
  return "error";
}

std::vector<std::string> to_fields(const ResultRow& row) {
  return {row.model,
          row.variant,
          row.mode,
          row.device,
          row.device_name,
          row.precision,
          number(row.batch_per_replica),
          number(row.replicas),
          row.comm,
          row.sync,
          row.sync_options,
          std::string(to_string(row.status)),
          number(row.images_per_second),
          number(row.images_per_second_p10),
          number(row.images_per_second_p90),
          number(row.step_ms),
          number(row.step_ms_p99),
          number(row.compute_ms),
          number(row.comm_total_ms),
          number(row.comm_exposed_ms),
          number(row.comm_hidden_ms),
          number(row.convoy_wait_ms),
          number(row.bytes_sent_per_step),
          number(row.peak_device_bytes),
          number(row.fraction_of_limit),
          number(row.minutes_per_million),
          number(row.cost_per_million),
          number(row.joules_per_image),
          row.gate,
          row.residency,
          number(row.fraction_of_roofline),
          number(row.repeats),
          row.sweep};
}

}  // namespace convoy::record
