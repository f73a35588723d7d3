// Which plan won for which problem, remembered for the process and, in a file, for the next one. So a second start does
// not search, and the same experiment takes the same plans, and gives the same bits, again.
// Holds names of plans, no plans.
#pragma once

#include <map>
#include <mutex>
#include <string>

namespace convoy::cuda {

/// Threads: any.
class PlanMemory {
 public:
  /// The memory of this process. What is behind "device" tells sets of plans apart: the device, library versions.
  static PlanMemory& of_process();

  /// Reads the file once; a missing or broken one is an empty one. `folder` empty: keeps nothing on disk.
  void open(const std::string& folder, const std::string& device);
  /// The tag of the plan; "" where the problem is new.
  std::string find(const std::string& device, const std::string& problem) const;
  void add(const std::string& device, const std::string& problem, const std::string& tag);
  /// Writes the file where anything is new; a file that cannot be written is no error, for it only saves time.
  void save() noexcept;

 private:
  std::string path(const std::string& device) const;

  mutable std::mutex mutex_;
  std::string folder_;
  std::map<std::string, std::map<std::string, std::string>> by_device_;
  std::map<std::string, bool> changed_;
};

/// $XDG_CACHE_HOME/convoy, else ~/.cache/convoy, else "".
std::string default_cache_folder();

}  // namespace convoy::cuda
