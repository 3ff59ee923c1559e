#include "dist/gatherings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "dist/said.hpp"

namespace kernbench::dist {
namespace {

constexpr const char* kEnded = "a member has ended and will not join";

}  // namespace

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
    if (!gathering[m] && has_ended(ranks_[m])) fail(number, kEnded, excuse);
}

bool Gatherings::is_awaited(int rank) const {
  const auto found = std::ranges::find(ranks_, rank);
  return found != ranks_.end() &&
         joined_[static_cast<std::size_t>(found - ranks_.begin())] < complete_ + open_.size();
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
    const std::string text = gathering[m] ? "called " + gathering[m]->text : excuse(ranks_[m]);
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
