// The place of a tensor in the machine: virtual base, physical copies, what each PE's MMU is told.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "address/memory_pools.hpp"
#include "address/mmu_map.hpp"
#include "address/virtual_allocator.hpp"
#include "kernbench/dtype.hpp"
#include "kernbench/machine.hpp"
#include "runtime/layout.hpp"

namespace kernbench::runtime {

/// What is asked for.
struct TensorSpec {
  Shape shape;
  DType dtype;
  DPPolicy policy = DPPolicy::whole();
  std::string name;
  address::MemorySpace mem = address::MemorySpace::Hbm;
};

struct Storage {
  mutable std::string name;  // for messages; a tensor made without one may get it later
  DType dtype;
  DPPolicy policy;
  int sip;
  Layout layout;
  address::VirtAddr base;
  address::MemorySpace mem = address::MemorySpace::Hbm;
  std::vector<address::PhysAddr> copies;  // by holder
  /// The holders that have memory of their own for it: all, but in an SRAM one of the PEs of a cube.
  std::vector<std::uint32_t> owners;
  /// What each PE of the SIP sees, cube-major; PEs that see the same share it.
  std::vector<std::shared_ptr<const address::MapSegment>> segments;
  int pes_per_cube;

  const std::shared_ptr<const address::MapSegment>& segment(PeCoord pe) const { return segments[index(pe)]; }
  PeCoord at(const Holder& holder) const { return {sip, holder.cube, holder.pe}; }
  Bytes size() const { return Bytes(layout.bytes()); }
  bool holds(address::VirtAddr at) const { return at >= base && at - base < size(); }
  /// Puts the memory of the bytes from `begin` on, as that PE sees them, into `out`. False, and `out` empty,
  /// if some of the bytes are not in this storage.
  bool find(PeCoord pe, address::VirtAddr begin, Bytes bytes, std::vector<address::PhysPiece>& out) const;

 private:
  std::size_t index(PeCoord pe) const { return static_cast<std::size_t>(pe.cube * pes_per_cube + pe.pe); }
};

/// Hands out tensors' places.
class StorageSpace {
 public:
  explicit StorageSpace(const topology::Machine& machine);

  /// Throws AllocationError when there is no room, and has then taken nothing.
  std::shared_ptr<const Storage> allocate(const TensorSpec& spec, int sip);
  /// The same for a tensor that lies whole on one PE; InputError (`placement.one-pe`) if the policy says otherwise.
  std::shared_ptr<const Storage> allocate(const TensorSpec& spec, PeCoord pe);
  /// Gives back its memory and addresses. Nobody may use them any more.
  void free(const Storage& storage);

  address::MemoryPools& pools() { return pools_; }

 private:
  Layout layout(const TensorSpec& spec) const;
  std::shared_ptr<const Storage> allocate(Layout layout, const TensorSpec& spec, int sip);
  void place_copies(Storage& storage);
  void build_segments(Storage& storage) const;

  int cubes_, pes_;
  address::MemoryPools pools_;
  address::VirtualAllocator virtual_;
};

}  // namespace kernbench::runtime
