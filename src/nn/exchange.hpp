// How the PEs of a SIP exchange tiles: with all others of their cube, and round a ring of cubes.
//
// Cubes in a ring are mostly neighbours: the ring goes along the rows of the mesh, every other one backwards.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "nn/operation.hpp"

namespace kernbench::nn {

/// The queues of an exchange among the PEs of a rectangle.
class Exchange {
 public:
  /// Tiles have at most `tile_bytes`. Queues are installed on first use.
  Exchange(const Call& call, const Placed::Rectangle& where, std::int64_t tile_bytes);

  int cubes() const { return where_.cubes; }
  int pes() const { return where_.pes; }
  /// To launch with: on the PEs of the rectangle.
  const runtime::LaunchSpec& spec() const { return spec_; }
  /// Tiles of a direction that may wait for a later round.
  static constexpr int kAhead = 4;

  /// The running PE's place: its cube's position in the ring, its position in the cube.
  struct Place {
    int cube, pe;
  };
  Place place(const tl::Context& tl) const;
  /// The PE at a place.
  PePlace at(Place place) const;
  PePlace at(int cube, int pe) const { return at(Place{cube, pe}); }
  /// The place of a PE, if it takes part.
  std::optional<Place> find(PePlace pe) const;

  // ── for kernels ──
  void to_mate(tl::Context& tl, int pe, const tl::Tile& tile) const;
  tl::Tile from_mate(tl::Context& tl, int pe, const Shape& shape, DType dtype) const;
  void to_next(tl::Context& tl, const tl::Tile& tile) const;
  tl::Tile from_previous(tl::Context& tl, const Shape& shape, DType dtype) const;

  /// Everybody gets everybody's tile: `mine` goes round the ring, and each tile that comes to the mates of the cube.
  /// `shape_at` is the shape of the tile of a PE (rank 0: it has none), `take` gets all of them, also one's own.
  void all_gather(tl::Context& tl, const tl::Tile& mine, DType dtype,
                  const std::function<Shape(Place)>& shape_at,
                  const std::function<void(Place, const tl::Tile&)>& take) const;

 private:
  Placed::Rectangle where_;
  std::vector<int> ring_;  // cubes in the order of the ring
  runtime::LaunchSpec spec_;
};

}  // namespace kernbench::nn
