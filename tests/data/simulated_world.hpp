// Kernels on the real machine model, their numbers from its records.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "data/replay.hpp"
#include "data/run_facts.hpp"
#include "device/pe_world.hpp"

namespace kernbench::data {

/// What replay asks of a run of kernels, without queues and host transfers.
class KernelFacts : public RunFacts {
 public:
  explicit KernelFacts(device::testing::Kernels& kernels) : kernels_(kernels) {}
  const device::Origin& origin(std::uint32_t index) override { return kernels_.processors.origins()[index]; }
  void translate(std::uint32_t index, address::VirtAddr begin, Bytes size,
                 std::vector<address::PhysPiece>& out) override {
    kernels_.device.mmu(origin(index).pe).translate(begin, size, out);
  }
  Message message(const device::OpRecord&) override { return {}; }
  Ring ring(std::uint32_t) override { return {}; }
  HostTransfer host_transfer(const device::OpRecord&) override { return {}; }
  RequestOrder request_order(std::uint32_t) override { return {}; }

 private:
  device::testing::Kernels& kernels_;
};

class SimulatedWorld {
 public:
  explicit SimulatedWorld(std::vector<std::string> overrides = {}) : kernels(std::move(overrides)) {}

  address::PhysAddr place(PeCoord pe, std::uint64_t offset) const {
    return address::pe_hbm_addr(pe, kernels.device.machine().hbm_slice(),
                                Bytes(static_cast<std::int64_t>(offset)));
  }
  void put(PeCoord pe, std::uint64_t offset, const NdArray& array) {
    store.write(place(pe, offset), array.bytes());
  }
  NdArray get(PeCoord pe, std::uint64_t offset, DType dtype, const Shape& shape) {
    NdArray array(dtype, shape);
    store.read(place(pe, offset), array.bytes());
    return array;
  }
  /// The records in order of (end, partition, id); the host's partition has but completions, which replay ignores.
  std::vector<device::OpRecord> ordered() const {
    std::vector<device::OpRecord> records = kernels.log.records;
    std::stable_sort(records.begin(), records.end(),
                     [](const device::OpRecord& a, const device::OpRecord& b) { return a.end < b.end; });
    return records;
  }
  void replay(int threads = 1) {
    ReplayExecutor executor(store, facts, {.threads = threads});
    for (const device::OpRecord& r : ordered()) executor.append(r);
    executor.finish();
  }

  device::testing::Kernels kernels;
  KernelFacts facts{kernels};
  MemoryStore store;
};

}  // namespace kernbench::data
