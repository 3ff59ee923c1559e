// Where the elements of a tensor are: its policy worked out for a shape.
//
// A tensor is a matrix, cut into tiles (rectangles). A block is a run of tiles that lies on one PE; it may have copies
// on several. By most policies a PE holds one block; shards given by hand and interleaved pages are a block each. Tiles
// and blocks follow each other in the tensor's storage, which is what its virtual addresses count.
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
  /// Cube-major, then by PE, then by block.
  const std::vector<Holder>& holders() const { return holders_; }
  /// Those of one PE.
  std::span<const Holder> holders_at(PePlace pe) const;
  bool is_replicated() const { return replicated_; }
  /// Pages of a row-major tensor: no PE has a shard of it.
  bool is_interleaved() const { return interleaved_; }

  /// What lies whole on cube 0, PE 0 lies on this PE instead. InputError (`placement.one-pe`) if it does not.
  void move_to(int cube, int pe);

  /// A rectangle in the form of the tensor: of a vector without the row.
  Shape extents(const Rect& rect) const;
  Shape origin(const Rect& rect) const;

 private:
  using Rects = std::vector<Rect>;
  struct Level {  // how many share what the level above has, from which on, and in what way
    Split split;
    int first, count;
    bool is_split() const { return split != Split::replicate && count > 1; }
  };

  void check_counts(const DPPolicy& policy, int num_pes, int num_cubes) const;
  void check_own(const DPPolicy& policy) const;
  PePlace checked(PePlace at, std::int64_t tile) const;
  void check_combination(const DPPolicy& policy) const;
  void check_divides(const DPPolicy& policy) const;
  void check_axis(bool columns, std::int64_t divisor, const std::string& cause) const;
  void place_by_axes(const DPPolicy& policy);
  std::vector<Rects> deal(const Rects& whole, const Level& level) const;
  Rects tiles_of(const Rect& whole, Split order) const;

  // ── placements of one's own ──
  void place(const DealtTiles& dealt);
  void place(const HeadGroups& heads);
  void place(const InterleavedPages& pages);
  void place(const GivenShards& shards);
  void check_complete(const GivenShards& pieces) const;
  /// A block for each PE that has some, in the order of PEs.
  void add_hands(const std::vector<Rects>& hands);
  std::vector<PePlace> pes_of_policy() const;
  std::size_t index(PePlace at) const { return static_cast<std::size_t>(at.cube * machine_pes_ + at.pe); }
  /// Elements begin … end − 1 in row-major order: part of a row, whole rows, part of a row.
  Rects rects_of(std::int64_t begin, std::int64_t end) const;

  void add_block(const Rects& rects);
  void finish();

  Shape shape_;
  int itemsize_;
  int machine_pes_, machine_cubes_;
  std::int64_t rows_ = 1, cols_ = 1;
  Level cube_, pe_;
  TileSize tile_;
  bool replicated_ = false, interleaved_ = false;
  std::vector<LayoutTile> tiles_;
  std::vector<LayoutBlock> blocks_;
  std::vector<Holder> holders_;
};

/// As `resolve_dp_policy` gives them.
std::vector<ShardSpec> shard_specs(const Layout& layout, int sip);

}  // namespace kernbench::runtime
