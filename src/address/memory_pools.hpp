// The memories of a machine as something to allocate from: one allocator per HBM slice, TCM and cube SRAM.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "address/range_allocator.hpp"
#include "kernbench/address.hpp"

namespace kernbench::address {

/// The counts and sizes of a machine's memories. The defaults are those of the default machine.
struct MemoryLayout {
  int sips = 2;
  int cubes = 16;  // per SIP
  int pes = 8;     // per cube
  Bytes hbm_slice = 6_GiB;
  Bytes tcm = 16_MiB;
  Bytes tcm_scheduler = 4_MiB;  // the first part of the TCM
  Bytes tcm_scratch = 1_MiB;    // the part after it
  Bytes sram = 32_MiB;
  Bytes granule = 256_B;  // one HBM burst: two allocations never share one
};

/// Finds the allocator by coordinates and answers with physical addresses. An allocator comes into being with
/// the first allocation from it, so idle parts of a machine cost nothing. The host allocates; one thread.
///
/// Reserved in every TCM: `scheduler` at offset 0, then `kernel scratch`. Queue rings are ordinary
/// allocations.
class MemoryPools {
 public:
  /// A layout that the address fields cannot hold is an `InputError`. Sizes are taken in whole granules; the
  /// HBM slice, which also places its neighbours, must be some already.
  explicit MemoryPools(const MemoryLayout& layout);

  /// Space in the memory that `at` sees under this name: its HBM slice, its TCM, its cube's SRAM. Throws
  /// `AllocationError` when there is no room, `InputError` when there is no such PE.
  PhysAddr allocate(MemorySpace space, PeCoord at, const AllocRequest& request);
  /// Gives back what `allocate` returned. Anything else is an assertion.
  void free(PhysAddr a);

  struct Usage {
    Bytes capacity;
    Bytes free;
    Bytes largest_free_block;
  };
  Usage usage(MemorySpace space, PeCoord at) const;

  PhysAddr scheduler_base(PeCoord pe) const { return pe_tcm_addr(pe, 0_B); }
  PhysAddr scratch_base(PeCoord pe) const { return pe_tcm_addr(pe, layout_.tcm_scheduler); }

  /// As given, in whole granules.
  const MemoryLayout& layout() const { return layout_; }
  /// How many allocators exist so far.
  std::size_t pool_count() const { return pools_.size(); }

 private:
  void check_coordinates(PeCoord at) const;
  PhysAddr base_of(MemorySpace space, PeCoord at) const;
  RangeAllocator make_pool(MemorySpace space) const;

  MemoryLayout layout_;
  std::unordered_map<std::uint64_t, RangeAllocator> pools_;  // by the memory's first physical address
};

}  // namespace kernbench::address
