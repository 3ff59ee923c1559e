#include <algorithm>

#include "kernbench/ccl_steps.hpp"

namespace kernbench::ccl {
namespace {

/// Pieces change owners from lane to lane, so that lanes of one piece load all SIPs alike.
Ring turned(Ring ring, const tl::Context& tl) {
  const auto pe = tl.environment().pe;
  ring.rank = (ring.rank + pe.cube + pe.pe) % ring.size;
  return ring;
}

void exchange_by_rings(tl::Context& tl, const Call& call, Pieces pieces, Tiles& tiles, At at) {
  const auto grid = call.machine.sip_grid;
  const auto [x, y] = MeshCoord::of(call.sip, grid.x);
  const Ring row{x, grid.x, call.slots, "global_E", "global_W"};
  const Ring column{y, grid.y, call.slots, "global_S", "global_N"};
  ring_all_reduce(tl, turned(row, tl), pieces, tiles, call.op, at);
  ring_all_reduce(tl, turned(column, tl), pieces, tiles, call.op, at);
}

void exchange_by_lines(tl::Context& tl, const Call& call, Pieces pieces, Tiles& tiles, At at) {
  const auto grid = call.machine.sip_grid;
  const auto [x, y] = MeshCoord::of(call.sip, grid.x);
  const Way way = {{x, grid.x, grid.x / 2, "global_W", "global_E"},
                   {y, grid.y, grid.y / 2, "global_N", "global_S"}};
  const bool keeps_too_many = !at_root(way) && pieces.size() >= static_cast<std::size_t>(call.slots);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const auto sum = reduce_to_root(tl, way, pieces[i], tiles[i], call.op, at);
    const auto all = broadcast_from_root(tl, way, pieces[i], sum, at);
    tiles[i] = keeps_too_many ? out_of_slot(tl, all, at) : all;
  }
}

}  // namespace

void exchange_between_sips(tl::Context& tl, const Call& call, Pieces pieces, Tiles& tiles, At at) {
  if (call.machine.sip_topology == topology::SipTopology::mesh_2d_no_wrap)
    exchange_by_lines(tl, call, pieces, tiles, at);
  else
    exchange_by_rings(tl, call, pieces, tiles, at);
}

std::int64_t exchanged_at_once(const tl::Context& tl, const Call& call, Pieces all) {
  const auto longest = std::max(call.machine.sip_grid.x, call.machine.sip_grid.y);
  return std::min(longest * kept_at_once(tl, call, all), tiles_at_once(tl, all));
}

}  // namespace kernbench::ccl
