// When the packets of a message may leave.
#pragma once

#include <algorithm>
#include <cstdint>

#include "device/small_vector.hpp"
#include "kernbench/units.hpp"

namespace kernbench::device {

/// A time for each packet, ascending. Memories give data by the burst, so that several packets have the same time: what
/// is kept is one step for each time.
class ReadyTimes {
 public:
  struct Step {
    Time at;
    std::int64_t end;  // of the packets that are ready then; they begin where those of the step before end
  };

  bool empty() const { return steps_.empty(); }
  void clear() {
    steps_.clear();
    step_ = 0;
    more_ = false;
  }
  /// Packets without a time wait for one; else they may leave at once.
  void wait_for_more() { more_ = true; }
  bool waits_for_more() const { return more_; }
  /// The next packet's.
  void push_back(Time at) {
    if (!steps_.empty() && steps_.back().at == at)
      ++steps_.back().end;
    else
      steps_.push_back({at, packets() + 1});
  }

  /// Only the first so many are known.
  void shrink(std::int64_t packets) {
    std::size_t kept = steps_.size();
    while (kept > 0 && (kept > 1 ? steps_[kept - 2].end : 0) >= packets) --kept;
    steps_.shrink(kept);
    if (kept > 0) steps_.back().end = std::min(steps_.back().end, packets);
    step_ = 0;
  }

  std::int64_t packets() const { return steps_.empty() ? 0 : steps_.back().end; }
  Time front() const { return steps_.front().at; }
  Time back() const { return steps_.back().at; }
  Time operator[](std::int64_t packet) const {  // mostly asked for in order
    while (steps_[step_].end <= packet) ++step_;
    while (step_ > 0 && steps_[step_ - 1].end > packet) --step_;
    return steps_[step_].at;
  }
  const SmallVector<Step, 2>& steps() const { return steps_; }

 private:
  SmallVector<Step, 2> steps_;
  mutable std::uint32_t step_ = 0;  // of the packet asked for last
  bool more_ = false;               // will come
};

}  // namespace kernbench::device
