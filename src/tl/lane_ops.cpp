// Transfers whose lanes may lie anywhere: pointer tiles, gathers, scatters.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <ranges>

#include "tl/lane_runs.hpp"
#include "tl/recorder.hpp"

namespace kernbench::tl {
namespace {

using Index = std::array<std::int64_t, Shape::kMaxRank>;

std::int64_t address_of(const Lanes& lanes, std::int64_t lane) {
  return static_cast<std::int64_t>(lanes.addresses[static_cast<std::size_t>(lane)]);
}

/// Calls `fn(bytes from the first to the second)` for each two lanes that are on and neighbours along
/// that axis, until it returns false.
template <class Fn>
void for_neighbours(const Lanes& lanes, const Shape& shape, int axis, Fn&& fn) {
  std::int64_t step = 1;
  for (int inner = axis + 1; inner < shape.rank(); ++inner) step *= shape[inner];
  const std::int64_t line = step * shape[axis];
  for (std::int64_t begin = 0; begin < shape.elements(); begin += line)
    for (std::int64_t lane = begin; lane + step < begin + line; ++lane)
      if (is_on(lanes, lane) && is_on(lanes, lane + step) &&
          !fn(address_of(lanes, lane + step) - address_of(lanes, lane)))
        return;
}

/// A strided pattern that agrees with all lanes that are on.
struct Affine {
  std::uint64_t address = 0;  // of lane 0
  isa::Strides strides{};     // in elements
  /// Axes of which no two neighbours are on, or that have one element: their stride is arbitrary.
  std::array<bool, Shape::kMaxRank> open{};
};

/// Looks for strides of lanes that are on, then checks every lane against them.
class AffineSearch {
 public:
  AffineSearch(const Lanes& lanes, const Shape& shape, int itemsize, bool writes)
      : lanes_(lanes), shape_(shape), steps_(isa::row_major(shape)), itemsize_(itemsize), writes_(writes) {}

  std::optional<Affine> find() {
    std::int64_t first = 0;
    while (first < shape_.elements() && !is_on(lanes_, first)) ++first;
    if (first == shape_.elements()) return std::nullopt;
    Affine found;
    std::int64_t base = address_of(lanes_, first), rest = first;
    for (int axis = shape_.rank() - 1; axis >= 0; --axis) {
      if (!find_stride(axis, found)) return std::nullopt;
      base -= rest % shape_[axis] * found.strides[at_axis(axis)] * itemsize_;
      rest /= shape_[axis];
    }
    found.address = static_cast<std::uint64_t>(base);
    return base > 0 && agrees(found) ? std::optional(found) : std::nullopt;
  }

 private:
  /// The distance of the first two neighbours along the axis; any will do if there are none. False if no strided
  /// transfer has such a distance.
  bool find_stride(int axis, Affine& found) const {
    std::optional<std::int64_t> bytes;
    for_neighbours(lanes_, shape_, axis, [&](std::int64_t distance) {
      bytes = distance;
      return false;
    });
    found.open[at_axis(axis)] = !bytes;
    found.strides[at_axis(axis)] = bytes ? *bytes / itemsize_ : steps_[at_axis(axis)];
    return !bytes || (*bytes % itemsize_ == 0 && (writes_ ? *bytes > 0 : *bytes >= 0));
  }

  bool agrees(const Affine& a) const {
    Index index{};
    auto expected = static_cast<std::int64_t>(a.address);
    for (std::int64_t lane = 0; lane < shape_.elements(); ++lane) {
      if (is_on(lanes_, lane) && address_of(lanes_, lane) != expected) return false;
      for (int axis = shape_.rank() - 1; axis >= 0; --axis) {
        const auto i = at_axis(axis);
        expected += a.strides[i] * itemsize_;
        if (++index[i] < shape_[axis]) break;
        expected -= a.strides[i] * itemsize_ * shape_[axis];
        index[i] = 0;
      }
    }
    return true;
  }

