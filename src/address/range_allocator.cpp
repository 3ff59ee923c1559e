#include "address/range_allocator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/text.hpp"

namespace kernbench::address {
namespace {

constexpr Bytes kMaxSpace = Bytes(std::int64_t{1} << 60);  // sums of an offset, a size and an alignment fit

bool is_power_of_two(Bytes b) {
  return b > 0_B && std::has_single_bit(static_cast<std::uint64_t>(b.count()));
}

Bytes align_up(Bytes b, Bytes alignment) {
  return Bytes((b.count() + alignment.count() - 1) & -alignment.count());
}

/// `6 GiB`, and where that is rounded `6 GiB (6442450943 B)`: two sizes that differ must not look alike.
std::string exact(Bytes b) {
  std::int64_t unit = 1;
  while (unit < (std::int64_t{1} << 40) && b.count() >= unit * 1024) unit *= 1024;
  return b.count() % unit == 0 ? to_string(b) : fmt::format("{} ({} B)", to_string(b), b.count());
}

Bytes align_down(Bytes b, Bytes alignment) { return Bytes(b.count() & -alignment.count()); }

}  // namespace

RangeAllocator::RangeAllocator(Bytes capacity, Bytes granule) : capacity_(capacity), granule_(granule) {
  KB_ASSERT(capacity >= 0_B && capacity <= kMaxSpace, "a memory of {} B", capacity.count());
  KB_ASSERT(is_power_of_two(granule), "a granule of {} B is no power of two", granule.count());
  const Bytes usable = align_down(capacity, granule);
  if (usable > 0_B) add_free(0_B, usable);
}

std::optional<Bytes> RangeAllocator::allocate(const AllocRequest& request) {
  const auto& [size, owner, alignment] = request;
  KB_ASSERT(size > 0_B, "{} asks for {} B", owner, size.count());
  KB_ASSERT(is_power_of_two(alignment), "{} asks for an alignment of {} B", owner, alignment.count());
  // Before anything is rounded up: these cannot fit, and the sums below must not overflow.
  if (size > capacity_ || alignment > kMaxSpace) return std::nullopt;
  const Bytes rounded = align_up(size, granule_);
  const auto begin = find_fit(rounded, alignment);
  if (begin) take(*begin, rounded, Use::Taken, owner);
  return begin;
}

std::optional<Bytes> RangeAllocator::find_fit(Bytes size, Bytes alignment) const {
  for (auto it = free_by_size_.lower_bound({size, 0_B}); it != free_by_size_.end(); ++it) {
    const auto [block_size, block_begin] = *it;
    const Bytes begin = align_up(block_begin, alignment);
    if (begin + size <= block_begin + block_size) return begin;
  }
  return std::nullopt;
}

/// Cuts [begin, begin + size) out of the free block around it.
void RangeAllocator::take(Bytes begin, Bytes size, Use use, std::string owner) {
  const auto block = std::prev(blocks_.upper_bound(begin));
  const Bytes free_begin = block->first;
  const Bytes free_end = free_begin + block->second.size;
  remove_free(block);
  if (free_begin < begin) add_free(free_begin, begin - free_begin);
  if (begin + size < free_end) add_free(begin + size, free_end - (begin + size));
  blocks_.insert_or_assign(begin, Block{size, use, std::move(owner)});
}

void RangeAllocator::free(Bytes offset) {
  const auto block = blocks_.find(offset);
  KB_ASSERT(block != blocks_.end() && block->second.use == Use::Taken,
            "freeing offset {:#x}, where no allocation begins (freed twice, reserved, or of another memory)",
            offset.count());
  Bytes begin = offset;
  Bytes end = offset + block->second.size;
  const auto next = blocks_.erase(block);
  if (next != blocks_.end() && next->second.use == Use::Free) {
    end += next->second.size;
    remove_free(next);
  }
  const auto after = blocks_.upper_bound(begin);
  if (after != blocks_.begin() && std::prev(after)->second.use == Use::Free) {
    begin = std::prev(after)->first;
    remove_free(std::prev(after));
  }
  add_free(begin, end - begin);
}

void RangeAllocator::reserve(Bytes begin, Bytes size, std::string name) {
  KB_ASSERT(
      begin >= 0_B && size > 0_B && align_up(begin, granule_) == begin && align_up(size, granule_) == size,
      "reserving {} B at {:#x} for {} against a granule of {} B", size.count(), begin.count(), name,
      granule_.count());
  const auto after = blocks_.upper_bound(begin);
  const auto block = after == blocks_.begin() ? blocks_.end() : std::prev(after);
  KB_ASSERT(block != blocks_.end() && block->second.use == Use::Free &&
                begin + size <= block->first + block->second.size,
            "reserving {} B at {:#x} for {}, which are not all free", size.count(), begin.count(), name);
  take(begin, size, Use::Reserved, std::move(name));
}

void RangeAllocator::add_free(Bytes begin, Bytes size) {
  blocks_.insert_or_assign(begin, Block{size, Use::Free, {}});
  free_by_size_.emplace(size, begin);
  free_bytes_ += size;
}

void RangeAllocator::remove_free(Blocks::iterator block) {
  free_by_size_.erase({block->second.size, block->first});
  free_bytes_ -= block->second.size;
  blocks_.erase(block);
}

Bytes RangeAllocator::largest_free_block() const {
  return free_by_size_.empty() ? 0_B : free_by_size_.rbegin()->first;
}

std::vector<RangeAllocator::Holder> RangeAllocator::largest_holders(std::size_t count) const {
  std::map<std::string, Bytes> held;
  for (const auto& [begin, block] : blocks_) {
    if (block.use != Use::Free) held[block.owner] += block.size;
  }
  std::vector<Holder> holders;
  holders.reserve(held.size());
  for (const auto& [name, bytes] : held) holders.push_back({name, bytes});
  // Stable over the sorted names, so the order is the same in every run.
  std::stable_sort(holders.begin(), holders.end(), [](auto& a, auto& b) { return a.bytes > b.bytes; });
  if (holders.size() > count) holders.resize(count);
  return holders;
}

std::string RangeAllocator::who_holds_most() const {
  std::vector<std::string> held;
  for (const Holder& h : largest_holders(3)) held.push_back(fmt::format("{} ({})", h.name, exact(h.bytes)));
  return held.empty() ? "nobody holds any of it" : fmt::format("most is held by {}", join(held));
}

AllocationError RangeAllocator::exhausted(const AllocRequest& request, std::string place,
                                          std::string hint) const {
  const Bytes largest = largest_free_block();
  if (request.size <= free_bytes_) {
    hint =
        "there is enough in all, but not in one piece: free its neighbours, or allocate the large ones first";
  }
  const std::string aligned =
      request.alignment > granule_ ? fmt::format(" aligned to {}", exact(request.alignment)) : "";
  std::string what = fmt::format(
      "{} asks for {}{}, but of {} only {} is free, the largest free block is {}; {}", request.owner,
      exact(request.size), aligned, exact(capacity_), exact(free_bytes_), exact(largest), who_holds_most());
  return AllocationError({.id = "address.exhausted",
                          .where = std::move(place),
                          .what = std::move(what),
                          .hint = std::move(hint)},
                         {request.size, free_bytes_, largest});
}

}  // namespace kernbench::address
