// The ranks of a group.
#pragma once

#include <algorithm>
#include <compare>
#include <memory>
#include <vector>

namespace kernbench::dist {

/// Copies share the numbers, and are known to be equal at once: every rank of a large group has one in every call.
class RankList {
 public:
  RankList() : RankList(std::vector<int>{}) {}
  RankList(std::vector<int> ranks) : ranks_(std::make_shared<const std::vector<int>>(std::move(ranks))) {}
  RankList(std::initializer_list<int> ranks) : RankList(std::vector<int>(ranks)) {}

  operator const std::vector<int>&() const { return *ranks_; }
  auto begin() const { return ranks_->begin(); }
  auto end() const { return ranks_->end(); }
  std::size_t size() const { return ranks_->size(); }
  int operator[](std::size_t member) const { return (*ranks_)[member]; }

  friend bool operator==(const RankList& a, const RankList& b) {
    return a.ranks_ == b.ranks_ || *a.ranks_ == *b.ranks_;
  }
  friend std::strong_ordering operator<=>(const RankList& a, const RankList& b) {
    return a.ranks_ == b.ranks_ ? std::strong_ordering::equal : *a.ranks_ <=> *b.ranks_;
  }

 private:
  std::shared_ptr<const std::vector<int>> ranks_;
};

}  // namespace kernbench::dist
