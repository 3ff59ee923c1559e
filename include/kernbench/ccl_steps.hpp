// Steps that collectives are made of. All are ordinary functions that record commands; the source line they
// record is their caller's. Along a `Way` it is the line where each `Line` of it was written, so that "by source line"
// tells rows from columns.
//
// Tensors larger than a slot are worked on in pieces that fit one. Two rules keep queues of few slots from
// blocking each other for ever; the steps below follow them:
//   1. Sends and receives of a round take turns, tile by tile: never all sends first.
//   2. A received tile holds its slot until it has been read for the last time. So at most half of the slots of
//      a direction are filled with tiles that wait for a later round; whoever keeps more copies them
//      (`out_of_slot`). The other half is for what is under way meanwhile.
// Then every wait is for something earlier in one order that all ranks share, and waits in a circle cannot
// be.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "kernbench/ccl.hpp"

namespace kernbench::ccl {

using Tiles = std::vector<tl::Tile>;
using At = tl::At;

// ── tensors as pieces ──

/// Consecutive elements in memory.
struct Piece {
  tl::Ptr ptr;
  std::int64_t elements = 0;
  DType dtype = DType::f16;

  Piece part(std::int64_t first, std::int64_t count) const {
    return {ptr + first * itemsize(dtype), count, dtype};
  }
  friend bool operator==(const Piece&, const Piece&) = default;
};
using Pieces = std::span<const Piece>;

/// All that the running PE holds of a tensor.
Piece held(const tl::Context& tl, tl::Ptr tensor, At at = At::current());
/// The most elements of a tile: it fits into a slot of every queue and into a sixteenth of the scratch.
std::int64_t tile_elements(const tl::Context& tl, DType dtype);
/// Cut into pieces of that size, the last one maybe smaller.
std::vector<Piece> pieces(const tl::Context& tl, const Piece& whole);
/// Cut into `n` · k equal pieces that fit, the last ones maybe smaller or left out.
std::vector<Piece> even_pieces(const tl::Context& tl, const Piece& whole, int n);
/// Pieces of `one` as they lie in each of the `ranks` parts of `whole`, which are all as large as `one`: the k-th
/// in part r is number k · ranks + r. KernelError if the sizes are others.
std::vector<Piece> in_every_part(const tl::Context& tl, const Piece& whole, int ranks, const Piece& one,
                                 Pieces pieces, At at = At::current());
/// Up to `n` pieces at a time.
std::vector<Pieces> batches(Pieces all, std::int64_t n);
/// Tiles of one rank that a batch should have, to keep queues busy without filling the scratch; at least 1.
std::int64_t tiles_at_once(const tl::Context& tl, Pieces all);
/// The most tiles of one direction to be kept in their slots: half of the slots, at least 1.
std::int64_t kept_at_once(int slots);

tl::Tile load(tl::Context& tl, const Piece& piece, At at = At::current());
void store(tl::Context& tl, const Piece& piece, const tl::Tile& tile, At at = At::current());
/// A tile like the piece.
tl::Tile recv(tl::Context& tl, std::string_view direction, const Piece& piece, At at = At::current());
/// A tile that was received, in scratch: copied if the queues leave tiles in their slots.
tl::Tile out_of_slot(tl::Context& tl, const tl::Tile& tile, At at = At::current());

/// A KernelError at this line.
[[noreturn]] void fail_kernel(const tl::Context& tl, const char* id, std::string what, std::string hint,
                              At at);

// ── combining ──

/// `a` op `b`; AVG adds. KernelError for an operation that the dtype cannot hold the result of.
tl::Tile combine(tl::Context& tl, ReduceOp op, const tl::Tile& a, const tl::Tile& b, At at = At::current());
/// What is left to do when `members` contributions are combined: AVG divides.
tl::Tile finished(tl::Context& tl, ReduceOp op, const tl::Tile& tile, int members, At at = At::current());

// ── rings ──

/// Ranks in a circle: what is sent to `next` is received from `previous`.
struct Ring {
  int rank = 0;
  int size = 1;
  int slots = 1;
  std::string next = "E", previous = "W";
};
Ring ring_of(const Call& call);

using Source = std::function<tl::Tile(std::size_t piece)>;
using Sink = std::function<void(std::size_t piece, const tl::Tile& tile)>;

/// Everybody's tiles go round once: each rank passes on what comes and combines it with its own. size − 1
/// rounds. At most `kept_at_once` pieces. The order of combining differs from rank to rank.
void ring_accumulate(tl::Context& tl, const Ring& ring, Pieces pieces, Tiles& tiles, ReduceOp op,
                     At at = At::current());
/// Piece p is combined along the ring from rank p + 1 to rank p (mod size), which ends with the result.
/// `mine` gives this rank's contribution, when it is needed. Returns a tile for each piece, the result for
/// this rank's own.
Tiles ring_reduce_scatter(tl::Context& tl, const Ring& ring, Pieces pieces, ReduceOp op, const Source& mine,
                          At at = At::current());
/// Piece p goes from rank p (mod size), which has it in `tiles`, round to all others, which hand it to `take` as
/// it comes.
void ring_all_gather(tl::Context& tl, const Ring& ring, Pieces pieces, Tiles tiles, const Sink& take,
                     At at = At::current());
/// Both: every piece is combined over all ranks, with the same bits everywhere, and handed to `take`.
void ring_all_reduce(tl::Context& tl, const Ring& ring, Pieces pieces, ReduceOp op, const Source& mine,
                     const Sink& take, At at = At::current());

/// Ranks in a torus, row.size × column.size of them: reduce-scatter along the rings of one dimension, all-reduce of each
/// rank's share along those of the other, all-gather along the first. A quarter of the pieces begins in each of the four
/// directions, so that all links are at work all the time. A rank sends 2 (n − 1) / n of the bytes, n being the number of
/// ranks, which is the least possible. Otherwise as ring_all_reduce.
void torus_all_reduce(tl::Context& tl, const Ring& row, const Ring& column, Pieces pieces, ReduceOp op,
                      const Source& mine, const Sink& take, At at = At::current());
/// Cut into as many pieces for each rank of a torus, in each of the four directions; into fewer if they would have less than 128
/// elements, for which a message is not worth while. `torus_cuts` is their number, or a divisor of it.
std::int64_t torus_cuts(std::int64_t elements, MeshCoord grid);
std::vector<Piece> torus_pieces(const tl::Context& tl, const Piece& whole, MeshCoord grid);
/// How many of them at a time keep its links busy without filling the scratch.
std::int64_t torus_pieces_at_once(const tl::Context& tl, MeshCoord grid, Pieces all);

// ── lines ──

/// Ranks in a row. `low` leads toward position 0, `high` away from it.
struct Line {
  int position = 0;
  int length = 1;
  int root = 0;
  std::string low = "W", high = "E";
  At at = At::current();  // where it was written

