// The length of a union of time intervals. They may come in any order; nearly in order of their ends, each
// costs next to nothing.
#pragma once

#include <algorithm>
#include <vector>

#include "kernbench/units.hpp"

namespace kernbench::trace {

class IntervalUnion {
 public:
  void add(Time begin, Time end) {
    if (begin >= end) return;
    auto first = parts_.end();  // of the parts that touch [begin, end], all of them side by side
    while (first != parts_.begin() && std::prev(first)->begin > end) --first;
    auto last = first;
    while (first != parts_.begin() && std::prev(first)->end >= begin) --first;
    length_ += end - begin;
    if (first == last) {
      parts_.insert(first, {begin, end});
      return;
    }
    for (auto part = first; part != last; ++part)
      length_ -= std::min(part->end, end) - std::max(part->begin, begin);
    first->end = std::max(std::prev(last)->end, end);
    first->begin = std::min(first->begin, begin);
    parts_.erase(first + 1, last);
  }
  void add(const IntervalUnion& other) {
    for (const Part& part : other.parts_) add(part.begin, part.end);
  }
  Time length() const { return length_; }

 private:
  struct Part {
    Time begin, end;
  };
  std::vector<Part> parts_;  // ascending, apart from each other
  Time length_;
};

}  // namespace kernbench::trace
