// A part of a tensor, and the bytes of its storage that hold it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernbench/tl_types.hpp"
#include "runtime/layout.hpp"

namespace kernbench::runtime {

/// Some rows of the tensor's matrix and of each the same columns.
struct Region {
  struct Rows {
    std::int64_t row, rows;
  };
  Shape shape;  // as whoever asks sees it: an indexed axis is gone
  std::vector<Rows> runs;
  std::int64_t col = 0, cols = 0;

  static Region whole(const Layout& layout);
  /// One slice for each of the leading axes; the others stay whole. InputError if it reaches beyond the tensor, is
  /// empty or has a step.
  static Region of(const Shape& tensor, std::span<const tl::Slice> slices);
};

/// Rows of one tile that belong to a region. The bytes of all chunks, one after the other, are a buffer of the
/// region's size in the order of the storage.
struct Chunk {
  std::uint32_t block;
  std::int64_t offset;                   // in the storage, of its first byte
  std::int64_t row_bytes, rows, stride;  // in the storage
  std::int64_t in_buffer;                // where its bytes begin in the buffer
  std::int64_t in_array;                 // where they begin in the region's array
  std::int64_t bytes() const { return rows * row_bytes; }
};

struct Chunks {
  std::vector<Chunk> list;      // by block, in the order of the storage
  std::int64_t array_row = 0;   // bytes of a row of the region's array
  std::int64_t bytes = 0;       // of the whole region
  bool is_array_order() const;  // the buffer is the array
};
Chunks chunks_of(const Layout& layout, const Region& region);

/// Between a region's array, row-major, and the buffer in the order of the storage.
void scatter(const Chunks& chunks, std::span<const std::byte> array, std::span<std::byte> buffer);
void gather(const Chunks& chunks, std::span<const std::byte> buffer, std::span<std::byte> array);

/// The same bytes with neighbours joined: as few transfers as there are. Where rows touch, they are one row.
std::vector<Chunk> joined(const Chunks& chunks);

}  // namespace kernbench::runtime
