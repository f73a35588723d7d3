// The nearest known name to a misspelt one, for "did you mean" lines. Edit distance with transpositions.
// Not a fuzzy search: names too far off get no suggestion.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace convoy {

/// Damerau-Levenshtein distance, restricted to adjacent swaps (optimal string alignment).
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

/// The closest of `known` within a third of the word's length (one edit for up to four letters, two for up to seven), or ""
/// where none is that close.
inline std::string nearest_name(std::string_view word, const std::vector<std::string>& known) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, (word.size() + 1) / 3) + 1;  // one past what counts as a misspelling
  if (word.size() > 64) return best;                // nobody misspells that much; bounds the work
  for (const auto& name : known) {
    if (name.size() > 64) continue;
    const std::size_t distance = edit_distance(word, name);
    if (distance < best_distance) {
      best_distance = distance;
      best = name;
    }
  }
  return best;
}

/// "a, b, c" in the given order.
inline std::string join_names(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

}  // namespace convoy
