// A composite command at work: whole, or tile step by tile step.
//
// Both give the same bits. Every output takes one fused multiply-add per k, ascending, whether k is cut into
// tiles or not; with epilogue steps on each k step's product, the product of a k tile starts from 0, goes
// through the steps and is added to the accumulator, which starts from 0 as well.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "data/pieces.hpp"
#include "data/tiles.hpp"

namespace kernbench::data {

/// The tile of the GEMM unit: C tiles are m × n, each step takes k.
struct TileShape {
  std::int64_t m = 32, n = 32, k = 64;
};

/// The tile plan of c[M, N] = a[M, K] · b[K, N]: for each m, for each n, for each k.
class TilePlan {
 public:
  TilePlan(std::int64_t m, std::int64_t n, std::int64_t k, TileShape tile);

  std::int64_t outputs() const { return m_tiles_ * n_tiles_; }
  std::int64_t k_steps() const { return k_tiles_; }
  std::int64_t steps() const { return outputs() * k_tiles_; }
  Region output(std::int64_t index) const;  // of c
  Region a_part(std::int64_t step) const;
  Region b_part(std::int64_t step) const;
  std::int64_t k_begin(std::int64_t k_step) const { return k_step * tile_.k; }
  std::int64_t k_end(std::int64_t k_step) const;

 private:
  std::int64_t m_, n_, k_;
  TileShape tile_;
  std::int64_t m_tiles_, n_tiles_, k_tiles_;
};

class Composite {
 public:
  /// The pieces of an operand that is a tile are empty.
  Composite(const isa::Program& program, const isa::Command& command, TileShape tile, Pieces a, Pieces b,
            Pieces out);

  const TilePlan& plan() const { return plan_; }
  const Pieces& a_pieces() const { return a_pieces_; }
  const Pieces& b_pieces() const { return b_pieces_; }
  const Pieces& out_pieces() const { return out_pieces_; }
  /// Whether the result is a tile of the program; then there are no writes.
  bool makes_tile() const { return program_.value(spec_.out).kind != isa::ValueKind::reference; }
  /// Operands that are read from memory.
  std::int64_t references() const { return (a_referenced_ ? 1 : 0) + (b_referenced_ ? 1 : 0); }
  /// The pieces of the n-th read of a tile from memory, and of the n-th write of an output tile.
  Pieces read_pieces(std::int64_t n) const;
  Pieces write_pieces(std::int64_t n) const;

  /// All of it at once.
  void run(MemoryStore& store, LiveTiles& tiles, int threads);
  /// The next `reads` reads, `products` tile steps and `writes` writes.
  void advance(MemoryStore& store, LiveTiles& tiles, std::int64_t reads, std::int64_t products,
               std::int64_t writes);

 private:
  struct Operands {  // those that are tiles, gathered once
    std::optional<Dense> a, b;
    std::vector<std::optional<Dense>> steps;
  };

  bool reads_a(std::int64_t read) const { return a_referenced_ && (references() == 1 || read % 2 == 0); }
  Dense read_whole(const MemoryStore& store, isa::ValueId id, const Pieces& pieces) const;
  void take_operands(const LiveTiles& tiles);
  void read_next(const MemoryStore& store);
  void multiply_next();
  void write_next(MemoryStore& store);
  void keep_output(const Dense& output, const Region& region);
  Dense next_tile(std::deque<Dense>& read, const std::optional<Dense>& resident, const Region& part);
  /// Adds a · b, through the steps on a k step's product, to `sums`.
  Dense accumulated(std::optional<Dense> sums, const Dense& a, const Dense& b, const Region& region,
                    int threads) const;
  Dense whole_product(const Dense& a, const Dense& b, int threads) const;
  Dense through_steps(Dense x, isa::EpiloguePoint point, const Region& region) const;
  bool has_k_steps() const;

  const isa::Program& program_;
  const isa::Command& command_;
  const isa::CompositeSpec& spec_;
  Shape shape_;  // of the output
  TilePlan plan_;
  Pieces a_pieces_, b_pieces_, out_pieces_;
  bool a_referenced_, b_referenced_;

  Operands operands_;
  bool operands_taken_ = false;
  std::int64_t reads_ = 0, products_ = 0, writes_ = 0;
  std::deque<Dense> a_read_, b_read_, outputs_;
  std::optional<Dense> sums_;
  Buffer tile_;  // of a result that is one, as far as it is known
};

}  // namespace kernbench::data
