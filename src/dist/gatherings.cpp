#include "dist/gatherings.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kernbench::dist {

std::size_t Gatherings::member(int rank) const {
  const auto found = std::ranges::find(ranks_, rank);
  if (found == ranks_.end())
    throw InputError({"dist.no-member", fmt::format("rank {}", rank),
                      fmt::format("it is no member of {}", group_),
                      "only members call a group's collectives"});
  return static_cast<std::size_t>(found - ranks_.begin());
}

std::size_t Gatherings::join(int rank, JoinedCall call, const std::function<bool(int)>& has_ended,
                             const Excuse& excuse) {
  const std::size_t me = member(rank), number = joined_[me] - complete_;
  if (number == open_.size()) open_.emplace_back(ranks_.size());
  open_[number][me] = std::move(call);
  try {
    check(number, me, has_ended, excuse);
  } catch (...) {  // it has not joined then
    open_[number][me].reset();
    if (std::ranges::none_of(open_[number], &std::optional<JoinedCall>::has_value)) open_.pop_back();
    throw;
  }
  ++joined_[me];
  while (!open_.empty() && std::ranges::all_of(open_.front(), &std::optional<JoinedCall>::has_value)) {
    open_.pop_front();
    ++complete_;
  }
  return joined_[me] - 1;
}

void Gatherings::check(std::size_t number, std::size_t me, const std::function<bool(int)>& has_ended,
                       const Excuse& excuse) const {
  const Gathering& gathering = open_[number];
  for (const auto& other : gathering)
    if (other && other->terms != gathering[me]->terms)
      fail(number, "its members have called what does not fit together", excuse);
  for (std::size_t m = 0; m < ranks_.size(); ++m)
    if (!gathering[m] && has_ended(ranks_[m])) fail(number, "a member has ended and will not join", excuse);
}

bool Gatherings::is_awaited(int rank) const {
  const auto found = std::ranges::find(ranks_, rank);
  return found != ranks_.end() &&
         joined_[static_cast<std::size_t>(found - ranks_.begin())] < complete_ + open_.size();
}

void Gatherings::fail_open(const Excuse& excuse) const {
  fail(0, "not all members have joined, and nobody can go on", excuse);
}

void Gatherings::fail(std::size_t number, const char* what, const Excuse& excuse) const {
  std::string list;
  for (std::size_t m = 0; m < ranks_.size(); ++m) {
    const auto& joined = open_[number][m];
    list += fmt::format("\n    rank {} {}", ranks_[m], joined ? "called " + joined->text : excuse(ranks_[m]));
  }
  throw CollectiveMismatch({"dist.mismatch",
                            fmt::format("collective {} of {}", complete_ + number + 1, group_), what + list,
                            "all members call the same collectives in the same order"});
}

}  // namespace kernbench::dist
