#include "device/pe_ipcq.hpp"

#include <algorithm>
#include <utility>

#include "device/device.hpp"
#include "device/pe.hpp"
#include "device/processors.hpp"
#include "kernbench/error.hpp"

namespace kernbench::device {

using topology::NodeKind;

PeIpcq::PeIpcq(Processors& processors, PeCoord at, QueueUser& user)
    : processors_(processors),
      device_(processors.device()),
      at_(at),
      user_(user),
      partition_(device_.simulation().partition(at.sip + 1)),
      dma_(device_.dma(at)),
      node_(device_.graph().pe(at, NodeKind::pe_ipcq)),
      tcm_(device_.graph().pe(at, NodeKind::pe_tcm)),
      overhead_(device_.machine().at("pe.pe_ipcq").time("overhead_ns")) {}

void PeIpcq::install(const WiringPtr& wiring) {
  KB_ASSERT(!find(*wiring), "wiring '{}' is at {} already", wiring->name(), to_string(at_));
  const auto ends = wiring->ends(at_);
  Installed made{wiring, {}};
  for (int i = 0; i < static_cast<int>(ends.size()); ++i)
    made.ports.push_back(std::make_unique<QueuePort>(*this, wiring, ends, i));
  installed_.push_back(std::move(made));
  index_ports();
}

void PeIpcq::uninstall(const InstalledWiring& wiring) {
  const auto found = std::find_if(installed_.begin(), installed_.end(),
                                  [&](const Installed& i) { return i.wiring.get() == &wiring; });
  if (found == installed_.end()) return;
  dropped_.push_back(std::move(*found));
  installed_.erase(found);
  index_ports();
}

PeIpcq::Ports* PeIpcq::find(const InstalledWiring& wiring) {
  for (Installed& i : installed_)
    if (i.wiring.get() == &wiring) return &i.ports;
  return nullptr;
}

void PeIpcq::index_ports() {
  by_own_ring_.clear();
  by_peers_ring_.clear();
  for (const Installed& i : installed_) {
    const QueueRules& rules = i.wiring->rules();
    const auto bytes = static_cast<std::uint64_t>((rules.slot_size * rules.slots).count());
    for (const auto& port : i.ports) {
      const std::uint64_t own = port->plan.receives_from.raw();
      const std::uint64_t peers = port->plan.sends_to.raw();
      if (port->plan.receives) by_own_ring_.push_back({own, own + bytes, port.get()});
      if (port->plan.sends) by_peers_ring_.push_back({peers, peers + bytes, port.get()});
    }
  }
  for (auto* entries : {&by_own_ring_, &by_peers_ring_})
    std::sort(entries->begin(), entries->end(),
              [](const Entry& a, const Entry& b) { return a.base < b.base; });
}

QueuePort* PeIpcq::find(const std::vector<Entry>& entries, address::PhysAddr address) {
  const auto after = std::upper_bound(entries.begin(), entries.end(), address.raw(),
                                      [](std::uint64_t at, const Entry& e) { return at < e.base; });
  if (after == entries.begin() || address.raw() >= std::prev(after)->end) return nullptr;
  return std::prev(after)->port;
}

/// A message or credit of a wiring that has been dropped meanwhile concerns nobody any more.
void PeIpcq::announce(address::PhysAddr slot, std::uint32_t ring, const SendFacts& facts, Time committed) {
  QueuePort* port = find(by_own_ring_, slot);
  if (!port || port->plan.receive_ring != ring) return;
  const std::uint64_t offset = slot.raw() - port->plan.receives_from.raw();
  const auto size = static_cast<std::uint64_t>(port->wiring->rules().slot_size.count());
  if (port->receives.announce(static_cast<std::uint32_t>(offset / size), facts, committed))
    user_.on_message(*port);
}

void PeIpcq::credit(address::PhysAddr base, std::uint32_t ring, const Cause& freed) {
  QueuePort* port = find(by_peers_ring_, base);
  if (port && port->plan.send_ring == ring) port->sends.on_credit(freed);
}

PeIpcq& PeIpcq::peer(PeCoord at) { return processors_.pe(at).ipcq(); }

}  // namespace kernbench::device
