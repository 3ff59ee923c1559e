#include "runtime/storage.hpp"

#include "runtime/memory_layout.hpp"

namespace kernbench::runtime {

StorageSpace::StorageSpace(const topology::Machine& machine)
    : cubes_(machine.cubes()), pes_(machine.pes()), pools_(memory_layout(machine)) {}

std::shared_ptr<const Storage> StorageSpace::allocate(const Shape& shape, DType dtype, const DPPolicy& policy,
                                                      int sip, std::string name) {
  return allocate(Layout(policy, shape, itemsize(dtype), pes_, cubes_), dtype, policy, sip, std::move(name));
}

std::shared_ptr<const Storage> StorageSpace::allocate(const Shape& shape, DType dtype, const DPPolicy& policy,
                                                      PeCoord pe, std::string name) {
  Layout layout(policy, shape, itemsize(dtype), pes_, cubes_);
  layout.move_to(pe.cube, pe.pe);
  return allocate(std::move(layout), dtype, policy, pe.sip, std::move(name));
}

std::shared_ptr<const Storage> StorageSpace::allocate(Layout layout, DType dtype, const DPPolicy& policy,
                                                      int sip, std::string name) {
  auto storage =
      std::make_shared<Storage>(Storage{std::move(name),
                                        dtype,
                                        policy,
                                        sip,
                                        std::move(layout),
                                        {},
                                        {},
                                        {},
                                        std::vector<int>(static_cast<std::size_t>(cubes_ * pes_), -1),
                                        pes_});
  try {
    place_copies(*storage);
    storage->base = virtual_.allocate(storage->size(), storage->name);
  } catch (...) {
    for (const auto at : storage->copies) pools_.free(at);
    throw;
  }
  build_segments(*storage);
  return storage;
}

void StorageSpace::free(const Storage& storage) {
  for (const auto at : storage.copies) pools_.free(at);
  virtual_.free(storage.base);
}

void StorageSpace::place_copies(Storage& storage) {
  for (const Holder& holder : storage.layout.holders()) {
    const Bytes size(storage.layout.blocks()[holder.block].bytes);
    storage.copies.push_back(pools_.allocate(address::MemorySpace::Hbm, storage.at(holder),
                                             {.size = size, .owner = storage.name}));
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
  const auto& holders = storage.layout.holders();
  for (std::size_t i = 0; i < holders.size(); ++i)
    storage.holder_of[static_cast<std::size_t>(holders[i].cube * pes_ + holders[i].pe)] = static_cast<int>(i);
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