  const Lanes& lanes_;
  const Shape& shape_;
  const isa::Strides steps_;
  const std::int64_t itemsize_;
  const bool writes_;
};

AxisOrder given_order(const Shape& shape) {
  AxisOrder order(static_cast<std::size_t>(shape.rank()));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// How many elements follow each other in memory without a gap when the axes are walked in that order.
std::int64_t contiguous(const Affine& a, const Shape& shape, const AxisOrder& order) {
  std::int64_t elements = 1;
  for (const auto axis : std::views::reverse(order)) {
    const std::int64_t extent = shape[static_cast<int>(axis)];
    if (extent == 1) continue;
    if (a.open[static_cast<std::size_t>(axis)] || a.strides[static_cast<std::size_t>(axis)] != elements)
      break;
    elements *= extent;
  }
  return elements;
}

/// The order by stride, if longer runs lie in it than in the given one.
AxisOrder memory_order(const Affine& a, const Shape& shape) {
  const AxisOrder given = given_order(shape);
  AxisOrder order = given;
  const auto rank = [&](std::int64_t axis) {  // the axes that no run can follow come first
    const auto i = static_cast<std::size_t>(axis);
    return a.open[i] || a.strides[i] == 0 ? INT64_MAX : a.strides[i];
  };
  std::ranges::stable_sort(order, std::ranges::greater(), rank);
  return contiguous(a, shape, order) > contiguous(a, shape, given) ? order : given;
}

/// The order for lanes that no strided pattern describes: the axis along which most of them have their neighbour in memory comes last.
AxisOrder memory_order(const Lanes& lanes, const Shape& shape, int itemsize) {
  AxisOrder order = given_order(shape);
  std::int64_t most = -1;
  int innermost = 0;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    std::int64_t count = 0;
    for_neighbours(lanes, shape, axis, [&](std::int64_t distance) {
      count += distance == itemsize;
      return true;
    });
    if (count > most) most = count, innermost = axis;
  }
  if (!order.empty()) std::rotate(order.begin() + innermost, order.begin() + innermost + 1, order.end());
  return order;
}

/// Lanes of a tile whose axes are taken in another order.
struct TurnedLanes {
  std::vector<std::uint64_t> addresses;
  std::vector<std::uint8_t> on;

  TurnedLanes(const Lanes& lanes, const Shape& shape, const AxisOrder& order) {
    const auto steps = isa::row_major(shape);
    Index index{};
    std::int64_t lane = 0;
    addresses.reserve(lanes.addresses.size());
    on.reserve(lanes.on.size());
    for (std::int64_t n = 0; n < shape.elements(); ++n) {
      addresses.push_back(lanes.addresses[static_cast<std::size_t>(lane)]);
      if (!lanes.on.empty()) on.push_back(lanes.on[static_cast<std::size_t>(lane)]);
      for (const auto axis : std::views::reverse(order)) {
        const auto i = static_cast<std::size_t>(axis);
        lane += steps[i];
        if (++index[i] < shape[static_cast<int>(axis)]) break;
        lane -= steps[i] * shape[static_cast<int>(axis)];
        index[i] = 0;
      }
    }
  }
  operator Lanes() const { return {addresses, on}; }
};

Shape turned(const Shape& shape, const AxisOrder& order) {
  std::vector<std::int64_t> extents;
  for (const auto axis : order) extents.push_back(shape[static_cast<int>(axis)]);
  return Shape(extents);
}

AxisOrder inverse(const AxisOrder& order) {
  AxisOrder back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  return back;
}

std::vector<isa::LaneRange> runs_that_are_on(const Lanes& lanes, std::int64_t count) {
  std::vector<isa::LaneRange> runs;
  for (std::int64_t lane = 0; lane < count; ++lane) {
    if (!is_on(lanes, lane)) continue;
    if (!runs.empty() && runs.back().end == lane)
      ++runs.back().end;
    else
      runs.push_back({lane, lane + 1});
  }
  return runs;
}

/// The runs from the lowest address to the highest.
std::vector<std::size_t> by_address(const ScatteredRuns& runs) {
  std::vector<std::size_t> order(runs.addresses.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return runs.addresses[i]; });
  return order;
}

/// Whether two lanes that are on have a byte in common.
bool meet(const Lanes& lanes, std::int64_t count, int itemsize) {
  const ScatteredRuns runs(lanes, count, itemsize);
  std::uint64_t end = 0;
  for (const std::size_t i : by_address(runs)) {
    if (runs.addresses[i] < end) return true;
    end =
        runs.addresses[i] + static_cast<std::uint64_t>((runs.lanes[i].end - runs.lanes[i].begin) * itemsize);
  }
  return false;
}

}  // namespace

void Recorder::check_lanes(const Lanes& lanes, std::int64_t count, std::string_view op, At at) const {
  const auto n = static_cast<std::size_t>(count);
  if (lanes.addresses.size() == n && (lanes.on.empty() || lanes.on.size() == n)) return;
  fail(at, {"lanes",
            fmt::format("{} of {} lanes with {} addresses and {} flags", op, count, lanes.addresses.size(),
                        lanes.on.size()),
            "give one address for each lane, and one flag for each or none"});
}

