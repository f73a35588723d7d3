// See summary.hpp.
#include "record/summary.hpp"

#include <cmath>

#include "record/atomic_file.hpp"
#include "record/record_json.hpp"

namespace convoy::record {
namespace {

template <class T>
void add_present(nlohmann::ordered_json& object, const char* key, const std::optional<T>& value) {
  if (value) object[key] = *value;
}

/// Whole epochs as an integer: scripts compare them with what the experiment says.
void add_epochs(nlohmann::ordered_json& object, const std::optional<double>& epochs) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (epochs && std::abs(*epochs) <= kExact && std::trunc(*epochs) == *epochs)
    object["epochs"] = static_cast<std::int64_t>(*epochs);
  else
    add_present(object, "epochs", epochs);
}

}  // namespace

std::string to_json(const Summary& summary) {
  auto object = nlohmann::ordered_json::object();
  object["status"] = summary.status;
  object["exit_code"] = summary.exit_code;
  add_present(object, "steps", summary.steps);
  add_epochs(object, summary.epochs);
  add_present(object, "train_loss", summary.train_loss);
  add_present(object, "top1", summary.top1);
  add_present(object, "top5", summary.top5);
  add_present(object, "loss", summary.loss);
  add_present(object, "images_per_second", summary.images_per_second);
  add_present(object, "wall_s", summary.wall_s);
  add_present(object, "best_top1", summary.best_top1);
  add_fields(object, summary.more);
  return dump(object, 2) + "\n";
}

void write_summary(const std::filesystem::path& path, const Summary& summary) {
  write_atomic(path, to_json(summary));
}

}  // namespace convoy::record
