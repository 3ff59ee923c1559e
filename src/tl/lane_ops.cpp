// Transfers whose lanes may lie anywhere: pointer tiles, gathers, scatters.
#include <fmt/format.h>

#include <optional>

#include "tl/recorder.hpp"

namespace kernbench::tl {
namespace {

using Index = std::array<std::int64_t, Shape::kMaxRank>;

/// A strided pattern that agrees with all lanes that are on.
struct Affine {
  std::uint64_t address = 0;  // of lane 0
  isa::Strides strides{};     // in elements
};

bool is_on(const Lanes& lanes, std::int64_t lane) {
  return lanes.on.empty() || lanes.on[static_cast<std::size_t>(lane)] != 0;
}

std::int64_t address_of(const Lanes& lanes, std::int64_t lane) {
  return static_cast<std::int64_t>(lanes.addresses[static_cast<std::size_t>(lane)]);
}

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
      const auto stride = stride_of(axis);
      if (!stride) return std::nullopt;
      found.strides[static_cast<std::size_t>(axis)] = *stride;
      base -= rest % shape_[axis] * *stride * itemsize_;
      rest /= shape_[axis];
    }
    found.address = static_cast<std::uint64_t>(base);
    return base > 0 && agrees(found) ? std::optional(found) : std::nullopt;
  }

 private:
  /// The distance of two neighbours along the axis that are both on; any will do if there are none.
  std::optional<std::int64_t> stride_of(int axis) const {
    const auto step = steps_[static_cast<std::size_t>(axis)];
    if (shape_[axis] == 1) return step;
    for (std::int64_t lane = 0; lane + step < shape_.elements(); ++lane) {
      if (lane / step % shape_[axis] == shape_[axis] - 1 || !is_on(lanes_, lane) ||
          !is_on(lanes_, lane + step))
        continue;
      const auto bytes = address_of(lanes_, lane + step) - address_of(lanes_, lane);
      const bool fits = bytes % itemsize_ == 0 && (writes_ ? bytes > 0 : bytes >= 0);
      return fits ? std::optional(bytes / itemsize_) : std::nullopt;
    }
    return step;
  }

  bool agrees(const Affine& a) const {
    Index index{};
    auto expected = static_cast<std::int64_t>(a.address);
    for (std::int64_t lane = 0; lane < shape_.elements(); ++lane) {
      if (is_on(lanes_, lane) && address_of(lanes_, lane) != expected) return false;
      for (int axis = shape_.rank() - 1; axis >= 0; --axis) {
        const auto i = static_cast<std::size_t>(axis);
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

/// Lanes that follow each other, on, and at neighbouring addresses.
struct ScatteredRuns {
  std::vector<isa::LaneRange> lanes;
  std::vector<std::uint64_t> addresses;

  ScatteredRuns(const Lanes& of, std::int64_t count, int itemsize) {
    std::uint64_t next = 0;
    for (std::int64_t lane = 0; lane < count; ++lane) {
      if (!is_on(of, lane)) continue;
      const auto address = of.addresses[static_cast<std::size_t>(lane)];
      if (!lanes.empty() && lanes.back().end == lane && address == next) {
        ++lanes.back().end;
      } else {
        lanes.push_back({lane, lane + 1});
        addresses.push_back(address);
      }
      next = address + static_cast<std::uint64_t>(itemsize);
    }
  }
};

}  // namespace

void Recorder::check_lanes(const Lanes& lanes, std::int64_t count, std::string_view op, At at) const {
  const auto n = static_cast<std::size_t>(count);
  if (lanes.addresses.size() == n && (lanes.on.empty() || lanes.on.size() == n)) return;
  fail(at, {"lanes",
            fmt::format("{} of {} lanes with {} addresses and {} flags", op, count, lanes.addresses.size(),
                        lanes.on.size()),
            "give one address for each lane, and one flag for each or none"});
}

void Recorder::place_lanes(isa::Command& c, const Lanes& lanes, const Shape& shape, DType dtype,
                           bool writes) {
  const auto count = shape.elements();
  if (const auto affine = AffineSearch(lanes, shape, itemsize(dtype), writes).find()) {
    c.place = builder_.address(affine->address);
    if (affine->strides != isa::row_major(shape)) c.strides = builder_.strides(affine->strides);
    const auto runs = runs_that_are_on(lanes, count);
    if (runs.size() != 1 || runs[0] != isa::LaneRange{0, count}) c.detail = builder_.mask(runs);
    return;
  }
  const ScatteredRuns runs(lanes, count, itemsize(dtype));
  c.place = builder_.address(runs.addresses.empty() ? 1 : runs.addresses.front());
  c.detail = runs.addresses.empty() ? builder_.mask({}) : builder_.scattered(runs.lanes, runs.addresses);
}

Tile Context::load_at(const Lanes& lanes, const Dims& shape, DType dtype, double other, At at) {
  auto& r = *recorder_;
  const auto shape_id = r.shape_id(shape, "load_at", at);
  const Shape extents = r.tables().shape_of(shape_id);
  r.check_lanes(lanes, extents.elements(), "load_at", at);
  isa::Command c{.kind = isa::CommandKind::dma_read};
  r.place_lanes(c, lanes, extents, dtype, false);
  const bool has_other = c.detail != isa::kNone && other != 0;
  const auto value = has_other ? r.scalar(other, dtype, "load_at", at) : isa::kNone;
  c.result = r.new_tile(dtype, shape_id, at);
  r.append(c, std::span(&value, has_other ? 1 : 0), at);
  return r.handle(c.result);
}

Op Context::store_at(const Lanes& lanes, const Tile& tile, At at) {
  auto& r = *recorder_;
  const auto id = r.tile(tile, "store_at", at);
  const Shape extents = r.shape(id);
  r.check_lanes(lanes, extents.elements(), "store_at", at);
  isa::Command c{.kind = isa::CommandKind::dma_write};
  r.place_lanes(c, lanes, extents, r.value(id).dtype, true);
  return r.op(r.append(c, {id}, at));
}

Op Context::atomic_at(MathOp op, const Lanes& lanes, const Tile& tile, At at) {
  auto& r = *recorder_;
  const auto id = r.tile(tile, "atomic_at", at);
  r.check_atomic(op, id, at);
  const Shape extents = r.shape(id);
  r.check_lanes(lanes, extents.elements(), "atomic_at", at);
  isa::Command c{.kind = isa::CommandKind::atomic, .op = op};
  r.place_lanes(c, lanes, extents, r.value(id).dtype, true);
  return r.op(r.append(c, {id}, at));
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
  for (std::size_t i = 0; i < runs.lanes.size(); ++i) {
    const auto& run = runs.lanes[i];
    const auto part = std::span(bytes).subspan(static_cast<std::size_t>(run.begin) * size,
                                               static_cast<std::size_t>(run.end - run.begin) * size);
    r.placed(
        at, "memory", [&] { return fmt::format("lane {} at {:#x}", run.begin, runs.addresses[i]); },
        [&] { return source(runs.addresses[i], part); });
  }
  return bytes;
}

}  // namespace kernbench::tl
