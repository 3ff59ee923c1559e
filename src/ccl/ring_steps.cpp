#include <algorithm>
#include <array>
#include <utility>

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

/// Reduce-scatter round a ring, move by move: in each round a rank sends and receives the tiles of one rank, one a move.
class ReduceScatter {
 public:
  ReduceScatter(const Ring& ring, Pieces pieces, ReduceOp op, Source mine)
      : ring_(ring), pieces_(pieces), op_(op), mine_(std::move(mine)), tiles_(pieces.size()) {
    const Segment first(ring_, ring_.rank - 1, pieces_.size());
    for (std::size_t k = 0; k < first.count(); ++k) tiles_[first.piece(k)] = mine_(first.piece(k));
  }

  int rounds() const { return ring_.size - 1; }
  std::size_t moves() const { return Segment(ring_, 0, pieces_.size()).count(); }
  void move(tl::Context& tl, int round, std::size_t k, At at) {
    const Segment out(ring_, ring_.rank - round - 1, pieces_.size());
    const Segment in(ring_, ring_.rank - round - 2, pieces_.size());
    if (k < out.count()) tl.send(ring_.next, tiles_[out.piece(k)], at);
    if (k >= in.count()) return;
    const auto p = in.piece(k);
    const auto own = mine_(p);
    const auto sum_so_far = recv(tl, ring_.previous, pieces_[p], at);
    tiles_[p] = combine(tl, op_, sum_so_far, own, at);
  }
  const Tiles& tiles() const { return tiles_; }

 private:
  Ring ring_;
  Pieces pieces_;
  ReduceOp op_;
  Source mine_;
  Tiles tiles_;
};

/// All-gather round a ring, likewise. As many pieces at a time as can stay in their slots until they go on.
class AllGather {
 public:
  AllGather(const Ring& ring, Pieces pieces, Tiles tiles, Sink take)
      : ring_(ring),
        batches_(batches(pieces, ring.size * kept_at_once(ring.slots))),
        tiles_(std::move(tiles)),
        take_(std::move(take)) {}

  int rounds() const { return static_cast<int>(batches_.size()) * (ring_.size - 1); }
  std::size_t moves() const {
    return batches_.empty() ? 0 : Segment(ring_, 0, batches_.front().size()).count();
  }
  void move(tl::Context& tl, int round, std::size_t k, At at) {
    const auto batch = static_cast<std::size_t>(round / (ring_.size - 1));
    const int step = round % (ring_.size - 1);
    const Pieces pieces = batches_[batch];
    const std::size_t first = batch * batches_.front().size();
    const Segment out(ring_, ring_.rank - step, pieces.size());
    const Segment in(ring_, ring_.rank - step - 1, pieces.size());
    if (k < out.count()) tl.send(ring_.next, tiles_[first + out.piece(k)], at);
    if (k >= in.count()) return;
    const auto p = in.piece(k);
    const auto came = recv(tl, ring_.previous, pieces[p], at);
    auto& tile = tiles_[first + p];
    tile = step + 1 < ring_.size - 1 ? passed_on(tl, ring_, came, at) : came;
    take_(first + p, tile);
  }

 private:
  Ring ring_;
  std::vector<Pieces> batches_;
  Tiles tiles_;
  Sink take_;
};

/// All of them side by side, move by move. Every rank takes the moves in the same order.
template <class Phase>
void in_turns(tl::Context& tl, std::vector<Phase>& phases, At at) {
  int rounds = 0;
  std::size_t moves = 0;
  for (const auto& phase : phases) {
    rounds = std::max(rounds, phase.rounds());
    moves = std::max(moves, phase.moves());
  }
  for (int round = 0; round < rounds; ++round)
    for (std::size_t k = 0; k < moves; ++k)
      for (auto& phase : phases)
        if (round < phase.rounds() && k < phase.moves()) phase.move(tl, round, k, at);
}

/// The same circle the other way round.
Ring reversed(const Ring& ring) {
  return {ring.size - 1 - ring.rank, ring.size, ring.slots, ring.previous, ring.next};
}

}  // namespace

Ring ring_of(const Call& call) { return {.rank = call.rank, .size = call.world_size, .slots = call.slots}; }

