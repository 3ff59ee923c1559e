#include "data/memory_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "kernbench/error.hpp"

namespace kernbench::data {
namespace {

// Calls fn(page number, offset in the page, offset in the range, bytes) for each page of a range.
template <class Fn>
void for_pages(address::PhysAddr at, std::uint64_t size, Fn&& fn) {
  for (std::uint64_t done = 0; done < size;) {
    const auto here = at.raw() + done;
    const auto offset = here % MemoryStore::kPageBytes;
    const auto n = std::min(size - done, MemoryStore::kPageBytes - offset);
    fn(here / MemoryStore::kPageBytes, offset, done, n);
    done += n;
  }
}

// Calls fn(word index, mask) for the bits [begin, begin + n).
template <class Fn>
void for_words(std::uint64_t begin, std::uint64_t n, Fn&& fn) {
  while (n > 0) {
    const auto shift = begin % 64;
    const auto bits = std::min<std::uint64_t>(n, 64 - shift);
    const auto ones = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    fn(begin / 64, ones << shift);
    begin += bits;
    n -= bits;
  }
}

std::uint64_t unsigned_of(Bytes size) { return static_cast<std::uint64_t>(size.count()); }

Bytes total(std::span<const address::PhysPiece> pieces) {
  Bytes sum(0);
  for (const auto& p : pieces) sum = sum + p.size;
  return sum;
}

}  // namespace

MemoryStore::Pool::Bytes MemoryStore::Pool::take() {
  constexpr std::size_t kFirst = 16, kMost = 1024;  // pages of a slab: 64 KiB, then more, up to 4 MiB
  if (free_.empty()) {
    const auto pages = std::min(kMost, kFirst << std::min<std::size_t>(slabs_.size(), 6));
    ByteBuffer& slab = slabs_.emplace_back(pages * kPageBytes);
    for (std::size_t i = pages; i-- > 0;) free_.push_back(slab.data() + i * kPageBytes);
  }
  std::byte* const page = free_.back();
  free_.pop_back();
  return {page, {this}};
}

const MemoryStore::Page* MemoryStore::find(std::uint64_t number) const {
  const auto found = pages_.find(number);
  return found == pages_.end() ? nullptr : &found->second;
}

MemoryStore::Page& MemoryStore::page_to_write(std::uint64_t number, bool whole) {
  const auto [at, is_new] = pages_.try_emplace(number);
  auto& page = at->second;
  if (is_new) {
    page.bytes = pool_->take();
    if (!whole) page.written = std::make_unique<Bits>(Bits{});
  }
  return page;
}

void MemoryStore::reserve(address::PhysAddr at, Bytes size) {
  for_pages(at, unsigned_of(size), [&](auto number, auto offset, auto, auto n) {
    auto& page = page_to_write(number, n == kPageBytes);
    if (page.written == nullptr) return;
    for_words(offset, n, [&](auto word, auto mask) { (*page.written)[word] |= mask; });
    if (std::ranges::all_of(*page.written, [](auto word) { return word == ~std::uint64_t{0}; }))
      page.written.reset();
  });
}

void MemoryStore::forget(address::PhysAddr at, Bytes size) {
  for_pages(at, unsigned_of(size), [&](auto number, auto offset, auto, auto n) {
    const auto found = pages_.find(number);
    if (found == pages_.end()) return;
    auto& page = found->second;
    if (page.written == nullptr) {
      page.written = std::make_unique<Bits>();
      page.written->fill(~std::uint64_t{0});
    }
    for_words(offset, n, [&](auto word, auto mask) { (*page.written)[word] &= ~mask; });
    if (std::ranges::all_of(*page.written, [](auto word) { return word == 0; })) pages_.erase(found);
  });
}

std::optional<address::PhysAddr> MemoryStore::first_unwritten(address::PhysAddr at, Bytes size) const {
  std::optional<address::PhysAddr> first;
  for_pages(at, unsigned_of(size), [&](auto number, auto offset, auto, auto n) {
    if (first) return;
    const auto* page = find(number);
    if (page == nullptr) first = address::PhysAddr::from_raw(number * kPageBytes + offset);
    if (page == nullptr || page->written == nullptr) return;
    for_words(offset, n, [&](auto word, auto mask) {
      const auto missing = mask & ~(*page->written)[word];
      if (missing == 0 || first) return;
      const auto bit = word * 64 + static_cast<std::uint64_t>(std::countr_zero(missing));
      first = address::PhysAddr::from_raw(number * kPageBytes + bit);
    });
  });
  return first;
}

void MemoryStore::fail_unwritten(address::PhysAddr byte, std::string where) const {
  throw SimulationError({.id = "data.unwritten",
                         .where = std::move(where),
                         .what = fmt::format("a read of memory nobody wrote; the first such byte is at {}",
                                             names_.describe(byte)),
                         .hint = "fill the tensor from the host, or store to it before it is read"});
}

void MemoryStore::copy_in(address::PhysAddr at, std::span<const std::byte> bytes) {
  for_pages(at, bytes.size(), [&](auto number, auto offset, auto done, auto n) {
    const auto found = pages_.find(number);
    KB_ASSERT(found != pages_.end(), "the page of {} was not reserved before bytes are put in it",
              to_string(at));
    std::memcpy(found->second.bytes.get() + offset, bytes.data() + done, n);
  });
}

void MemoryStore::copy_out(address::PhysAddr at, std::span<std::byte> to) const {
  for_pages(at, to.size(), [&](auto number, auto offset, auto done, auto n) {
    const auto* page = find(number);
    KB_ASSERT(page != nullptr, "bytes at {} are read that nobody wrote, unchecked", to_string(at));
    std::memcpy(to.data() + done, page->bytes.get() + offset, n);
  });
}

/// The pages there were go back to their pool before it goes.
MemoryStore& MemoryStore::operator=(MemoryStore&& other) noexcept {
  pages_ = std::move(other.pages_);
  pool_ = std::move(other.pool_);
  names_ = std::move(other.names_);
  return *this;
}

void MemoryStore::write(address::PhysAddr at, std::span<const std::byte> bytes) {
  reserve(at, Bytes(static_cast<std::int64_t>(bytes.size())));
  copy_in(at, bytes);
}

void MemoryStore::read(address::PhysAddr at, std::span<std::byte> to) const {
  if (const auto hole = first_unwritten(at, Bytes(static_cast<std::int64_t>(to.size()))))
    fail_unwritten(*hole, names_.name_of(*hole));
  copy_out(at, to);
}

void MemoryStore::write(std::span<const address::PhysPiece> pieces, const NdArray& array) {
  auto rest = array.bytes();
  KB_ASSERT(total(pieces).count() == static_cast<std::int64_t>(rest.size()),
            "pieces of {} for an array of {} bytes", to_string(total(pieces)), rest.size());
  for (const auto& p : pieces) {
    write(p.begin, rest.first(unsigned_of(p.size)));
    rest = rest.subspan(unsigned_of(p.size));
  }
}

NdArray MemoryStore::read(std::span<const address::PhysPiece> pieces, DType dtype, const Shape& shape) const {
  NdArray array(dtype, shape);
  auto rest = array.bytes();
  KB_ASSERT(total(pieces).count() == static_cast<std::int64_t>(rest.size()),
            "pieces of {} for an array of {} bytes", to_string(total(pieces)), rest.size());
  for (const auto& p : pieces) {
    read(p.begin, rest.first(unsigned_of(p.size)));
    rest = rest.subspan(unsigned_of(p.size));
  }
  return array;
}

}  // namespace kernbench::data
