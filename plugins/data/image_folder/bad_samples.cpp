// Counting, and the sentence that ends a run.
#include "bad_samples.hpp"

#include <convoy/abi/skipped_samples.hpp>
#include <convoy/sdk/dataset.hpp>
#include <convoy/sdk/file.hpp>

namespace convoy::image_folder {
namespace {

/// Into the log, and into the run's skipped.ndjson where the host keeps one.
void report(Split split, uint64_t index, const std::string& file, const std::string& reason) {
  constexpr uint32_t kWarning = 1;
  sdk::host().log(kWarning, sdk::str("image_folder"), sdk::str("skipped " + file + ": " + reason));
  if (auto* skipped = static_cast<ISkippedSamples*>(sdk::host().query(ISkippedSamples::id)))
    skipped->add(split, index, sdk::str(file), sdk::str(reason));
}

}  // namespace

BadSamples::BadSamples(const Bounds& bounds, uint64_t train, uint64_t eval)
    : bounds_(bounds), train_(train), eval_(eval) {}

bool BadSamples::known(Split split, uint64_t index) const {
  const std::lock_guard lock(mutex_);
  const auto of_split = found_.find(split);
  return of_split != found_.end() && of_split->second.count(index) != 0;
}

void BadSamples::add(Split split, uint64_t index, const std::string& file, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (!found_[split].insert(index).second) return;
  check(split, index, file, reason);
  report(split, index, file, reason);
}

void BadSamples::check(Split split, uint64_t index, const std::string& file, const std::string& reason) const {
  const std::set<uint64_t>& bad = found_.at(split);
  const auto allowed = static_cast<uint64_t>(bounds_.share * static_cast<double>(total(split)));
  if (bad.size() > allowed)
    sdk::bad_file(file, reason + " (bad picture " + std::to_string(bad.size()) + " of the " + std::to_string(total(split)) +
                            " in " + sdk::name_of(split) + "; " + std::to_string(allowed) +
                            " are skipped: repair or remove the file, or raise max_bad)");
  uint64_t first = index, last = index;
  while (first > 0 && bad.count(first - 1) != 0) --first;
  while (bad.count(last + 1) != 0) ++last;
  if (last - first + 1 > bounds_.in_a_row)
    sdk::bad_file(file, reason + " (" + std::to_string(last - first + 1) + " bad pictures in a row; " +
                            std::to_string(bounds_.in_a_row) + " are skipped: is a folder missing? max_bad_in_a_row)");
}

}  // namespace convoy::image_folder
