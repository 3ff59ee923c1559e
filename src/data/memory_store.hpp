// The bytes of all memories of the machine.
//
// Sparse: a page exists from the first write to it. Which bytes were written is known to the byte; a page
// that was written whole, as nearly all are, spends nothing on it. Reading a byte nobody wrote is a
// SimulationError `data.unwritten` that names the tensor, if the range has a name.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "address/mmu_map.hpp"
#include "data/named_ranges.hpp"
#include "kernbench/ndarray.hpp"

namespace kernbench::data {

class MemoryStore {
 public:
  static constexpr std::uint64_t kPageBytes = 4096;

  MemoryStore() = default;
  MemoryStore(MemoryStore&&) = default;
  MemoryStore& operator=(MemoryStore&& other) noexcept;

  void write(address::PhysAddr at, std::span<const std::byte> bytes);
  void read(address::PhysAddr at, std::span<std::byte> to) const;

  /// An array that lies in these pieces, one after the other. The pieces must be as long as the array.
  void write(std::span<const address::PhysPiece> pieces, const NdArray& array);
  NdArray read(std::span<const address::PhysPiece> pieces, DType dtype, const Shape& shape) const;

  /// The memory is given back: nobody has written these bytes any more. Keeps their name.
  void forget(address::PhysAddr at, Bytes size);

  /// The first byte of the range that nobody wrote.
  std::optional<address::PhysAddr> first_unwritten(address::PhysAddr at, Bytes size) const;
  /// Throws `data.unwritten` for that byte; `where` says who wanted to read.
  [[noreturn]] void fail_unwritten(address::PhysAddr byte, std::string where) const;

  NamedRanges& names() { return names_; }
  const NamedRanges& names() const { return names_; }

  /// Pages that exist.
  std::size_t page_count() const { return pages_.size(); }

  // For replay, in two steps so that the second can be done by several threads at once on bytes that do not
  // overlap: the range counts as written, then its content is put in place; and a read without the check.
  void reserve(address::PhysAddr at, Bytes size);
  void copy_in(address::PhysAddr at, std::span<const std::byte> bytes);
  void copy_out(address::PhysAddr at, std::span<std::byte> to) const;

 private:
  using Bits = std::array<std::uint64_t, kPageBytes / 64>;
  /// Memory for pages, taken from the system many at a time. What is given back is used again.
  class Pool {
   public:
    struct GiveBack {
      Pool* pool;
      void operator()(std::byte* page) const { pool->free_.push_back(page); }
    };
    using Bytes = std::unique_ptr<std::byte[], GiveBack>;
    Bytes take();

   private:
    std::vector<ByteBuffer> slabs_;
    std::vector<std::byte*> free_;
  };
  struct Page {
    Pool::Bytes bytes{nullptr, {nullptr}};
    std::unique_ptr<Bits> written;  // none: all of them
  };

  Page& page_to_write(std::uint64_t number, bool whole);
  const Page* find(std::uint64_t number) const;

  std::unique_ptr<Pool> pool_ = std::make_unique<Pool>();  // before the pages, which go back to it
  std::unordered_map<std::uint64_t, Page> pages_;
  NamedRanges names_;
};

}  // namespace kernbench::data
