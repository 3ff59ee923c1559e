// Which bytes of memory a command touches.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernbench/program.hpp"

namespace kernbench::isa {

/// Consecutive elements in memory that are consecutive lanes of a transfer.
struct Segment {
  std::uint64_t address;  // of the first byte
  std::int64_t lane;      // of the first element, in row-major order of the transfer's shape
  std::int64_t elements;
  friend bool operator==(const Segment&, const Segment&) = default;
};

/// Cuts runs of lanes over strided memory into contiguous pieces.
class SegmentWalk {
 public:
  SegmentWalk(std::uint64_t address, int itemsize, const Shape& shape, const Strides& strides);

  /// Blocks along one axis follow each other by its stride: only where that axis ends an address is worked out anew.
  template <class Fn>
  void lanes(LaneRange run, Fn&& fn) const {
    for (auto lane = run.begin; lane < run.end;) {
      auto address = address_of(lane);
      const auto inside = lane % block_;
      for (auto left = inside != 0 ? 1 : in_line_ - lane / block_ % in_line_; left > 0 && lane < run.end;
           --left) {
        const auto n = std::min(run.end - lane, block_ - inside);
        fn(Segment{address, lane, n});
        lane += n;
        address += step_;
      }
    }
  }
  std::int64_t elements() const { return shape_.elements(); }

 private:
  std::uint64_t address_of(std::int64_t lane) const;

  std::uint64_t address_;
  std::int64_t itemsize_;
  Shape shape_;
  Strides strides_;
  std::int64_t block_ = 1;    // lanes that are contiguous in memory, from the last axis inwards
  std::int64_t in_line_ = 1;  // blocks along the axis outside of them
  std::uint64_t step_ = 0;    // bytes from one of these to the next
};

/// Calls `fn(Segment)` for each contiguous piece of a dma command, in lane order.
template <class Fn>
void for_each_segment(const Program& program, const Command& dma, Fn&& fn) {
  if (const auto places = program.run_addresses(dma); !places.empty()) {
    const auto runs = program.active_runs(dma);
    for (std::size_t i = 0; i < runs.size(); ++i)
      fn(Segment{places[i], runs[i].begin, runs[i].end - runs[i].begin});
    return;
  }
  const auto moved = program.moved(dma);
  if (dma.strides == kNone && !program.masked(dma)) {  // in one piece, as most are
    if (const auto elements = program.shape(moved).elements(); elements > 0)
      fn(Segment{program.address(dma), 0, elements});
    return;
  }
  const SegmentWalk walk(program.address(dma), itemsize(program.value(moved).dtype), program.shape(moved),
                         program.strides(dma));
  if (!program.masked(dma)) return walk.lanes({0, walk.elements()}, fn);
  for (const auto run : program.active_runs(dma)) walk.lanes(run, fn);
}

/// Calls `fn(Segment)` for each contiguous piece of a reference.
template <class Fn>
void for_each_segment(const Program& program, ValueId reference, Fn&& fn) {
  const SegmentWalk walk(program.address(reference), itemsize(program.value(reference).dtype),
                         program.shape(reference), program.layout(reference).strides);
  walk.lanes({0, walk.elements()}, fn);
}

/// A range of bytes that holds everything a command reads or writes there.
struct Access {
  std::uint64_t begin, end;
  bool write;
  friend bool operator==(const Access&, const Access&) = default;
};

/// The ranges of memory a command touches: one for dma commands, load_scalar, sends of a reference and receives to an
/// address, one for each reference of a composite, none for the rest. A transfer whose lanes are all off touches none. At
/// most three; returns how many.
int accesses(const Program& program, const Command& command, std::array<Access, 3>& out);

}  // namespace kernbench::isa
