// The length of a union of time intervals. They may come in any order; nearly in order of their ends, each
// costs next to nothing.
#pragma once

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
    if (parts_.empty() || begin < parts_.back().begin) return add_before(begin, end);
    Part& last = parts_.back();
    if (begin > last.end) return add_behind(begin, end);
    if (end <= last.end) return;
    length_ += end - last.end;
    last.end = end;
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

  void add_behind(Time begin, Time end) {
    length_ += end - begin;
    parts_.push_back({begin, end});
    if (parts_.size() >= kPacked + kPacked / 4) pack();
  }
  void add_before(Time begin, Time end);
  using Place = std::vector<Part>::iterator;
  std::pair<Place, Place> find_touching(Time begin, Time end);
  void merge(Place first, Place last, Time begin, Time end);
  void pack();
  void unpack();
  static std::vector<Part> parts_of(const Pack& pack);

  std::vector<Pack> packed_;  // ascending, before
  std::vector<Part> parts_;   // these: ascending, apart from each other
  Time length_;
  Time settled_;  // of what is no longer there
};

}  // namespace kernbench::trace