AxisOrder Recorder::place_lanes(isa::Command& c, const Lanes& lanes, const Shape& shape, DType dtype,
                                bool writes) {
  const auto count = shape.elements();
  const int size = itemsize(dtype);
  const auto affine = AffineSearch(lanes, shape, size, writes).find();
  AxisOrder order = affine ? memory_order(*affine, shape) : memory_order(lanes, shape, size);
  std::optional<TurnedLanes> in_memory;
  if (order != given_order(shape)) in_memory.emplace(lanes, shape, order);
  // Where two lanes write one place, the later one is what stays, so the order of lanes matters.
  if (writes && in_memory && meet(*in_memory, count, size)) in_memory.reset();
  if (!in_memory) order = given_order(shape);
  const Lanes moved = in_memory ? Lanes(*in_memory) : lanes;
  if (affine) {
    isa::Strides strides{};
    for (std::size_t i = 0; i < order.size(); ++i)
      strides[i] = affine->strides[static_cast<std::size_t>(order[i])];
    c.place = builder_.address(affine->address);
    if (strides != isa::row_major(turned(shape, order))) c.strides = builder_.strides(strides);
    const auto runs = runs_that_are_on(moved, count);
    if (runs.size() != 1 || runs[0] != isa::LaneRange{0, count}) c.detail = builder_.mask(runs);
  } else {
    const ScatteredRuns runs(moved, count, size);
    c.place = builder_.address(runs.addresses.empty() ? 1 : runs.addresses.front());
    c.detail = runs.addresses.empty() ? builder_.mask({}) : builder_.scattered(runs.lanes, runs.addresses);
  }
  return in_memory ? order : AxisOrder();
}

Tile Context::load_at(const Lanes& lanes, const Dims& shape, DType dtype, double other, At at) {
  auto& r = *recorder_;
  const auto shape_id = r.shape_id(shape, "load_at", at);
  const Shape extents = r.tables().shape_of(shape_id);
  r.check_lanes(lanes, extents.elements(), "load_at", at);
  isa::Command c{.kind = isa::CommandKind::dma_read};
  const AxisOrder order = r.place_lanes(c, lanes, extents, dtype, false);
  const bool has_other = c.detail != isa::kNone && other != 0;
  const auto value = has_other ? r.scalar(other, dtype, "load_at", at) : isa::kNone;
  const auto in_memory = order.empty() ? shape_id : r.shape_id(turned(extents, order), "load_at", at);
  c.result = r.new_tile(dtype, in_memory, at);
  r.append(c, std::span(&value, has_other ? 1 : 0), at);
  const Tile tile = r.handle(c.result);
  return order.empty() ? tile : trans(tile, Dims(inverse(order)), at);
}

Op Context::store_at(const Lanes& lanes, const Tile& tile, At at) {
  auto& r = *recorder_;
  const auto id = r.tile(tile, "store_at", at);
  const Shape extents = r.shape(id);
  r.check_lanes(lanes, extents.elements(), "store_at", at);
  isa::Command c{.kind = isa::CommandKind::dma_write};
  const AxisOrder order = r.place_lanes(c, lanes, extents, r.value(id).dtype, true);
  return r.op(r.append(c, {order.empty() ? id : trans(tile, Dims(order), at).id()}, at));
}

Op Context::atomic_at(MathOp op, const Lanes& lanes, const Tile& tile, At at) {
  auto& r = *recorder_;
  const auto id = r.tile(tile, "atomic_at", at);
  r.check_atomic(op, id, at);
  const Shape extents = r.shape(id);
  r.check_lanes(lanes, extents.elements(), "atomic_at", at);
  isa::Command c{.kind = isa::CommandKind::atomic, .op = op};
  const AxisOrder order = r.place_lanes(c, lanes, extents, r.value(id).dtype, true);
  return r.op(r.append(c, {order.empty() ? id : trans(tile, Dims(order), at).id()}, at));
}

std::vector<std::byte> Context::peek(const Lanes& lanes, DType dtype, At at) {
  auto& r = *recorder_;
  const auto count = static_cast<std::int64_t>(lanes.addresses.size());
  r.check_lanes(lanes, count, "peek", at);
  const auto& source = r.environment().memory;
  if (!source)
    r.fail(at,
           {"memory", "peek without memory to read from", "give the context's environment a MemorySource"});
  const ScatteredRuns runs(lanes, count, itemsize(dtype));
  const auto size = static_cast<std::size_t>(itemsize(dtype));
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * size);
  const auto order = by_address(runs);
  const auto length = [&](std::size_t run) {
    return static_cast<std::size_t>(runs.lanes[run].end - runs.lanes[run].begin) * size;
  };
  std::vector<std::byte> read;
  for (std::size_t i = 0, end = 0; i < order.size(); i = end) {  // runs that touch are one read
    const std::uint64_t begin = runs.addresses[order[i]];
    std::uint64_t reach = begin;
    for (end = i; end < order.size() && runs.addresses[order[end]] <= reach; ++end)
      reach = std::max(reach, runs.addresses[order[end]] + length(order[end]));
    read.resize(static_cast<std::size_t>(reach - begin));
    r.placed(
        at, "memory", [&] { return fmt::format("lane {} at {:#x}", runs.lanes[order[i]].begin, begin); },
        [&] { return source(begin, std::span(read)); });
    for (std::size_t run = i; run < end; ++run)
      std::memcpy(bytes.data() + static_cast<std::size_t>(runs.lanes[order[run]].begin) * size,
                  read.data() + (runs.addresses[order[run]] - begin), length(order[run]));
  }
  return bytes;
}

}  // namespace kernbench::tl