  bool at_root() const { return position == root; }
};
/// A ring taken as a line with the root in its middle.
Line line_around(const Ring& ring, int root, At at = At::current());

/// From both ends toward the root, each rank adding its own. The root returns the combination.
tl::Tile reduce_to_root(tl::Context& tl, const Line& line, const Piece& piece, const tl::Tile& mine,
                        ReduceOp op, At at = At::current());
/// From the root to both ends; everybody returns the root's tile.
tl::Tile broadcast_from_root(tl::Context& tl, const Line& line, const Piece& piece, const tl::Tile& mine,
                             At at = At::current());

/// Lines one after the other: a rank that is the root of one takes part in the next.
using Way = std::vector<Line>;
bool at_root(const Way& way);
tl::Tile reduce_to_root(tl::Context& tl, const Way& way, const Piece& piece, const tl::Tile& mine,
                        ReduceOp op);
/// Back from the root of the last line through all of them.
tl::Tile broadcast_from_root(tl::Context& tl, const Way& way, const Piece& piece, const tl::Tile& mine);

// ── SIPs ──

/// Combines pieces over the SIPs by their `global_…` directions, as the machine joins them: a ring, rings of
/// rows and columns, or lines of rows and columns. The same bits everywhere. `mine` gives this SIP's
/// contribution, `take` gets each result once.
void exchange_between_sips(tl::Context& tl, const Call& call, Pieces pieces, const Source& mine,
                           const Sink& take, At at = At::current());
/// Pieces for that: of equal size and as many for each SIP, where SIPs share the work evenly.
std::vector<Piece> exchange_pieces(const tl::Context& tl, const Call& call, const Piece& whole);
/// How many pieces at a time keep that busy.
std::int64_t exchanged_at_once(const tl::Context& tl, const Call& call, Pieces all);
/// All-reduces `call.input`: along `way` to the root of each SIP, between the roots, and back.
void all_reduce_through_roots(tl::Context& tl, const Call& call, const Way& way, At at = At::current());

}  // namespace kernbench::ccl
