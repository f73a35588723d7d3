// Capture emulation: work issued between begin and end becomes a graph of dependencies, replayed in a random order
// that they allow. So a missing event edge shows, as it would where branches run side by side.
#pragma once

#include "work.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace convoy::mock {

/// What a capture made. One replay at a time.
class Graph {
 public:
  struct Node {
    Work work;
    std::vector<uint32_t> after;  // nodes that come first
    std::vector<uint32_t> before;
  };

  explicit Graph(std::vector<Node> nodes);
  /// Allocates nothing.
  void run(Worker& worker, uint64_t stream, uint64_t position);

 private:
  std::mutex mutex_;
  std::vector<Node> nodes_;
  std::vector<uint32_t> missing_;  // by node: predecessors that have not run
  std::vector<uint32_t> ready_;
};

/// A capture in progress. Threads: one at a time, the one that issues the work.
class Capture {
 public:
  explicit Capture(uint64_t origin) : origin_(origin) {}

  bool active() const { return active_; }
  uint64_t origin() const { return origin_; }
  /// Every stream that takes part is a lane, by its handle.
  void add(uint64_t lane, Work work);
  void record(uint64_t lane, EventState& event);
  void wait(uint64_t lane, const EventState& event);
  /// Errors: invalid, where some work does not come before the end of the origin.
  std::shared_ptr<Graph> end();
  /// The streams that take part.
  std::vector<uint64_t> lanes() const;

 private:
  const uint64_t origin_;
  bool active_ = true;
  std::vector<Graph::Node> nodes_;
  std::map<uint64_t, std::vector<uint32_t>> frontier_;  // by lane: nodes that its next work comes after
};

}  // namespace convoy::mock
