#include "dist/said.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace kernbench::dist {
namespace {

void add_to(std::vector<Said::Alike>& groups, const std::string& text, const std::vector<int>& ranks) {
  auto known = std::ranges::find(groups, text, &Said::Alike::text);
  if (known == groups.end()) known = groups.insert(groups.end(), {text, {}});
  known->ranks.insert(known->ranks.end(), ranks.begin(), ranks.end());
}

/// Whatever stands between single quotes is a name.
std::string without_names(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = text.find('\'', at),
                      close = open == text.npos ? open : text.find('\'', open + 1);
    if (close == text.npos) return out + text.substr(at);
    out += text.substr(at, open - at) + "'…'";
    at = close + 1;
  }
  return out;
}

}  // namespace

std::string ranks_text(std::vector<int> ranks) {
  std::ranges::sort(ranks);
  return fmt::format("rank{} {}", ranks.size() > 1 ? "s" : "", numbers(ranks));
}

void Said::add(int rank, const std::string& text) { add_to(groups_, text, {rank}); }

std::vector<Said::Alike> Said::groups() const {
  if (groups_.size() <= kShown) return groups_;
  std::vector<Said::Alike> fewer;
  for (const Alike& group : groups_) add_to(fewer, without_names(group.text), group.ranks);
  return fewer;
}

}  // namespace kernbench::dist
