#include <algorithm>

#include "kernbench/ccl_steps.hpp"

namespace kernbench::ccl {
namespace {

bool is_torus(const Arrangement& machine) {
  return machine.sip_grid.y > 1 && machine.sip_topology != topology::SipTopology::mesh_2d_no_wrap;
}

/// Pieces change owners from lane to lane, so that lanes of one piece load all SIPs alike.
Ring turned(Ring ring, const tl::Context& tl) {
  const auto pe = tl.environment().pe;
  ring.rank = (ring.rank + pe.cube + pe.pe) % ring.size;
  return ring;
}

/// Keeps tiles for a later step: in their slots if they are few enough.
Sink keep_in(Tiles& tiles, tl::Context& tl, const Call& call, Pieces pieces, At at) {
  tiles.resize(pieces.size());
  const bool many = std::ssize(pieces) > kept_at_once(call.slots);
  return [&tiles, &tl, many, at](std::size_t p, const tl::Tile& tile) {
    tiles[p] = many ? out_of_slot(tl, tile, at) : tile;
  };
}

void exchange_by_rings(tl::Context& tl, const Call& call, Pieces pieces, const Source& mine, const Sink& take,
                       At at) {
  const auto grid = call.machine.sip_grid;
  const auto [x, y] = MeshCoord::of(call.sip, grid.x);
  const auto row = turned({x, grid.x, call.slots, "global_E", "global_W"}, tl);
  const auto column = turned({y, grid.y, call.slots, "global_S", "global_N"}, tl);
  if (grid.y == 1) return ring_all_reduce(tl, row, pieces, call.op, mine, take, at);
  torus_all_reduce(tl, row, column, pieces, call.op, mine, take, at);
}

/// Several pieces are reduced before the first one comes back. `take` may copy a result out of its slot: the copy waits for the result in the
/// queue of the vector unit, which works in order, and would hold up the sums of the pieces behind it for a round trip.
void exchange_by_lines(tl::Context& tl, const Call& call, Pieces pieces, const Source& mine, const Sink& take,
                       At at) {
  const auto grid = call.machine.sip_grid;
  const auto [x, y] = MeshCoord::of(call.sip, grid.x);
  const Way way = {{x, grid.x, grid.x / 2, "global_W", "global_E", at},
                   {y, grid.y, grid.y / 2, "global_N", "global_S", at}};
  const auto at_once = static_cast<std::size_t>(tiles_at_once(tl, pieces));
  for (std::size_t first = 0; first < pieces.size(); first += at_once) {
    const std::size_t end = std::min(first + at_once, pieces.size());
    Tiles sums;
    for (std::size_t p = first; p < end; ++p)
      sums.push_back(reduce_to_root(tl, way, pieces[p], mine(p), call.op));
    for (std::size_t p = first; p < end; ++p)
      take(p, broadcast_from_root(tl, way, pieces[p], sums[p - first]));
  }
}

}  // namespace

void exchange_between_sips(tl::Context& tl, const Call& call, Pieces pieces, const Source& mine,
                           const Sink& take, At at) {
  if (call.machine.sip_topology == topology::SipTopology::mesh_2d_no_wrap)
    exchange_by_lines(tl, call, pieces, mine, take, at);
  else
    exchange_by_rings(tl, call, pieces, mine, take, at);
}

std::vector<Piece> exchange_pieces(const tl::Context& tl, const Call& call, const Piece& whole) {
  return is_torus(call.machine) ? torus_pieces(tl, whole, call.machine.sip_grid) : pieces(tl, whole);
}

std::int64_t exchanged_at_once(const tl::Context& tl, const Call& call, Pieces all) {
  const auto grid = call.machine.sip_grid;
  if (is_torus(call.machine)) return torus_pieces_at_once(tl, grid, all);
  return tiles_at_once(tl, all) * (grid.y == 1 ? grid.x : 1);
}

void all_reduce_through_roots(tl::Context& tl, const Call& call, const Way& way, At at) {
  const auto all = pieces(tl, held(tl, call.input, at));
  for (const auto batch : batches(all, tiles_at_once(tl, all))) {
    Tiles sums, results;
    for (const auto& piece : batch)
      sums.push_back(reduce_to_root(tl, way, piece, load(tl, piece, at), call.op));
    if (at_root(way))
      exchange_between_sips(
          tl, call, batch, [&](std::size_t p) { return sums[p]; }, keep_in(results, tl, call, batch, at), at);
    for (std::size_t p = 0; p < batch.size(); ++p) {
      const auto result = at_root(way) ? finished(tl, call.op, results[p], call.world_size, at) : tl::Tile();
      store(tl, batch[p], broadcast_from_root(tl, way, batch[p], result), at);
    }
  }
}

}  // namespace kernbench::ccl
