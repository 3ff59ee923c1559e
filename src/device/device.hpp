// The machine as it runs: a simulation, the fabric, every memory and engine, and the control path, built from
// a `Machine`.
#pragma once

#include <memory>
#include <vector>

#include "address/mmu_map.hpp"
#include "device/control_path.hpp"
#include "device/dma_engine.hpp"
#include "device/hbm_memory.hpp"
#include "device/memory.hpp"
#include "kernbench/address.hpp"
#include "kernbench/graph.hpp"
#include "kernbench/machine.hpp"

namespace kernbench::device {

class Device {
 public:
  explicit Device(const topology::Machine& machine, FabricOptions options = {});
  ~Device();

  const topology::Machine& machine() const { return machine_; }
  const topology::Graph& graph() const { return graph_; }
  /// Whether components may take shortcuts that change no result.
  bool takes_shortcuts() const { return takes_shortcuts_; }
  sim::Simulation& simulation() { return simulation_; }
  Fabric& fabric() { return fabric_; }
  ControlPath& control() { return control_; }
  sim::Partition& host_partition() { return simulation_.partition(0); }

  HbmMemory& hbm(PeCoord pe) { return *hbm_[index(pe)]; }
  Memory& tcm(PeCoord pe) { return *tcm_[index(pe)]; }
  Memory& sram(CubeCoord cube) {
    return *sram_[static_cast<std::size_t>(cube.sip * graph_.cubes() + cube.cube)];
  }
  DmaEngine& dma(PeCoord pe);
  address::MmuMap& mmu(PeCoord pe);

  /// The number of a PE, counted over the machine.
  std::size_t index(PeCoord pe) const {
    return static_cast<std::size_t>((pe.sip * graph_.cubes() + pe.cube) * graph_.pes() + pe.pe);
  }
  /// The memory behind an address and the place in it; an InputError if the machine has no such byte.
  DmaTransfer::Piece locate(address::PhysAddr address, Bytes bytes);

 private:
  const topology::Machine machine_;
  const topology::Graph graph_;
  const Bytes hbm_slice_, sram_capacity_, tcm_capacity_;
  const bool takes_shortcuts_;
  sim::Simulation simulation_;
  Fabric fabric_;
  ControlPath control_;
  std::vector<std::unique_ptr<HbmMemory>> hbm_;  // per PE
  std::vector<std::unique_ptr<Memory>> tcm_;     // per PE
  std::vector<std::unique_ptr<Memory>> sram_;    // per cube
  std::unique_ptr<const models::DmaModel> dma_model_;
  std::vector<std::unique_ptr<DmaEngine>> dma_;        // per PE, made on first use
  std::vector<std::unique_ptr<address::MmuMap>> mmu_;  // per PE, made on first use
};

}  // namespace kernbench::device
