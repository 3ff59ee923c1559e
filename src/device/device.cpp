#include "device/device.hpp"

#include <fmt/format.h>

#include "kernbench/error.hpp"

namespace kernbench::device {

using topology::NodeKind;

Device::Device(const topology::Machine& machine, FabricOptions options)
    : machine_(machine),
      graph_(machine_),
      hbm_slice_(machine_.hbm_slice()),
      sram_capacity_(machine_.at("cube.sram").bytes("capacity_mb")),
      tcm_capacity_(machine_.at("pe.pe_tcm").bytes("capacity_mb")),
      simulation_(graph_.partition_count(), Fabric::lookahead(graph_)),
      fabric_(simulation_, graph_, machine_.at("fabric").bytes("packet_bytes"), options),
      control_(fabric_, machine_) {
  check_behaviours();
  const HbmSpec hbm_spec = HbmSpec::of(machine_);
  for (int sip = 0; sip < graph_.sips(); ++sip) {
    for (int cube = 0; cube < graph_.cubes(); ++cube) {
      sram_.push_back(std::make_unique<PortMemory>(fabric_, graph_.sram({sip, cube})));
      for (int pe = 0; pe < graph_.pes(); ++pe) {
        const PeCoord at{sip, cube, pe};
        hbm_.push_back(
            std::make_unique<HbmSlice>(fabric_, graph_.hbm_ctrl(at), hbm_spec, make_dram(machine_)));
        tcm_.push_back(std::make_unique<PortMemory>(fabric_, graph_.pe(at, NodeKind::pe_tcm)));
      }
    }
  }
  dma_.resize(hbm_.size());
  mmu_.resize(hbm_.size());
}

Device::~Device() = default;

/// An impl that nobody gave a behaviour must not run as if it were the builtin one.
void Device::check_behaviours() const {
  for (const topology::Group& group : machine_.groups()) {
    if (!group.is_component() || group.impl == "builtin." + group.kind) continue;
    throw InputError(
        {"device.no-behaviour", machine_.where(group.path),
         fmt::format("'{}' of {} is registered with its parameters, but has no behaviour to simulate",
                     group.impl, group.path),
         fmt::format("use builtin.{} to simulate; `topology show`, `check` and `draw` work as it is",
                     group.kind)});
  }
}

DmaEngine& Device::dma(PeCoord pe) {
  auto& engine = dma_[index(pe)];
  if (!engine) engine = std::make_unique<DmaEngine>(fabric_, graph_.pe(pe, NodeKind::pe_dma), machine_);
  return *engine;
}

address::MmuMap& Device::mmu(PeCoord pe) {
  auto& map = mmu_[index(pe)];
  if (!map) map = std::make_unique<address::MmuMap>(pe);
  return *map;
}

DmaTransfer::Piece Device::locate(address::PhysAddr address, Bytes bytes) {
  const address::DecodedAddr at = address::decode(address);
  const auto refuse = [&](const std::string& what) {
    throw InputError({"device.no-such-byte", address::to_string(address), what,
                      "`kernbench topology show` lists what the machine has"});
  };
  if (at.sip >= graph_.sips() || at.cube >= graph_.cubes()) refuse("the machine has no such cube");
  const std::int64_t size = bytes.count();
  std::int64_t offset = at.offset.count();
  const auto piece = [&](Memory& memory, Bytes capacity) {
    if (offset + size > capacity.count())
      refuse(fmt::format("{} bytes from there go beyond its {}", size, to_string(capacity)));
    return DmaTransfer::Piece{&memory, {.offset = offset, .row_bytes = size}};
  };
  if (at.resource == address::Resource::Hbm) {
    const auto pe = static_cast<int>(offset / hbm_slice_.count());
    if (pe >= graph_.pes()) refuse("the cube's HBM ends before");
    offset %= hbm_slice_.count();
    return piece(hbm({at.sip, at.cube, pe}), hbm_slice_);
  }
  if (at.resource == address::Resource::Sram) return piece(sram(at.in_cube()), sram_capacity_);
  if (at.resource != address::Resource::Tcm) refuse("data does not live there");
  if (at.pe >= graph_.pes()) refuse("the cube has no such PE");
  return piece(tcm(at.at_pe()), tcm_capacity_);
}

}  // namespace kernbench::device
