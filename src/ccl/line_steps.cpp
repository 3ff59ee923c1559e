#include <algorithm>
#include <ranges>

#include "kernbench/ccl_steps.hpp"

namespace kernbench::ccl {

Line line_around(const Ring& ring, int root, At at) {
  const int below = (ring.size - 1) / 2, above = ring.size - 1 - below;
  const int distance = ((ring.rank - root) % ring.size + ring.size) % ring.size;
  const int offset = distance <= above ? distance : distance - ring.size;
  return {.position = below + offset,
          .length = ring.size,
          .root = below,
          .low = ring.previous,
          .high = ring.next,
          .at = at};
}

tl::Tile reduce_to_root(tl::Context& tl, const Line& line, const Piece& piece, const tl::Tile& mine,
                        ReduceOp op, At at) {
  auto sum = mine;
  if (line.position <= line.root && line.position > 0)
    sum = combine(tl, op, sum, recv(tl, line.low, piece, at), at);
  if (line.position >= line.root && line.position < line.length - 1)
    sum = combine(tl, op, sum, recv(tl, line.high, piece, at), at);
  if (line.position < line.root) tl.send(line.high, sum, at);
  if (line.position > line.root) tl.send(line.low, sum, at);
  return sum;
}

tl::Tile broadcast_from_root(tl::Context& tl, const Line& line, const Piece& piece, const tl::Tile& mine,
                             At at) {
  auto tile = mine;
  if (line.position < line.root) tile = recv(tl, line.high, piece, at);
  if (line.position > line.root) tile = recv(tl, line.low, piece, at);
  if (line.position <= line.root && line.position > 0) tl.send(line.low, tile, at);
  if (line.position >= line.root && line.position < line.length - 1) tl.send(line.high, tile, at);
  return tile;
}

bool at_root(const Way& way) { return std::ranges::all_of(way, &Line::at_root); }

tl::Tile reduce_to_root(tl::Context& tl, const Way& way, const Piece& piece, const tl::Tile& mine,
                        ReduceOp op) {
  auto sum = mine;
  for (const auto& line : way) {
    sum = reduce_to_root(tl, line, piece, sum, op, line.at);
    if (!line.at_root()) break;
  }
  return sum;
}

tl::Tile broadcast_from_root(tl::Context& tl, const Way& way, const Piece& piece, const tl::Tile& mine) {
  const auto last = std::ranges::find_if_not(way, &Line::at_root);
  auto tile = mine;
  for (auto line = last == way.end() ? last : last + 1; line != way.begin();) {
    --line;
    tile = broadcast_from_root(tl, *line, piece, tile, line->at);
  }
  return tile;
}

}  // namespace kernbench::ccl
