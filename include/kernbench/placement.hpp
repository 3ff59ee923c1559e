// Placement: how a tensor is spread over the cubes and PEs of one SIP.
//
//   DPPolicy{.cube = Split::column_wise, .pe = Split::column_wise}        columns over all PEs of the SIP
//   DPPolicy{.cube = Split::replicate, .pe = Split::row_wise, .num_cubes = 4}
//   DPPolicy{.pe = Split::tiled_row_major, .num_cubes = 1, .tile = TileSize{32, 32}}
//   DPPolicy{.cube = Split::row_wise, .pe = Split::row_wise}.on({4, 8}, {0, 4})   cubes 4 … 7, PEs 0 … 3 of each
//
// Placements of one's own:
//
//   DPPolicy::dealt({64, 128}, {{0, 0}, {0, 1}, {3, 0}})    tiles dealt to these PEs (cube, pe), again and again
//   DPPolicy::dealt({64, 128}, [](TileIndex t) { return PePlace{static_cast<int>(t.row) % 16, 0}; })
//   DPPolicy::dealt({64, 128}, zigzag)                      to the PEs forwards, backwards, forwards …
//   DPPolicy::by_head(8, 16)                                each of 8 heads on 16 PEs of its own
//   DPPolicy::interleaved()                                 pages of a row-major tensor over all PEs, as in a GPU
//   DPPolicy::given({{0, 0, 3, 0_B, 512_B}, {0, 1, 3, 512_B, 256_B}})   every shard by hand
//
// A tensor is seen as a matrix: the leading dimensions of a shape of rank > 2 together are its rows; a vector is one
// row, of which either axis is its only one. The cubes split it first, then the PEs of each cube split what their
// cube has. Which SIP it lies on is no matter of the policy: that is the device that is set when it is made.
//
// Storage: what PE s holds (cube-major, then PE; copies counted once) is row-major with its own width, and follows
// what PE s − 1 holds. Tiles are dealt round-robin; those of a PE follow each other in dealing order. Interleaved
// tensors alone are row-major as a whole.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "kernbench/coords.hpp"
#include "kernbench/shape.hpp"
#include "kernbench/units.hpp"

namespace kernbench::runtime {

enum class Split {
  replicate,           // each has all of it
  column_wise,         // the last axis is cut
  row_wise,            // the first axis is cut
  tiled_column_major,  // tiles are dealt round-robin, the column of tiles changing fastest: (0,0), (0,1), (0,2) …
  tiled_row_major,  // tiles are dealt round-robin, the row of tiles changing fastest: (0,0), (1,0), (2,0) …
};
std::string_view to_string(Split split);
/// By its name above; anything else is an InputError that lists them.
Split parse_split(std::string_view name);

/// Rows and columns of a tile.
struct TileSize {
  std::int64_t h = 0, w = 0;
  friend bool operator==(TileSize, TileSize) = default;
};

/// A PE of a SIP.
struct PePlace {
  int cube = 0, pe = 0;
  friend auto operator<=>(PePlace, PePlace) = default;
};

/// begin … end − 1.
struct IndexRange {
  int begin = 0, end = 0;
};

/// A piece of a tensor on a PE. Copies of a piece have the same offset.
struct ShardSpec {
  int sip = 0, cube = 0, pe = 0;
  Bytes offset_bytes;  // in the tensor's storage, from its virtual base
  Bytes nbytes;
  PeCoord at() const { return {sip, cube, pe}; }
  friend bool operator==(const ShardSpec&, const ShardSpec&) = default;
};

/// A tile of a tensor: its number, counted along a row of tiles first, and its row and column among the tiles.
struct TileIndex {
  std::int64_t number = 0, row = 0, col = 0;
};

/// Deals to the PEs of a policy in order, then back, then in order again: where later tiles are more work, as in causal
/// attention, everybody gets about the same.
struct Zigzag {
  friend bool operator==(Zigzag, Zigzag) = default;
};
inline constexpr Zigzag zigzag{};

/// Who gets which tile.
class DealOrder {
 public:
  using Function = std::function<PePlace(TileIndex)>;
  DealOrder(Zigzag order) : order_(order) {}  // NOLINT(google-explicit-constructor): dealt(tile, zigzag)
  /// Tile i goes to entry i of the list; a list that is through begins again.
  DealOrder(std::vector<PePlace> list)  // NOLINT(google-explicit-constructor)
      : order_(std::move(list)) {}
  DealOrder(std::initializer_list<PePlace> list) : order_(std::vector<PePlace>(list)) {}
  /// The function gives the same whenever it is called.
  template <class F>
  requires std::is_invocable_r_v<PePlace, F, TileIndex> DealOrder(
      F function)  // NOLINT(google-explicit-constructor)
      : order_(std::make_shared<const Function>(std::move(function))) {}

