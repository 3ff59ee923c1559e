// Who talks to whom: the queues between PEs as a list of (PE, direction, peer).
//
// A direction is the name a PE gives to one of its queues: `E`, `global_W`, `parent` or any other word. What
// it sends there arrives at the peer, under the peer's own name for the way back. Which name that is follows
// from the list:
//
//   const auto ring = ring_1d(ranks);      // E: the next rank, W: the one before
//   for (const auto& link : paired(ring))  // sip0.cube0.pe0 E → sip0.cube0.pe1 W …
//
// Two PEs may be joined several times: of two ranks in a ring E and W both lead to the other, and E goes
// with W.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernbench/coords.hpp"

namespace kernbench::ccl {

/// At `pe`, `direction` leads to `peer`. One way only if it does not send, or does not receive: that way has no queue.
struct Link {
  PeCoord pe;
  std::string direction;
  PeCoord peer;
  bool sends = true, receives = true;
  friend bool operator==(const Link&, const Link&) = default;
};
using Links = std::vector<Link>;

/// What `pe` sends to `direction`, `peer` receives from `peer_direction`, and the other way round.
struct PairedLink {
  PeCoord pe;
  std::string direction;
  PeCoord peer;
  std::string peer_direction;
  bool sends = true, receives = true;  // of `pe`; the peer does the opposite
  friend bool operator==(const PairedLink&, const PairedLink&) = default;
};

/// `W` of `E`, `global_S` of `global_N`, … Empty for names that have none.
std::string opposite(std::string_view direction);

/// Finds the way back of every link, in the order given: the peer's opposite direction if that points back,
/// else any that does and is not taken; one that only sends goes with one that only receives. InputError (`ccl.…`) if a
/// PE has two directions of one name, leads to itself, is not led back to, or neither sends nor receives.
std::vector<PairedLink> paired(const Links& links);

// Neighbours of ranks that sit at these PEs; one rank alone has none. `prefix` comes before every direction.

/// E: the next rank, W: the one before, round.
Links ring_1d(std::span<const PeCoord> ranks, std::string_view prefix = "");
/// The same for what goes round one way: E only sends, W only receives.
Links ring_1d_unidir(std::span<const PeCoord> ranks);
/// As ring_1d, with ends: the first rank has no W, the last no E.
Links line_1d(std::span<const PeCoord> ranks, std::string_view prefix = "");
/// Ranks row by row in a `grid.x × grid.y` grid; E, W, S and N, rows and columns closed to rings.
Links torus_2d(std::span<const PeCoord> ranks, MeshCoord grid, std::string_view prefix = "");
/// The same, with ends.
Links mesh_2d_no_wrap(std::span<const PeCoord> ranks, MeshCoord grid, std::string_view prefix = "");
/// Rank r has `child_left` 2r+1 and `child_right` 2r+2; `parent` leads back.
Links tree_binary(std::span<const PeCoord> ranks);
/// Every rank with every other; the direction to rank 3 is `rank3`.
Links all_pairs(std::span<const PeCoord> ranks);

/// One of the above by its name: `ring_1d`, `ring_1d_unidir`, `line_1d`, `torus_2d` (also `mesh_2d`) and `mesh_2d_no_wrap` on the
/// nearest grid, `tree_binary`, `all_pairs`, `none`. InputError that lists these if it is none of them.
Links neighbours(std::string_view topology, std::span<const PeCoord> ranks);

/// The grid of `n` ranks that is nearest to a square, at least as wide as high: 8 is 4 × 2.
MeshCoord nearest_grid(int n);

}  // namespace kernbench::ccl
