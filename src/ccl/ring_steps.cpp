#include <algorithm>

#include "kernbench/ccl_steps.hpp"

namespace kernbench::ccl {
namespace {

/// The pieces of one rank of a ring: p, p + size, p + 2 · size, …
class Segment {
 public:
  Segment(const Ring& ring, int owner, std::size_t pieces)
      : first_(static_cast<std::size_t>((owner % ring.size + ring.size) % ring.size)),
        step_(static_cast<std::size_t>(ring.size)),
        count_(pieces > first_ ? (pieces - first_ + step_ - 1) / step_ : 0) {}

  std::size_t count() const { return count_; }
  std::size_t piece(std::size_t k) const { return first_ + k * step_; }

 private:
  std::size_t first_, step_, count_;
};

/// A tile that came and goes on in the next round. With a single slot it must not stay there.
tl::Tile passed_on(tl::Context& tl, const Ring& ring, const tl::Tile& tile, At at) {
  return ring.slots == 1 ? out_of_slot(tl, tile, at) : tile;
}

/// All-gather of pieces that are few enough to stay in their slots until they go on.
void gather_few(tl::Context& tl, const Ring& ring, Pieces pieces, Tiles tiles, const Sink& take, At at) {
  for (int step = 0; step < ring.size - 1; ++step) {
    const Segment out(ring, ring.rank - step, pieces.size());
    const Segment in(ring, ring.rank - step - 1, pieces.size());
    const bool goes_on = step + 1 < ring.size - 1;
    for (std::size_t k = 0; k < std::max(out.count(), in.count()); ++k) {
      if (k < out.count()) tl.send(ring.next, tiles[out.piece(k)], at);
      if (k >= in.count()) continue;
      const auto p = in.piece(k);
      const auto came = recv(tl, ring.previous, pieces[p], at);
      tiles[p] = goes_on ? passed_on(tl, ring, came, at) : came;
      take(p, tiles[p]);
    }
  }
}

}  // namespace

Ring ring_of(const Call& call) { return {.rank = call.rank, .size = call.world_size, .slots = call.slots}; }

Tiles ring_reduce_scatter(tl::Context& tl, const Ring& ring, Pieces pieces, ReduceOp op, const Source& mine,
                          At at) {
  Tiles tiles(pieces.size());
  const Segment first(ring, ring.rank - 1, pieces.size());
  for (std::size_t k = 0; k < first.count(); ++k) tiles[first.piece(k)] = mine(first.piece(k));
  for (int step = 0; step < ring.size - 1; ++step) {
    const Segment out(ring, ring.rank - step - 1, pieces.size());
    const Segment in(ring, ring.rank - step - 2, pieces.size());
    for (std::size_t k = 0; k < std::max(out.count(), in.count()); ++k) {
      if (k < out.count()) tl.send(ring.next, tiles[out.piece(k)], at);
      if (k >= in.count()) continue;
      const auto p = in.piece(k);
      const auto own = mine(p);
      const auto sum_so_far = recv(tl, ring.previous, pieces[p], at);
      tiles[p] = combine(tl, op, sum_so_far, own, at);
    }
  }
  return tiles;
}

void ring_all_gather(tl::Context& tl, const Ring& ring, Pieces pieces, Tiles tiles, const Sink& take, At at) {
  std::size_t first = 0;
  for (const auto batch : batches(pieces, ring.size * kept_at_once(ring.slots))) {
    const auto begin = tiles.begin() + static_cast<std::ptrdiff_t>(first);
    const Tiles few(begin, begin + static_cast<std::ptrdiff_t>(batch.size()));
    const auto take_one = [&](std::size_t p, const tl::Tile& tile) { take(first + p, tile); };
    gather_few(tl, ring, batch, few, take_one, at);
    first += batch.size();
  }
}

void ring_all_reduce(tl::Context& tl, const Ring& ring, Pieces pieces, ReduceOp op, const Source& mine,
                     const Sink& take, At at) {
  const auto sums = ring_reduce_scatter(tl, ring, pieces, op, mine, at);
  const Segment own(ring, ring.rank, pieces.size());
  for (std::size_t k = 0; k < own.count(); ++k) take(own.piece(k), sums[own.piece(k)]);
  ring_all_gather(tl, ring, pieces, sums, take, at);
}

}  // namespace kernbench::ccl