  using Any = std::variant<Zigzag, std::vector<PePlace>, std::shared_ptr<const Function>>;
  const Any& any() const { return order_; }
  /// Two functions are equal if they are copies of one.
  friend bool operator==(const DealOrder&, const DealOrder&) = default;

 private:
  Any order_;
};

/// The ways to place a tensor other than by axes; made by the functions of DPPolicy.
struct DealtTiles {
  TileSize tile;
  DealOrder order;
  friend bool operator==(const DealtTiles&, const DealtTiles&) = default;
};
struct HeadGroups {
  int heads = 1, pes = 1;
  friend bool operator==(HeadGroups, HeadGroups) = default;
};
struct InterleavedPages {
  Bytes page;
  friend bool operator==(InterleavedPages, InterleavedPages) = default;
};
using GivenShards = std::vector<ShardSpec>;
using OwnPlacement = std::variant<DealtTiles, HeadGroups, InterleavedPages, GivenShards>;

struct DPPolicy {
  Split cube = Split::replicate;
  Split pe = Split::replicate;
  std::optional<int> num_cubes;  // from first_cube on; not given: all the others of the SIP
  std::optional<int> num_pes;    // from first_pe on, of each cube; not given: all the others
  std::optional<TileSize> tile;  // of the tiled splits
  int first_cube = 0, first_pe = 0;
  std::optional<OwnPlacement> own;  // instead of the splits

  /// Whole, on cube 0, PE 0: where a tensor goes that has no policy.
  static DPPolicy whole() { return {.num_cubes = 1, .num_pes = 1}; }
  /// Whole on one PE.
  static DPPolicy whole_on(PePlace at) { return whole().on({at.cube, at.cube + 1}, {at.pe, at.pe + 1}); }

  /// The same policy over these cubes and these PEs of each. (A list, a function or given shards name PEs of their own:
  /// there it is an error when the tensor is made.)
  DPPolicy on(IndexRange cubes, IndexRange pes) const {
    DPPolicy there = *this;
    there.first_cube = cubes.begin, there.num_cubes = cubes.end - cubes.begin;
    there.first_pe = pes.begin, there.num_pes = pes.end - pes.begin;
    return there;
  }

  /// Tiles of this size, counted along a row of tiles first, dealt in this order. The last tiles of a row or column may
  /// be smaller; a PE that gets none holds nothing.
  static DPPolicy dealt(TileSize tile, DealOrder order) {
    return {.own = DealtTiles{tile, std::move(order)}};
  }
  /// For tensors (…, heads, S, d), or (heads · S, d): head h lies on PEs h · pes … (h + 1) · pes − 1 of the policy,
  /// counted cube by cube and again from the first if there are fewer. Those split its S rows: as many each, the last
  /// ones fewer.
  static DPPolicy by_head(int heads, int pes) { return {.own = HeadGroups{heads, pes}}; }
  /// The tensor's addresses are its row-major order; page i lies in the HBM slice of PE i of the policy, counted cube by
  /// cube and again from the first. `tl.shard`, operations of `nn` and collectives have no use for such tensors.
  static DPPolicy interleaved(Bytes page = Bytes(4096)) { return {.own = InterleavedPages{page}}; }
  /// Shards by hand: `offset_bytes` and `nbytes` count the tensor in row-major order. Together they are the whole tensor;
  /// what is given twice is a copy. The SIP in them is not looked at.
  static DPPolicy given(std::vector<ShardSpec> shards) { return {.own = std::move(shards)}; }

  friend bool operator==(const DPPolicy&, const DPPolicy&) = default;
};
/// `column_wise over cubes 0 … 15, replicate over PEs 0 … 7`, for messages.
std::string to_string(const DPPolicy& policy);

/// The pieces of a tensor, cube-major, then by PE, then in dealing order. `num_pe` and `num_cubes` are the machine's.
/// What does not divide evenly is an InputError (`placement.uneven`) that names the axis, the divisor and the nearest
/// shapes that work; shards that overlap, leave gaps or name PEs that do not exist are one too.
std::vector<ShardSpec> resolve_dp_policy(const DPPolicy& policy, const Shape& shape, int itemsize, int num_pe,
                                         int num_cubes, int target_sip);

}  // namespace kernbench::runtime

namespace kernbench {
using runtime::DealOrder;
using runtime::DPPolicy;
using runtime::IndexRange;
using runtime::PePlace;
using runtime::resolve_dp_policy;
using runtime::ShardSpec;
using runtime::Split;
using runtime::TileIndex;
using runtime::TileSize;
using runtime::zigzag;
}  // namespace kernbench
