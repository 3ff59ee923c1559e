#include "address/memory_pools.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <utility>

namespace kernbench::address {
namespace {

constexpr const char* kFieldsHint = "this is what the fields of a physical address can hold";

[[noreturn]] void refuse(std::string what, const char* hint) {
  throw InputError({.id = "address.layout", .where = "memory layout", .what = std::move(what), .hint = hint});
}

void check_count(const char* name, int value, int max) {
  if (value < 1 || value > max) refuse(fmt::format("{} {}; expected 1 to {}", value, name, max), kFieldsHint);
}

void check_size(const char* name, Bytes value, Bytes max, const char* hint) {
  if (value >= 0_B && value <= max) return;
  refuse(fmt::format("{} of {} B; expected 0 to {} B", name, value.count(), max.count()), hint);
}

void check_granules(const MemoryLayout& l) {
  if (l.granule <= 0_B || !std::has_single_bit(static_cast<std::uint64_t>(l.granule.count()))) {
    refuse(fmt::format("a granule of {} B; expected a power of two", l.granule.count()),
           "256 B is one HBM burst");
  }
  if (l.hbm_slice <= 0_B || l.hbm_slice.count() % l.granule.count() != 0) {
    refuse(fmt::format("an HBM slice of {} B; expected a positive multiple of {} B", l.hbm_slice.count(),
                       l.granule.count()),
           "slices begin on whole bursts; cut cube.hbm.hbm_total_gb_per_cube so that each PE's part does");
  }
}

void check_sizes(const MemoryLayout& l) {
  const Bytes slice_max(range_of(Resource::Hbm).count() / l.pes);
  check_size("an HBM slice", l.hbm_slice, slice_max, "the slices of a cube share its window of 128 GiB");
  check_size("a TCM", l.tcm, range_of(Resource::Tcm), kFieldsHint);
  check_size("an SRAM", l.sram, range_of(Resource::Sram), kFieldsHint);
  check_size("a scheduler area", l.tcm_scheduler, l.tcm, "it is a part of the TCM: pe.pe_tcm.scheduler_mb");
  check_size("a kernel scratch", l.tcm_scratch, l.tcm - l.tcm_scheduler,
             "it is the part of the TCM beside the scheduler's: pe.pe_tcm.kernel_scratch_mb");
}

/// Reserved areas grow to whole granules, memories lose what is no whole one.
MemoryLayout in_granules(MemoryLayout l) {
  const auto down = [g = l.granule.count()](Bytes b) { return Bytes(b.count() / g * g); };
  const auto up = [&](Bytes b) { return down(b + l.granule - 1_B); };
  l.tcm = down(l.tcm), l.sram = down(l.sram);
  l.tcm_scheduler = up(l.tcm_scheduler), l.tcm_scratch = up(l.tcm_scratch);
  return l;
}

MemoryLayout checked(const MemoryLayout& l) {
  check_count("SIPs", l.sips, kMaxSips);
  check_count("cubes per SIP", l.cubes, kMaxCubes);
  check_count("PEs per cube", l.pes, kMaxPes);
  check_granules(l);
  check_sizes(l);
  const MemoryLayout rounded = in_granules(l);
  check_sizes(rounded);
  return rounded;
}

struct SpaceText {
  const char* name;
  const char* hint;  // what to do when it is full
};

constexpr std::array<SpaceText, 3> kSpaceTexts = {{
    {"TCM",
     "use fewer or smaller queue slots, buffer_kind: hbm, or tensors with mem = hbm; the machine has "
     "pe.pe_tcm.capacity_mb"},
    {"SRAM",
     "use fewer or smaller queue slots, buffer_kind: hbm, or tensors with mem = hbm; the machine has "
     "cube.sram.capacity_mb"},
    {"HBM slice",
     "spread the tensor over more PEs or cubes (DPPolicy) or drop tensors no longer used; the machine "
     "has cube.hbm.hbm_total_gb_per_cube"},
}};

const SpaceText& text_of(MemorySpace space) { return kSpaceTexts[static_cast<std::size_t>(space)]; }

/// `sip0.cube5.pe3 TCM`, `sip0.cube5 SRAM`.
std::string place_of(MemorySpace space, PeCoord at) {
  const std::string owner = space == MemorySpace::Sram ? to_string(at.in_cube()) : to_string(at);
  return fmt::format("{} {}", owner, text_of(space).name);
}

}  // namespace

MemoryPools::MemoryPools(const MemoryLayout& layout) : layout_(checked(layout)) {}

void MemoryPools::check_coordinates(PeCoord at) const {
  const auto inside = [](int i, int count) { return i >= 0 && i < count; };
  if (inside(at.sip, layout_.sips) && inside(at.cube, layout_.cubes) && inside(at.pe, layout_.pes)) return;
  throw InputError({.id = "address.no-such-pe",
                    .where = to_string(at),
                    .what = fmt::format("there is no such PE: the machine has {} SIPs of {} cubes of {} PEs",
                                        layout_.sips, layout_.cubes, layout_.pes),
                    .hint = "coordinates count from 0"});
}

PhysAddr MemoryPools::base_of(MemorySpace space, PeCoord at) const {
  if (space == MemorySpace::Hbm) return pe_hbm_addr(at, layout_.hbm_slice, 0_B);
  if (space == MemorySpace::Tcm) return pe_tcm_addr(at, 0_B);
  return cube_sram_addr(at.in_cube(), 0_B);
}

RangeAllocator MemoryPools::make_pool(MemorySpace space) const {
  if (space == MemorySpace::Hbm) return RangeAllocator(layout_.hbm_slice, layout_.granule);
  if (space == MemorySpace::Sram) return RangeAllocator(layout_.sram, layout_.granule);
  RangeAllocator tcm(layout_.tcm, layout_.granule);
  if (layout_.tcm_scheduler > 0_B) tcm.reserve(0_B, layout_.tcm_scheduler, "scheduler");
  if (layout_.tcm_scratch > 0_B) tcm.reserve(layout_.tcm_scheduler, layout_.tcm_scratch, "kernel scratch");
  return tcm;
}

PhysAddr MemoryPools::allocate(MemorySpace space, PeCoord at, const AllocRequest& request) {
  check_coordinates(at);
  const PhysAddr base = base_of(space, at);
  auto pool = pools_.find(base.raw());
  if (pool == pools_.end()) pool = pools_.emplace(base.raw(), make_pool(space)).first;
  const auto offset = pool->second.allocate(request);
  if (!offset) throw pool->second.exhausted(request, place_of(space, at), text_of(space).hint);
  return base + *offset;
}

void MemoryPools::free(PhysAddr a) {
  const DecodedAddr f = decode(a);
  Bytes offset = f.offset;
  if (f.resource == Resource::Hbm) offset = Bytes(offset.count() % layout_.hbm_slice.count());
  // The raw value of an address counts bytes within its resource, so this is the memory's first address.
  const auto pool = pools_.find(a.raw() - static_cast<std::uint64_t>(offset.count()));
  KB_ASSERT(pool != pools_.end(), "freeing {}, in a memory from which nothing was allocated", to_string(a));
  pool->second.free(offset);
}

MemoryPools::Usage MemoryPools::usage(MemorySpace space, PeCoord at) const {
  check_coordinates(at);
  const auto of = [](const RangeAllocator& pool) -> Usage {
    return {pool.capacity(), pool.free_bytes(), pool.largest_free_block()};
  };
  const auto pool = pools_.find(base_of(space, at).raw());
  return pool != pools_.end() ? of(pool->second) : of(make_pool(space));
}

}  // namespace kernbench::address
