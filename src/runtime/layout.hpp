// Where the elements of a tensor are: its policy worked out for a shape.
//
// A tensor is a matrix, cut into tiles (rectangles). A block is what one PE holds, a run of tiles; it may have copies
// on several PEs. Tiles and blocks follow each other in the tensor's storage, which is what its virtual addresses
// count.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernbench/placement.hpp"

namespace kernbench::runtime {

struct Rect {
  std::int64_t row = 0, col = 0, rows = 0, cols = 0;
  friend bool operator==(const Rect&, const Rect&) = default;
};

struct LayoutTile {
  Rect rect;            // of the matrix
  std::int64_t offset;  // in the storage, bytes
};

struct LayoutBlock {
  std::int64_t offset, bytes;  // in the storage
  std::uint32_t first_tile, tile_count;
};

/// A PE and the block it has a copy of.
struct Holder {
  int cube, pe;
  std::uint32_t block;
};

class Layout {
 public:
  /// InputError if it cannot be. `num_pes` and `num_cubes` are the machine's.
  Layout(const DPPolicy& policy, const Shape& shape, int itemsize, int num_pes, int num_cubes);

  const Shape& shape() const { return shape_; }
  int itemsize() const { return itemsize_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  std::int64_t bytes() const { return rows_ * cols_ * itemsize_; }

  const std::vector<LayoutTile>& tiles() const { return tiles_; }
  std::span<const LayoutTile> tiles(const LayoutBlock& block) const {
    return std::span(tiles_).subspan(block.first_tile, block.tile_count);
  }
  /// Where tiles are fewer than PEs, the last ones are empty and nobody holds them.
  const std::vector<LayoutBlock>& blocks() const { return blocks_; }
  /// Cube-major, then by PE.
  const std::vector<Holder>& holders() const { return holders_; }
  bool is_replicated() const { return cube_.is_copied() || pe_.is_copied(); }

  /// What lies whole on cube 0, PE 0 lies on this PE instead. InputError (`placement.one-pe`) if it does not.
  void move_to(int cube, int pe);

  /// A rectangle in the form of the tensor: of a vector without the row.
  Shape extents(const Rect& rect) const;
  Shape origin(const Rect& rect) const;

 private:
  using Rects = std::vector<Rect>;
  struct Level {  // how many share what the level above has, and in what way
    Split split;
    int count;
    bool is_split() const { return split != Split::replicate && count > 1; }
    bool is_copied() const { return split == Split::replicate && count > 1; }
  };

  void check_counts(const DPPolicy& policy, int num_pes, int num_cubes) const;
  void check_combination(const DPPolicy& policy) const;
  void check_divides(const DPPolicy& policy) const;
  void check_axis(bool columns, std::int64_t divisor, const std::string& cause) const;
  std::vector<Rects> deal(const Rects& whole, const Level& level) const;
  Rects tiles_of(const Rect& whole, Split order) const;
  void add_block(const Rects& rects);

  Shape shape_;
  int itemsize_;
  std::int64_t rows_ = 1, cols_ = 1;
  Level cube_, pe_;
  TileSize tile_;
  std::vector<LayoutTile> tiles_;
  std::vector<LayoutBlock> blocks_;
  std::vector<Holder> holders_;
};

/// As `resolve_dp_policy` gives them.
std::vector<ShardSpec> shard_specs(const Layout& layout, int sip);

}  // namespace kernbench::runtime