Tiles ring_reduce_scatter(tl::Context& tl, const Ring& ring, Pieces pieces, ReduceOp op, const Source& mine,
                          At at) {
  std::vector<ReduceScatter> one = {{ring, pieces, op, mine}};
  in_turns(tl, one, at);
  return one.front().tiles();
}

void ring_all_gather(tl::Context& tl, const Ring& ring, Pieces pieces, Tiles tiles, const Sink& take, At at) {
  std::vector<AllGather> one = {{ring, pieces, std::move(tiles), take}};
  in_turns(tl, one, at);
}

void ring_all_reduce(tl::Context& tl, const Ring& ring, Pieces pieces, ReduceOp op, const Source& mine,
                     const Sink& take, At at) {
  const auto sums = ring_reduce_scatter(tl, ring, pieces, op, mine, at);
  const Segment own(ring, ring.rank, pieces.size());
  for (std::size_t k = 0; k < own.count(); ++k) take(own.piece(k), sums[own.piece(k)]);
  ring_all_gather(tl, ring, pieces, sums, take, at);
}

namespace {

/// A quarter of the pieces of a torus: first along the rings `first`, then those of `second`, and back.
struct Quarter {
  Ring first, second;
  std::size_t begin;
  Pieces pieces;
  std::vector<std::size_t> own = {};  // pieces that this rank combines along the first ring
  std::vector<Piece> share = {};      // the same
  Tiles sums = {}, results = {};
};

std::vector<Quarter> quarters(const Ring& row, const Ring& column, Pieces pieces) {
  const Ring back = reversed(row), up = reversed(column);
  std::vector<Quarter> all = {
      {row, column, 0, {}}, {column, row, 0, {}}, {back, up, 0, {}}, {up, back, 0, {}}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto& q = all[i];
    q.begin = pieces.size() * i / all.size();
    q.pieces = pieces.subspan(q.begin, pieces.size() * (i + 1) / all.size() - q.begin);
    q.results.resize(q.pieces.size());
    const Segment own(q.first, q.first.rank, q.pieces.size());
    for (std::size_t k = 0; k < own.count(); ++k) {
      q.own.push_back(own.piece(k));
      q.share.push_back(q.pieces[own.piece(k)]);
    }
  }
  return all;
}

}  // namespace

void torus_all_reduce(tl::Context& tl, const Ring& row, const Ring& column, Pieces pieces, ReduceOp op,
                      const Source& mine, const Sink& take, At at) {
  auto all = quarters(row, column, pieces);
  std::vector<ReduceScatter> scatters;
  for (const auto& q : all)
    scatters.emplace_back(q.first, q.pieces, op, [&](std::size_t p) { return mine(q.begin + p); });
  in_turns(tl, scatters, at);

  std::vector<ReduceScatter> of_shares;
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].sums = scatters[i].tiles();
    of_shares.emplace_back(all[i].second, all[i].share, op,
                           [&q = all[i]](std::size_t k) { return q.sums[q.own[k]]; });
  }
  in_turns(tl, of_shares, at);

  // Results wait in scratch for the last phase: the tiles that come meanwhile need the slots.
  std::vector<AllGather> gathers_of_shares;
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto& q = all[i];
    const auto keep = [&q = all[i], &take](std::size_t k, const tl::Tile& tile) {
      q.results[q.own[k]] = tile;
      take(q.begin + q.own[k], tile);
    };
    const Segment combined(q.second, q.second.rank, q.share.size());
    for (std::size_t j = 0; j < combined.count(); ++j)
      keep(combined.piece(j), of_shares[i].tiles()[combined.piece(j)]);
    gathers_of_shares.emplace_back(
        q.second, q.share, of_shares[i].tiles(),
        [&tl, at, keep](std::size_t k, const tl::Tile& tile) { keep(k, out_of_slot(tl, tile, at)); });
  }
  in_turns(tl, gathers_of_shares, at);

  std::vector<AllGather> gathers;
  for (const auto& q : all)
    gathers.emplace_back(q.first, q.pieces, q.results,
                         [&](std::size_t p, const tl::Tile& tile) { take(q.begin + p, tile); });
  in_turns(tl, gathers, at);
}

}  // namespace kernbench::ccl
