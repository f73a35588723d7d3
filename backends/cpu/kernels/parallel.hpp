// A loop over several OpenMP threads. The only user of OpenMP in this backend besides oneDNN, and so the only one
// that shares its threads.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace convoy::cpu {

constexpr int64_t kGrain = 16384;  // elements a thread should have at least: about what waking it costs

/// Calls f(begin, end) over [0, n), one contiguous piece a thread, pieces of at least `grain`. Which piece a thread
/// gets depends on n and the number of threads only. f must not throw.
template <class F>
void parallel(int64_t n, int64_t grain, const F& f) {
  const int64_t useful = std::max<int64_t>(1, n / std::max<int64_t>(1, grain));
  const auto threads = static_cast<int>(std::min<int64_t>(omp_get_max_threads(), useful));
  if (threads <= 1) return f(int64_t{0}, n);
#pragma omp parallel num_threads(threads)
  {
    const int64_t count = omp_get_num_threads(), me = omp_get_thread_num();
    // Pieces begin at multiples of a cache line of floats.
    const int64_t piece = ((n + count - 1) / count + 15) / 16 * 16;
    const int64_t begin = std::min(n, me * piece), end = std::min(n, begin + piece);
    if (begin < end) f(begin, end);
  }
}

/// As parallel(), for few and heavy items: calls f(i) for each of [0, n).
template <class F>
void parallel_each(int64_t n, const F& f) {
  const auto threads = static_cast<int>(std::min<int64_t>(omp_get_max_threads(), n));
  if (threads <= 1) {
    for (int64_t i = 0; i < n; ++i) f(i);
    return;
  }
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t i = 0; i < n; ++i) f(i);
}

}  // namespace convoy::cpu
