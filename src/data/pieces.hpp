// Where the elements of a tile are in physical memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/run_facts.hpp"
#include "kernbench/program.hpp"

namespace kernbench::data {

class MemoryStore;

/// Consecutive bytes of a dense row-major tile that are consecutive in memory, too.
struct Piece {
  std::int64_t offset;  // in the tile
  std::int64_t bytes;
  address::PhysAddr at;
};
/// The pieces of one transfer, ascending in the tile; bytes of the tile that are not moved are in none.
using Pieces = std::vector<Piece>;

/// Finds the pieces of commands of one origin. Keeps its buffers, so make one and use it often.
class PieceFinder {
 public:
  explicit PieceFinder(RunFacts& facts) : facts_(facts) {}

  /// The pieces of a dma command.
  Pieces of_dma(std::uint32_t origin, const isa::Program& program, const isa::Command& dma) {
    Pieces found;
    find_dma(origin, program, dma, found);
    return found;
  }
  /// The same, in place of what `found` has had: for who keeps it from one command to the next.
  void find_dma(std::uint32_t origin, const isa::Program& program, const isa::Command& dma, Pieces& found);
  Pieces of_reference(std::uint32_t origin, const isa::Program& program, isa::ValueId reference);
  /// Those of bytes one after the other: a receive to an address, load_scalar.
  Pieces of_range(std::uint32_t origin, std::uint64_t address, Bytes size);

 private:
  void append(std::uint32_t origin, std::uint64_t address, std::int64_t bytes, std::int64_t offset,
              Pieces& out);

  RunFacts& facts_;
  std::vector<address::PhysPiece> translated_;
};

/// Those of what the host moves: one after the other.
Pieces pieces_of(const HostTransfer& transfer);

/// A dense tile from and to memory that was checked or reserved before. `tile` is all of it.
void copy_out(const MemoryStore& store, const Pieces& pieces, std::span<std::byte> tile);
void copy_in(MemoryStore& store, const Pieces& pieces, std::span<const std::byte> tile);

/// The pieces of the bytes [begin, begin + n) of the tile, with offsets counted from `offset` on.
void append_part(const Pieces& pieces, std::int64_t begin, std::int64_t n, std::int64_t offset, Pieces& out);

}  // namespace kernbench::data
