// Bytes by what carried them, summed up.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "kernbench/error.hpp"
#include "kernbench/units.hpp"

namespace kernbench::bench {

/// Like a map, in one piece of memory: there is one for each launch, and of a large machine there are many launches.
template <class Key>
class ByteTotals {
 public:
  using Entry = std::pair<Key, Bytes>;
  using Entries = std::vector<Entry>;

  void add(Key key, Bytes bytes) {
    entries_.emplace_back(key, bytes);
    if (entries_.size() < room_) return;
    put_in_order();
    room_ = std::max(kFewest, 2 * entries_.size());
  }

  /// All are there: gives back what it took too much.
  void trim() {
    put_in_order();
    entries_.shrink_to_fit();
  }

  /// In the order of their keys.
  typename Entries::const_iterator begin() const { return put_in_order().begin(); }
  typename Entries::const_iterator end() const { return put_in_order().end(); }
  std::size_t size() const { return put_in_order().size(); }
  bool contains(Key key) const { return find(key) != entries_.end(); }
  Bytes at(Key key) const {
    const auto found = find(key);
    KB_ASSERT(found != entries_.end(), "asked for what carries no bytes");
    return found->second;
  }

 private:
  static constexpr std::size_t kFewest = 32;

  typename Entries::const_iterator find(Key key) const {
    const auto at = std::ranges::lower_bound(put_in_order(), key, {}, &Entry::first);
    return at != entries_.end() && at->first == key ? at : entries_.cend();
  }
  const Entries& put_in_order() const {
    if (in_order_ == entries_.size()) return entries_;
    std::ranges::sort(entries_, {}, &Entry::first);
    std::size_t last = 0;
    for (std::size_t i = 1; i < entries_.size(); ++i) {
      if (entries_[i].first == entries_[last].first)
        entries_[last].second += entries_[i].second;
      else
        entries_[++last] = entries_[i];
    }
    entries_.resize(last + 1);
    in_order_ = entries_.size();
    return entries_;
  }

  mutable Entries entries_;  // in order, each key once, up to `in_order_`: looking puts them in order
  mutable std::size_t in_order_ = 0;  // all of them, or none
  std::size_t room_ = kFewest;        // when there are so many, they are put in order
};

}  // namespace kernbench::bench
