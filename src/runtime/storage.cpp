#include "runtime/storage.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernbench/error.hpp"
#include "runtime/memory_layout.hpp"

namespace kernbench::runtime {

bool Storage::find(PeCoord pe, address::VirtAddr begin, Bytes bytes,
                   std::vector<address::PhysPiece>& out) const {
  out.clear();
  if (sip != pe.sip || begin < base || begin - base + bytes > size()) return false;
  segment(pe)->append_pieces(begin - base, bytes, out);
  return true;
}

StorageSpace::StorageSpace(const topology::Machine& machine)
    : cubes_(machine.cubes()), pes_(machine.pes()), pools_(memory_layout(machine)) {}

Layout StorageSpace::layout(const TensorSpec& spec) const {
  return Layout(spec.policy, spec.shape, itemsize(spec.dtype), pes_, cubes_);
}

std::shared_ptr<const Storage> StorageSpace::allocate(const TensorSpec& spec, int sip) {
  return allocate(layout(spec), spec, sip);
}

std::shared_ptr<const Storage> StorageSpace::allocate(const TensorSpec& spec, PeCoord pe) {
  Layout moved = layout(spec);
  moved.move_to(pe.cube, pe.pe);
  return allocate(std::move(moved), spec, pe.sip);
}

namespace {

/// The PEs of a cube have one SRAM, and so the same of a tensor that lies there.
void check_sram(const Layout& layout) {
  const auto& holders = layout.holders();
  for (const Holder& h : holders) {
    const auto first = std::ranges::find(holders, h.cube, &Holder::cube);
    const auto mine = layout.holders_at({h.cube, h.pe}), theirs = layout.holders_at({first->cube, first->pe});
    if (layout.is_interleaved() || !std::ranges::equal(mine, theirs, {}, &Holder::block, &Holder::block))
      throw InputError({"placement.sram", "",
                        fmt::format("the PEs of cube {} are to hold different parts in its SRAM", h.cube),
                        "split a tensor in SRAM over cubes alone: pe = replicate"});
  }
}

}  // namespace

std::shared_ptr<const Storage> StorageSpace::allocate(Layout layout, const TensorSpec& spec, int sip) {
  if (spec.mem == address::MemorySpace::Sram) check_sram(layout);
  auto storage = std::make_shared<Storage>(Storage{.name = spec.name,
                                                   .dtype = spec.dtype,
                                                   .policy = spec.policy,
                                                   .sip = sip,
                                                   .layout = std::move(layout),
                                                   .base = {},
                                                   .mem = spec.mem,
                                                   .copies = {},
                                                   .owners = {},
                                                   .segments = {},
                                                   .pes_per_cube = pes_});
  try {
    place_copies(*storage);
    storage->base = virtual_.allocate(storage->size(), storage->name);
  } catch (...) {
    for (const std::uint32_t h : storage->owners) pools_.free(storage->copies[h]);
    throw;
  }
  build_segments(*storage);
  return storage;
}

void StorageSpace::free(const Storage& storage) {
  for (const std::uint32_t h : storage.owners) pools_.free(storage.copies[h]);
  virtual_.free(storage.base);
}

void StorageSpace::place_copies(Storage& storage) {
  const auto& holders = storage.layout.holders();
  for (std::uint32_t h = 0; h < holders.size(); ++h) {
    const auto shares = [&](std::uint32_t other) {
      return holders[other].cube == holders[h].cube && holders[other].block == holders[h].block;
    };
    if (storage.mem == address::MemorySpace::Sram)
      if (const auto owner = std::ranges::find_if(storage.owners, shares); owner != storage.owners.end()) {
        storage.copies.push_back(storage.copies[*owner]);
        continue;
      }
    const Bytes size(storage.layout.blocks()[holders[h].block].bytes);
    storage.copies.push_back(
        pools_.allocate(storage.mem, storage.at(holders[h]), {.size = size, .owner = storage.name}));
    storage.owners.push_back(h);
  }
}

namespace {

/// The copy of each block that a PE uses: its own, else its cube's, else the lowest cube's.
std::vector<std::size_t> nearest_copies(const Storage& storage, int cube, int pe) {
  constexpr auto kNone = SIZE_MAX;
  const auto& holders = storage.layout.holders();
  std::vector<std::size_t> nearest(storage.layout.blocks().size(), kNone);
  const auto rank = [&](std::size_t i) { return holders[i].cube != cube ? 2 : holders[i].pe != pe ? 1 : 0; };
  for (std::size_t i = 0; i < holders.size(); ++i) {
    auto& best = nearest[holders[i].block];
    if (best == kNone || rank(i) < rank(best)) best = i;
  }
  return nearest;
}

}  // namespace

void StorageSpace::build_segments(Storage& storage) const {
  std::vector<std::size_t> chosen;
  for (int cube = 0; cube < cubes_; ++cube)
    for (int pe = 0; pe < pes_; ++pe) {
      if (!storage.layout.is_replicated() && !storage.segments.empty()) {
        storage.segments.push_back(storage.segments.front());
        continue;
      }
      auto nearest = nearest_copies(storage, cube, pe);
      if (nearest != chosen) {
        chosen = std::move(nearest);
        std::vector<address::PhysPiece> pieces;
        for (std::size_t block = 0; block < chosen.size(); ++block)
          if (const Bytes size(storage.layout.blocks()[block].bytes); size > 0_B)
            pieces.push_back({storage.copies[chosen[block]], size});
        storage.segments.push_back(
            std::make_shared<const address::MapSegment>(storage.base, std::move(pieces), storage.name));
      } else {
        storage.segments.push_back(storage.segments.back());
      }
    }
}

}  // namespace kernbench::runtime
