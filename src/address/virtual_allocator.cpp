#include "address/virtual_allocator.hpp"

namespace kernbench::address {

VirtAddr VirtualAllocator::allocate(Bytes size, const std::string& owner) {
  KB_ASSERT(size > 0_B, "{} asks for {} B", owner, size.count());
  // A size beyond the space is refused as it is: with the guard page it might overflow.
  const bool fits = size <= ranges_.capacity();
  const AllocRequest request{fits ? size + kPageSize : size, owner};
  const auto offset = ranges_.allocate(request);
  if (!offset) {
    throw ranges_.exhausted({size, owner}, "virtual address space", "drop tensors that are no longer used");
  }
  return kVirtualBegin + *offset;
}

}  // namespace kernbench::address
