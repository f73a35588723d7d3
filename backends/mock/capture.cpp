#include "capture.hpp"

#include <algorithm>

namespace convoy::mock {

Graph::Graph(std::vector<Node> nodes) : nodes_(std::move(nodes)), missing_(nodes_.size()) {
  for (uint32_t i = 0; i < nodes_.size(); ++i)
    for (uint32_t earlier : nodes_[i].after) nodes_[earlier].before.push_back(i);
  ready_.reserve(nodes_.size());
}

void Graph::run(Worker& worker, uint64_t stream, uint64_t position) {
  const std::lock_guard lock(mutex_);
  ready_.clear();
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    missing_[i] = static_cast<uint32_t>(nodes_[i].after.size());
    if (missing_[i] == 0) ready_.push_back(i);
  }
  for (uint32_t turn = 0; !ready_.empty(); ++turn) {
    const std::size_t pick = worker.draw(stream, position, turn + 1) % ready_.size();
    const uint32_t node = ready_[pick];
    ready_[pick] = ready_.back();
    ready_.pop_back();
    worker.run(nodes_[node].work, stream, (position << 24) + turn);
    for (uint32_t later : nodes_[node].before)
      if (--missing_[later] == 0) ready_.push_back(later);
  }
}

void Capture::add(uint64_t lane, Work work) {
  auto& frontier = frontier_[lane];
  nodes_.push_back({std::move(work), frontier, {}});
  frontier = {static_cast<uint32_t>(nodes_.size() - 1)};
}

void Capture::record(uint64_t lane, EventState& event) { event.frontier = frontier_[lane]; }

void Capture::wait(uint64_t lane, const EventState& event) {
  auto& mine = frontier_[lane];
  mine.insert(mine.end(), event.frontier.begin(), event.frontier.end());
  std::sort(mine.begin(), mine.end());
  mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
}

std::shared_ptr<Graph> Capture::end() {
  active_ = false;
  std::vector<bool> joined(nodes_.size(), false);
  for (uint32_t node : frontier_[origin_]) joined[node] = true;
  for (std::size_t i = nodes_.size(); i-- > 0;)  // predecessors have lower numbers
    if (joined[i])
      for (uint32_t earlier : nodes_[i].after) joined[earlier] = true;
  if (std::find(joined.begin(), joined.end(), false) != joined.end())
    throw sdk::Error(Code::invalid, "a stream that was forked from the captured one was not joined again");
  return std::make_shared<Graph>(std::move(nodes_));
}

std::vector<uint64_t> Capture::lanes() const {
  std::vector<uint64_t> out{origin_};
  for (const auto& [lane, nodes] : frontier_)
    if (lane != origin_) out.push_back(lane);
  return out;
}

}  // namespace convoy::mock
