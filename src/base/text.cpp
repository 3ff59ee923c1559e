#include "base/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <numeric>

namespace kernbench {
namespace {

char folded(char c) {
  return c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

/// Levenshtein distance, case and `-`/`_` ignored.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replace = diagonal + (folded(a[i]) == folded(b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replace, row[j] + 1, row[j + 1] + 1});
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
