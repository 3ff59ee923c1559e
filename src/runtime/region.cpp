#include "runtime/region.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "kernbench/error.hpp"

namespace kernbench::runtime {
namespace {

struct Range {
  std::int64_t begin, count;
};

Range range_of(const tl::Slice& slice, std::int64_t extent, int axis, const Shape& tensor) {
  const auto from_front = [&](std::int64_t i) { return i < 0 ? i + extent : i; };
  const std::int64_t begin = from_front(slice.begin);
  const std::int64_t end = slice.end == tl::Slice::kEnd ? extent : from_front(slice.end);
  const auto reject = [&](const std::string& what, const std::string& hint) {
    throw InputError(
        {"tensor.slice", "", fmt::format("axis {} of {}: {}", axis, to_string(tensor), what), hint});
  };
  if (slice.step != 1) reject(fmt::format("a step of {}", slice.step), "host slices have a step of 1");
  if (begin < 0 || end > extent || begin >= end)
    reject(slice.drops_axis ? fmt::format("no index {}", slice.begin)
                            : fmt::format("no elements {} to {}", begin, end),
           fmt::format("it has {} elements, the first is 0", extent));
  return {begin, end - begin};
}

/// The rows of the matrix that the leading axes choose, in order, neighbours joined.
std::vector<Region::Rows> rows_of(const std::vector<Range>& ranges, const Shape& tensor) {
  std::vector<Region::Rows> runs = {{0, 1}};
  for (std::size_t axis = 0; axis + 1 < ranges.size(); ++axis) {
    const std::int64_t extent = tensor[static_cast<int>(axis)];
    std::vector<Region::Rows> next;
    for (const auto& run : runs)
      for (std::int64_t row = run.row; row < run.row + run.rows; ++row) {
        const Region::Rows mine{row * extent + ranges[axis].begin, ranges[axis].count};
        if (!next.empty() && next.back().row + next.back().rows == mine.row)
          next.back().rows += mine.rows;
        else
          next.push_back(mine);
      }
    runs = std::move(next);
  }
  return runs;
}

}  // namespace

Region Region::whole(const Layout& layout) {
  return {layout.shape(), {{0, layout.rows()}}, 0, layout.cols()};
}

Region Region::of(const Shape& tensor, std::span<const tl::Slice> slices) {
  if (static_cast<int>(slices.size()) > tensor.rank())
    throw InputError({"tensor.slice", "", fmt::format("{} indices for {}", slices.size(), to_string(tensor)),
                      fmt::format("it has {} axes", tensor.rank())});
  std::vector<Range> ranges;
  std::vector<std::int64_t> extents;
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    const auto given = static_cast<std::size_t>(axis) < slices.size();
    const tl::Slice slice = given ? slices[static_cast<std::size_t>(axis)] : tl::all;
    ranges.push_back(range_of(slice, tensor[axis], axis, tensor));
    if (!slice.drops_axis) extents.push_back(ranges.back().count);
  }
  Region region{Shape(extents), rows_of(ranges, tensor), 0, 1};
  if (!ranges.empty()) region.col = ranges.back().begin, region.cols = ranges.back().count;
  return region;
}

Chunks chunks_of(const Layout& layout, const Region& region) {
  const std::int64_t item = layout.itemsize();
  Chunks chunks;
  chunks.array_row = region.cols * item;
  for (std::uint32_t b = 0; b < layout.blocks().size(); ++b)
    for (const LayoutTile& tile : layout.tiles(layout.blocks()[b])) {
      const std::int64_t left = std::max(tile.rect.col, region.col);
      const std::int64_t right = std::min(tile.rect.col + tile.rect.cols, region.col + region.cols);
      std::int64_t rows_before = 0;  // of the region
      for (const auto& run : region.runs) {
        const std::int64_t top = std::max(tile.rect.row, run.row);
        const std::int64_t bottom = std::min(tile.rect.row + tile.rect.rows, run.row + run.rows);
        if (left < right && top < bottom) {
          const std::int64_t at = (top - tile.rect.row) * tile.rect.cols + left - tile.rect.col;
          chunks.list.push_back(
              {b, tile.offset + at * item, (right - left) * item, bottom - top, tile.rect.cols * item,
               chunks.bytes, (rows_before + top - run.row) * chunks.array_row + (left - region.col) * item});
          chunks.bytes += chunks.list.back().bytes();
        }
        rows_before += run.rows;
      }
    }
  return chunks;
}

bool Chunks::is_array_order() const {
  return std::ranges::all_of(list, [&](const Chunk& c) {
    return c.in_array == c.in_buffer && (c.rows == 1 || c.row_bytes == array_row);
  });
}

namespace {

/// Calls fn(offset in the array, offset in the buffer, bytes) row by row; whole chunks where rows touch.
template <class Fn>
void for_rows(const Chunks& chunks, Fn&& fn) {
  for (const Chunk& c : chunks.list) {
    if (c.row_bytes == chunks.array_row) {
      fn(c.in_array, c.in_buffer, c.bytes());
      continue;
    }
    for (std::int64_t r = 0; r < c.rows; ++r)
      fn(c.in_array + r * chunks.array_row, c.in_buffer + r * c.row_bytes, c.row_bytes);
  }
}

}  // namespace

void scatter(const Chunks& chunks, std::span<const std::byte> array, std::span<std::byte> buffer) {
  for_rows(chunks, [&](std::int64_t from, std::int64_t to, std::int64_t n) {
    std::memcpy(buffer.data() + to, array.data() + from, static_cast<std::size_t>(n));
  });
}

void gather(const Chunks& chunks, std::span<const std::byte> buffer, std::span<std::byte> array) {
  for_rows(chunks, [&](std::int64_t to, std::int64_t from, std::int64_t n) {
    std::memcpy(array.data() + to, buffer.data() + from, static_cast<std::size_t>(n));
  });
}

std::vector<Chunk> joined(const Chunks& chunks) {
  std::vector<Chunk> out;
  for (Chunk c : chunks.list) {
    if (c.rows == 1 || c.row_bytes == c.stride)
      c = {c.block, c.offset, c.bytes(), 1, c.bytes(), c.in_buffer, c.in_array};
    const bool touches = !out.empty() && out.back().block == c.block && out.back().rows == 1 && c.rows == 1 &&
                         out.back().offset + out.back().row_bytes == c.offset;
    if (touches)
      out.back().row_bytes += c.row_bytes, out.back().stride = out.back().row_bytes;
    else
      out.push_back(c);
  }
  return out;
}

}  // namespace kernbench::runtime
