#include "plan_memory.hpp"

#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace convoy::cuda {

namespace {

constexpr const char* kHeader = "convoy plans 2";  // another first line, another form: read as empty

}  // namespace

PlanMemory& PlanMemory::of_process() {
  static auto* memory = new PlanMemory();  // outlives everything that may still ask
  return *memory;
}

std::string PlanMemory::path(const std::string& device) const {
  std::string name;
  for (char c : device) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '-';
  return folder_ + "/plans-" + name + ".txt";
}

void PlanMemory::open(const std::string& folder, const std::string& device) {
  const std::lock_guard lock(mutex_);
  folder_ = folder;
  if (!by_device_.emplace(device, std::map<std::string, std::string>{}).second || folder.empty()) return;
  std::ifstream in(path(device));
  std::string line;
  if (!std::getline(in, line) || line != kHeader) return;
  while (std::getline(in, line))
    if (const auto at = line.find('\t'); at != std::string::npos) by_device_[device][line.substr(0, at)] = line.substr(at + 1);
}

std::string PlanMemory::find(const std::string& device, const std::string& problem) const {
  const std::lock_guard lock(mutex_);
  const auto plans = by_device_.find(device);
  if (plans == by_device_.end()) return "";
  const auto found = plans->second.find(problem);
  return found == plans->second.end() ? "" : found->second;
}

void PlanMemory::add(const std::string& device, const std::string& problem, const std::string& tag) {
  const std::lock_guard lock(mutex_);
  by_device_[device][problem] = tag;
  changed_[device] = true;
}

/// By way of a file of this process, so that a reader never sees half of it.
void PlanMemory::save() noexcept {
  const std::lock_guard lock(mutex_);
  if (folder_.empty()) return;
  try {
    std::filesystem::create_directories(folder_);
    for (auto& [device, changed] : changed_) {
      if (!changed) continue;
      const std::string to = path(device), part = to + "." + std::to_string(getpid());
      std::ofstream out(part, std::ios::trunc);
      out << kHeader << '\n';
      for (const auto& [problem, tag] : by_device_[device]) out << problem << '\t' << tag << '\n';
      out.close();
      if (out) std::filesystem::rename(part, to);
      changed = false;
    }
  } catch (const std::exception&) {
    folder_.clear();  // not to be tried again
  }
}

std::string default_cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && cache[0] == '/') return std::string(cache) + "/convoy";
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') return std::string(home) + "/.cache/convoy";
  return "";
}

}  // namespace convoy::cuda
