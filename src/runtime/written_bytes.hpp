// Which bytes the programs of a launch may write: what the host asks, of each tensor it looks at, about each launch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernbench/program.hpp"

namespace kernbench::runtime {

/// A set of virtual addresses, as ranges in order that do not touch.
class WrittenBytes {
 public:
  struct Range {
    std::uint64_t begin, end;
  };

  WrittenBytes() = default;
  explicit WrittenBytes(std::span<const std::shared_ptr<const isa::Program>> programs);

  const std::vector<Range>& ranges() const { return ranges_; }
  /// Calls `fn(range)` for each range that has bytes of begin … end − 1, in order.
  template <class Fn>
  void for_each_in(std::uint64_t begin, std::uint64_t end, Fn&& fn) const {
    auto at = std::ranges::upper_bound(ranges_, begin, {}, &Range::end);
    for (; at != ranges_.end() && at->begin < end; ++at) fn(*at);
  }
  bool touch(std::uint64_t begin, std::uint64_t end) const {
    const auto at = std::ranges::upper_bound(ranges_, begin, {}, &Range::end);
    return at != ranges_.end() && at->begin < end;
  }

 private:
  void add(const isa::Program& program);
  void add(std::uint64_t begin, std::int64_t bytes);
  void put_in_order();

  std::vector<Range> ranges_;
  std::size_t room_ = 64;  // when there are so many, they are put in order
};

}  // namespace kernbench::runtime
