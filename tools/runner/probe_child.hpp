// Probing a plugin in a child process: its code cannot crash or hang the program that asks.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

namespace convoy::runner {

/// What became of one child.
struct ProbeOutcome {
  bool answered = false;
  std::string json;    // what it said, where it answered
  std::string failure; // "crashed: SIGSEGV in static initialisers", "no answer within 10 s, last seen in its probe"
};

constexpr std::chrono::seconds kProbeLimit{10};

/// What the child writes, a line each: where it is about to go, and in the end its answer. `kStageMark` opens the former.
inline constexpr const char* kStageMark = "stage ";

/// Runs `program plugins --probe-one FILE` without a core dump. Threads: main. Errors: plugin, where no child starts.
ProbeOutcome probe_in_child(const std::filesystem::path& program, const std::filesystem::path& file,
                            std::chrono::milliseconds limit = kProbeLimit);

}  // namespace convoy::runner
