// The length of a union of time intervals. They may come in any order; nearly in order of their ends, each
// costs next to nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "kernbench/units.hpp"

namespace kernbench::trace {

class IntervalUnion {
 public:
  void add(Time begin, Time end) {
    if (begin >= end) return;
    while (!packed_.empty() && packed_.back().end >= begin) unpack();
    auto first = parts_.end();  // of the parts that touch [begin, end], all of them side by side
    while (first != parts_.begin() && std::prev(first)->begin > end) --first;
    auto last = first;
    while (first != parts_.begin() && std::prev(first)->end >= begin) --first;
    length_ += end - begin;
    if (first == last) {
      parts_.insert(first, {begin, end});
      if (parts_.size() >= kPacked + kPacked / 4) pack();
      return;
    }
    for (auto part = first; part != last; ++part)
      length_ -= std::min(part->end, end) - std::max(part->begin, begin);
    first->end = std::max(std::prev(last)->end, end);
    first->begin = std::min(first->begin, begin);
    parts_.erase(first + 1, last);
  }
  void add(const IntervalUnion& other) {
    if (length() == Time()) {
      *this = other;
      return;
    }
    settled_ += other.settled_;
    for (const Pack& pack : other.packed_)
      for (const Part& part : parts_of(pack)) add(part.begin, part.end);
    for (const Part& part : other.parts_) add(part.begin, part.end);
  }
  /// All that is to come begins when all that is there has ended: of that, the length is enough.
  void settle() {
    settled_ += std::exchange(length_, Time());
    packed_ = std::vector<Pack>();
    parts_.clear();
  }
  Time length() const { return settled_ + length_; }
  /// What it takes beside itself. Copies share most of it.
  std::size_t memory_bytes() const;

 private:
  struct Part {
    Time begin, end;
  };
  /// So many parts side by side, which are hardly ever looked at again: the distance from each to the one before it and its
  /// length, seven bits to a byte. A run without a log has hundreds of millions of them.
  struct Pack {
    Time begin, end;
    std::shared_ptr<const std::uint8_t[]> bytes;
    std::uint32_t size = 0;  // of `bytes`
  };
  static constexpr std::size_t kPacked = 64;

  void pack();
  void unpack();
  static std::vector<Part> parts_of(const Pack& pack);

  std::vector<Pack> packed_;  // ascending, before
  std::vector<Part> parts_;   // these: ascending, apart from each other
  Time length_;
  Time settled_;  // of what is no longer there
};

}  // namespace kernbench::trace
