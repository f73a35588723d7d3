// Memory planner: places tensors with known lifetimes in one arena, best fit by size, largest first.
// Offline: everything is known before the first step. Not an allocator.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace convoy::sdk {

/// One piece of memory, alive from step `first` to step `last`, both included.
struct Lifetime {
  uint64_t bytes = 0;
  uint32_t first = 0;
  uint32_t last = 0;
};

struct ArenaPlan {
  std::vector<uint64_t> offsets;  // one per lifetime, multiples of the alignment
  uint64_t bytes = 0;             // of the whole arena
};

/// Greedy by size with best fit (Pisarchyk and Lee 2020, "Efficient memory management for deep neural net
/// inference", section 5). Pieces whose lifetimes overlap never share bytes. O(n^2).
inline ArenaPlan plan_arena(const std::vector<Lifetime>& pieces, uint64_t alignment = 64) {
  struct Placed {
    uint64_t offset, end;
    uint32_t first, last;
  };
  std::vector<uint32_t> order(pieces.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return pieces[a].bytes > pieces[b].bytes; });
  ArenaPlan plan;
  plan.offsets.assign(pieces.size(), 0);
  std::vector<Placed> placed;  // sorted by offset
  for (uint32_t i : order) {
    const Lifetime& p = pieces[i];
    const uint64_t need = (std::max<uint64_t>(p.bytes, 1) + alignment - 1) / alignment * alignment;
    uint64_t best = UINT64_MAX, best_gap = UINT64_MAX, reach = 0;
    for (const Placed& q : placed) {
      if (q.last < p.first || q.first > p.last) continue;
      if (q.offset > reach && q.offset - reach >= need && q.offset - reach < best_gap) {
        best = reach;
        best_gap = q.offset - reach;
      }
      reach = std::max(reach, q.end);
    }
    const uint64_t at = best == UINT64_MAX ? reach : best;
    plan.offsets[i] = at;
    plan.bytes = std::max(plan.bytes, at + need);
    const Placed mine{at, at + need, p.first, p.last};
    placed.insert(std::upper_bound(placed.begin(), placed.end(), mine,
                                   [](const Placed& a, const Placed& b) { return a.offset < b.offset; }),
                  mine);
  }
  return plan;
}

}  // namespace convoy::sdk
