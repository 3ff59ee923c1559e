// Placement: how a tensor is spread over the cubes and PEs of one SIP.
//
//   DPPolicy{.cube = Split::column_wise, .pe = Split::column_wise}        columns over all PEs of the SIP
//   DPPolicy{.cube = Split::replicate, .pe = Split::row_wise, .num_cubes = 4}
//   DPPolicy{.pe = Split::tiled_row_major, .num_cubes = 1, .tile = TileSize{32, 32}}
//
// A tensor is seen as a matrix: of a shape of rank > 2 the leading dimensions together are its rows; a vector is one
// row, of which either axis is its only one. The cubes split it first, then the PEs of each cube split what their
// cube has. Which SIP it lies on is no matter of the policy: that is the device that is set when it is made.
//
// Storage: what PE s holds (cube-major, then PE; copies counted once) is row-major with its own width, and follows
// what PE s − 1 holds. Tiles are dealt round-robin; those of a PE follow each other in dealing order.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "kernbench/coords.hpp"
#include "kernbench/shape.hpp"
#include "kernbench/units.hpp"

namespace kernbench::runtime {

enum class Split {
  replicate,           // each has all of it
  column_wise,         // the last axis is cut
  row_wise,            // the first axis is cut
  tiled_column_major,  // tiles, counted down the columns of tiles, are dealt round-robin
  tiled_row_major,     // tiles, counted along the rows of tiles, are dealt round-robin
};
std::string_view to_string(Split split);
/// By its name above; anything else is an InputError that lists them.
Split parse_split(std::string_view name);

/// Rows and columns of a tile.
struct TileSize {
  std::int64_t h = 0, w = 0;
  friend bool operator==(TileSize, TileSize) = default;
};

struct DPPolicy {
  Split cube = Split::replicate;
  Split pe = Split::replicate;
  std::optional<int> num_cubes;  // cubes 0 … num_cubes−1; not given: all of the SIP
  std::optional<int> num_pes;    // PEs 0 … num_pes−1 of each; not given: all
  std::optional<TileSize> tile;  // of the tiled splits

  /// Whole, on cube 0, PE 0: where a tensor goes that has no policy.
  static DPPolicy whole() { return {.num_cubes = 1, .num_pes = 1}; }
  friend bool operator==(const DPPolicy&, const DPPolicy&) = default;
};

/// A piece of a tensor on a PE. Copies of a piece have the same offset.
struct ShardSpec {
  int sip = 0, cube = 0, pe = 0;
  Bytes offset_bytes;  // in the tensor's storage, from its virtual base
  Bytes nbytes;
  PeCoord at() const { return {sip, cube, pe}; }
  friend bool operator==(const ShardSpec&, const ShardSpec&) = default;
};

/// The pieces of a tensor, cube-major, then by PE, then in dealing order. `num_pe` and `num_cubes` are the machine's.
/// What does not divide evenly is an InputError (`placement.uneven`) that names the axis, the divisor and the nearest
/// shapes that work.
std::vector<ShardSpec> resolve_dp_policy(const DPPolicy& policy, const Shape& shape, int itemsize, int num_pe,
                                         int num_cubes, int target_sip);

}  // namespace kernbench::runtime

namespace kernbench {
using runtime::DPPolicy;
using runtime::resolve_dp_policy;
using runtime::ShardSpec;
using runtime::Split;
using runtime::TileSize;
}  // namespace kernbench
