#include "device/device.hpp"

#include <fmt/format.h>

#include "kernbench/error.hpp"

namespace kernbench::device {

using topology::NodeKind;

namespace {

/// Models of links that the fabric has to ask. The graph's nodes of one kind are one component of the machine file.
LinkModels link_models(const topology::Machine& machine) {
  machine.require_behaviours();
  LinkModels all;
  const auto add = [&](const char* path, std::initializer_list<NodeKind> kinds) {
    const auto& make = machine.behaviour<models::LinkFactory>(path);
    const ParamSet& params = machine.at(path);
    if (make(params)->regular()) return;
    for (const NodeKind kind : kinds) all.of(kind) = [&make, &params] { return make(params); };
  };
  add("cube.routers", {NodeKind::router});
  add("cube.ucie", {NodeKind::ucie, NodeKind::io_ucie});
  add("sip.io.io_noc", {NodeKind::io_noc});
  add("sip.io.pcie_ep", {NodeKind::pcie_ep});
  add("system.switch", {NodeKind::switch_});
  return all;
}

}  // namespace

Device::Device(const topology::Machine& machine, FabricOptions options)
    : machine_(machine),
      graph_(machine_),
      hbm_slice_(machine_.hbm_slice()),
      sram_capacity_(machine_.at("cube.sram").bytes("capacity_mb")),
      tcm_capacity_(machine_.at("pe.pe_tcm").bytes("capacity_mb")),
      takes_shortcuts_(options.shortcuts),
      simulation_(graph_.partition_count(), Fabric::lookahead(graph_)),
      fabric_(simulation_, graph_, FabricSpec::of(machine_), options, link_models(machine_)),
      control_(fabric_, machine_) {
  dma_model_ = machine_.behaviour<models::DmaFactory>("pe.pe_dma")(machine_.at("pe.pe_dma"));
  const HbmMaker hbm(machine_);
  for (int sip = 0; sip < graph_.sips(); ++sip) {
    for (int cube = 0; cube < graph_.cubes(); ++cube) {
      sram_.push_back(std::make_unique<PortMemory>(fabric_, graph_.sram({sip, cube})));
      for (int pe = 0; pe < graph_.pes(); ++pe) {
        const PeCoord at{sip, cube, pe};
        hbm_.push_back(hbm.make(fabric_, graph_.hbm_ctrl(at)));
        tcm_.push_back(std::make_unique<PortMemory>(fabric_, graph_.pe(at, NodeKind::pe_tcm)));
      }
    }
  }
  dma_.resize(hbm_.size());
  mmu_.resize(hbm_.size());
}

Device::~Device() = default;

DmaEngine& Device::dma(PeCoord pe) {
  auto& engine = dma_[index(pe)];
  if (!engine)
    engine = std::make_unique<DmaEngine>(fabric_, graph_.pe(pe, NodeKind::pe_dma), machine_, *dma_model_);
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
