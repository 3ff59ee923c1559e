#include "base/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

namespace kernbench {
namespace {

char folded(char c) {
  return c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

/// Fewest insertions, deletions, replacements and swaps of neighbours; case and `-`/`_` ignored.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    before_last = std::exchange(last, row);
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const bool same = folded(a[i]) == folded(b[j]);
      row[j + 1] = std::min({last[j] + (same ? 0 : 1), row[j] + 1, last[j + 1] + 1});
      const bool swapped =
          i > 0 && j > 0 && folded(a[i]) == folded(b[j - 1]) && folded(a[i - 1]) == folded(b[j]);
      if (swapped) row[j + 1] = std::min(row[j + 1], before_last[j - 1] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string> nearest(std::string_view name, std::span<const std::string> candidates) {
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    const bool contained = name.size() >= 3 && candidate.find(name) != std::string::npos;
    if (distance <= std::max<std::size_t>(1, std::max(name.size(), candidate.size()) / 3) || contained)
      near.emplace_back(distance, candidate);
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  constexpr std::size_t kMost = 3;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(kMost, near.size()); ++i) names.push_back(near[i].second);
  return names;
}

std::string suggest(std::string_view name, std::span<const std::string> candidates, std::string_view label) {
  const std::vector<std::string> near = nearest(name, candidates);
  if (near.empty()) return fmt::format("known {}: {}", label, join(candidates));
  return fmt::format("did you mean '{}'?", join(near, "' or '"));
}

std::string join(std::span<const std::string> items, std::string_view separator) {
  return fmt::format("{}", fmt::join(items, separator));
}

}  // namespace kernbench
