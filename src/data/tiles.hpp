// The values of one running program: each from the command that makes it to the last that reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/numerics/array.hpp"
#include "kernbench/program.hpp"

namespace kernbench::data {

/// Shared, because a value that is sent lives on in the message and in the receiver's program. Never changed
/// once it is a value.
using Buffer = std::shared_ptr<std::byte[]>;
Buffer new_buffer(Bytes size);

/// A dense row-major array and what keeps it alive.
struct Dense {
  Buffer keep;
  ConstArray array;

  std::span<const std::byte> bytes() const {
    return {array.data, static_cast<std::size_t>(array.shape.elements() * itemsize(array.dtype))};
  }
};

/// Rows and columns of a matrix: [begin, end).
struct Region {
  std::int64_t row_begin, row_end, column_begin, column_end;
  std::int64_t rows() const { return row_end - row_begin; }
  std::int64_t columns() const { return column_end - column_begin; }
};
/// A region of a dense matrix, dense again.
Dense part_of(const Dense& matrix, const Region& region);
/// A region of what an array of at most two axes is when broadcast to a matrix.
Dense part_of_broadcast(const Dense& array, const Shape& matrix, const Region& region);

class LiveTiles {
 public:
  explicit LiveTiles(const isa::Program& program) : program_(&program), tiles_(program.values().size()) {}

  /// Whether some command will read it.
  bool wanted(isa::ValueId tile) const { return program_->value(tile).readers > 0; }
  /// The value of a tile; forgotten at once if nobody wants it.
  void put(isa::ValueId tile, Buffer content);
  /// A tile, view or scalar as a dense array; views that are not, are gathered.
  Dense operand(isa::ValueId id) const;
  /// The command has read its operands: values it was the last to read are freed.
  void retire(const isa::Command& command);

  /// The bytes of what the command reads or makes, whatever is largest.
  Bytes touched(const isa::Command& command) const;

  std::size_t count() const { return count_; }

 private:
  struct Tile {
    Buffer content;
    std::uint32_t readers_left = 0;  // 0: it is not there
  };
  const Buffer& content_of(isa::ValueId tile) const;

  const isa::Program* program_;
  std::vector<Tile> tiles_;  // by value
  std::size_t count_ = 0;
};

/// A number as `dtype` stores it.
Buffer scalar_content(DType dtype, double number);

}  // namespace kernbench::data
