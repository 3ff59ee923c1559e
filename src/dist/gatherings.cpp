#include "dist/gatherings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "dist/said.hpp"

namespace kernbench::dist {
namespace {

constexpr const char* kEnded = "a member has ended and will not join";

}  // namespace

Gatherings::Gatherings(std::string group, std::vector<int> ranks)
    : group_(std::move(group)), ranks_(std::move(ranks)), joined_(ranks_.size()) {
  for (std::size_t m = 0; m < ranks_.size(); ++m) members_.emplace(ranks_[m], m);
}

std::size_t Gatherings::member(int rank) const {
  const auto found = members_.find(rank);
  if (found == members_.end())
    throw InputError({"dist.no-member", fmt::format("rank {}", rank),
                      fmt::format("it is no member of {}", group_),
                      "only members call a group's collectives"});
  return found->second;
}

/// Who ends later finds that it is awaited: so those that have ended already are looked for once, by the first to join.
std::size_t Gatherings::join(int rank, JoinedCall call, const std::function<bool(int)>& has_ended,
                             const Excuse& excuse) {
  const std::size_t me = member(rank), number = joined_[me] - complete_;
  const bool first = number == open_.size();
  if (first) open_.push_back({std::vector<std::optional<JoinedCall>>(ranks_.size()), 0, call.terms});
  Gathering& gathering = open_[number];
  const bool fits = call.terms == gathering.terms;
  gathering.calls[me] = std::move(call);
  try {
    if (!fits) fail(number, "its members have called what does not fit together", excuse);
    if (first && is_without(gathering, has_ended)) fail(number, kEnded, excuse);
  } catch (...) {  // it has not joined then
    gathering.calls[me].reset();
    if (first) open_.pop_back();
    throw;
  }
  ++gathering.joined;
  ++joined_[me];
  while (!open_.empty() && open_.front().joined == ranks_.size()) {
    open_.pop_front();
    ++complete_;
  }
  return joined_[me] - 1;
}

/// Somebody has not joined and never will.
bool Gatherings::is_without(const Gathering& gathering, const std::function<bool(int)>& has_ended) const {
  for (std::size_t m = 0; m < ranks_.size(); ++m)
    if (!gathering.calls[m] && has_ended(ranks_[m])) return true;
  return false;
}

bool Gatherings::is_awaited(int rank) const {
  const auto found = members_.find(rank);
  return found != members_.end() && joined_[found->second] < complete_ + open_.size();
}

void Gatherings::fail_open(const std::string& what, const Excuse& excuse) const { fail(0, what, excuse); }

void Gatherings::fail_without(int rank, const Excuse& excuse) const {
  fail(joined_[member(rank)] - complete_, kEnded, excuse);
}

/// Lists few members one by one, and of many those alike together.
std::string Gatherings::list(const Gathering& gathering, const Excuse& excuse) const {
  Said said;
  std::string each;
  for (std::size_t m = 0; m < ranks_.size(); ++m) {
    const std::string text = gathering.calls[m] ? "called " + gathering.calls[m]->text : excuse(ranks_[m]);
    each += fmt::format("\n    rank {} {}", ranks_[m], text);
    said.add(ranks_[m], text);
  }
  if (ranks_.size() <= Said::kShown) return each;
  std::string together;
  for (const auto& [text, ranks] : said.groups())
    together += fmt::format("\n    {}{} {}", ranks.size() > 1 ? "each of " : "", ranks_text(ranks), text);
  return together;
}

void Gatherings::fail(std::size_t number, const std::string& what, const Excuse& excuse) const {
  throw CollectiveMismatch(
      {"dist.mismatch", fmt::format("collective {} of {}", complete_ + number + 1, group_),
       what + list(open_[number], excuse), "all members call the same collectives in the same order"});
}

}  // namespace kernbench::dist
