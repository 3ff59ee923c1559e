// The tensors of the functional runner. The ranks' first tensors lie end to end, then their second ones, and so on: if
// they are alike, rank r's is rank 0's plus r times its bytes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data/memory_store.hpp"
#include "data/pieces.hpp"
#include "kernbench/functional.hpp"

namespace kernbench::ccl {

class FunctionalMemory {
 public:
  explicit FunctionalMemory(const FunctionalWorld& world);

  /// What a rank's kernel gets: its own, or rank 0's if the world says so.
  std::vector<tl::Ptr> pointers(int rank) const;
  std::vector<tl::Shard> shards(int rank) const;
  /// The tensors of the rank, as they are now.
  std::vector<NdArray> tensors(int rank) const;

  data::MemoryStore& store() { return store_; }

  struct Access {
    int rank;
    std::function<std::string()> where;  // who wants it, for messages
  };
  /// Where a command's bytes are. SimulationError if some are in no tensor of the rank.
  data::Pieces of_dma(const isa::Program& program, const isa::Command& dma, const Access& access);
  data::Pieces of_reference(const isa::Program& program, isa::ValueId reference, const Access& access);
  data::Pieces of_range(std::uint64_t address, Bytes size, const Access& access);
  /// The number at an address.
  double number(std::uint64_t address, DType dtype, const Access& access);

 private:
  struct Tensor {
    address::PhysAddr at;
    DType dtype;
    Shape shape;
    Bytes size;
    bool holds(std::uint64_t address, std::int64_t bytes) const;
  };
  data::Piece piece(std::uint64_t address, std::int64_t bytes, std::int64_t offset, const Access& access);

  bool common_pointers_;
  std::vector<std::vector<Tensor>> tensors_;  // of each rank
  data::MemoryStore store_;
};

}  // namespace kernbench::ccl
