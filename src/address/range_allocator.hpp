// Hands out byte ranges of one memory: [0, capacity) of offsets.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernbench/address.hpp"
#include "kernbench/units.hpp"

namespace kernbench::address {

/// What is asked of an allocator.
struct AllocRequest {
  Bytes size;             // positive
  std::string owner;      // who asks: for the message that tells the next one why there is no room
  Bytes alignment = 1_B;  // a power of two
};

/// Best fit, the lowest offset among equals, so the same calls always give the same offsets. Allocating and
/// freeing take O(log n) of the number of blocks. Sizes are rounded up to the granule; all offsets are
/// multiples of it. (Only an alignment above the granule may have to try several free blocks.)
///
/// Its callers are other parts of KernBench: freeing what was not allocated, twice, or a reserved area is an
/// assertion. Running out is the user's affair: `allocate` then returns nothing and `exhausted` words the
/// error.
class RangeAllocator {
 public:
  /// `granule` is a power of two. What is left of `capacity` beyond a multiple of it is never handed out.
  explicit RangeAllocator(Bytes capacity, Bytes granule = 1_B);

  /// The first byte of the range, or nothing when there is no room.
  std::optional<Bytes> allocate(const AllocRequest& request);
  /// Gives a range back, named by its first byte.
  void free(Bytes offset);
  /// Takes [begin, begin + size) for good. It must be free and both multiples of the granule.
  void reserve(Bytes begin, Bytes size, std::string name);

  Bytes capacity() const { return capacity_; }
  Bytes free_bytes() const { return free_bytes_; }
  Bytes largest_free_block() const;
  std::size_t free_blocks() const { return free_by_size_.size(); }

  struct Holder {
    std::string name;
    Bytes bytes;
  };
  /// Who holds the most, added up by name, most first; at most `count` of them.
  std::vector<Holder> largest_holders(std::size_t count) const;

  /// The error of a failed request. `place` is the memory (`sip0.cube5.pe3 TCM`); `hint` says what to do when
  /// there is too little of it.
  AllocationError exhausted(const AllocRequest& request, std::string place, std::string hint) const;

 private:
  enum class Use { Free, Taken, Reserved };
  struct Block {
    Bytes size;
    Use use = Use::Free;
    std::string owner;
  };
  using Blocks = std::map<Bytes, Block>;  // by first byte; together they cover the space without gaps

  std::optional<Bytes> find_fit(Bytes size, Bytes alignment) const;
  std::string who_holds_most() const;
  void take(Bytes begin, Bytes size, Use use, std::string owner);
  void add_free(Bytes begin, Bytes size);
  void remove_free(Blocks::iterator block);

  Bytes capacity_;
  Bytes granule_;
  Bytes free_bytes_;
  Blocks blocks_;
  std::set<std::pair<Bytes, Bytes>> free_by_size_;  // (size, first byte)
};

}  // namespace kernbench::address
