// Virtual address ranges for tensors.
#pragma once

#include "address/range_allocator.hpp"
#include "kernbench/address.hpp"

namespace kernbench::address {

inline constexpr VirtAddr kVirtualBegin{0x1'0000'0000};
inline constexpr VirtAddr kVirtualEnd{std::uint64_t{1} << 48};
inline constexpr Bytes kPageSize = 4096_B;  // aligns tensors; mappings themselves are byte ranges

/// Hands out page-aligned ranges of [kVirtualBegin, kVirtualEnd). Behind each range one page at least stays
/// unused, so that a kernel that runs past the end of its tensor faults instead of meeting the next one.
class VirtualAllocator {
 public:
  VirtualAllocator() : ranges_(kVirtualEnd - kVirtualBegin, kPageSize) {}

  /// Throws `AllocationError` when the space is used up.
  VirtAddr allocate(Bytes size, const std::string& owner);
  /// Gives back what `allocate` returned. Anything else is an assertion.
  void free(VirtAddr base) { ranges_.free(base - kVirtualBegin); }

  Bytes free_bytes() const { return ranges_.free_bytes(); }

 private:
  RangeAllocator ranges_;
};

}  // namespace kernbench::address
