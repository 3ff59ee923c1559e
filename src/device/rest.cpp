#include "device/rest.hpp"

#include <algorithm>

#include "device/pe.hpp"

namespace kernbench::device {
namespace {

template <class T>
std::vector<T> difference(const std::vector<T>& after, const std::vector<T>& before) {
  std::vector<T> more = after;
  more.resize(std::max(after.size(), before.size()));
  for (std::size_t i = 0; i < before.size(); ++i) more[i] -= before[i];
  return more;
}

template <class Fn>
void for_each_slice(Device& device, const Fn& fn) {
  const topology::Graph& graph = device.graph();
  std::size_t i = 0;
  for (int sip = 0; sip < graph.sips(); ++sip)
    for (int cube = 0; cube < graph.cubes(); ++cube)
      for (int pe = 0; pe < graph.pes(); ++pe) fn(device.hbm({sip, cube, pe}), i++);
}

}  // namespace

MachineCounts MachineCounts::since(const MachineCounts& before) const {
  MachineCounts more{difference(serials, before.serials), difference(rings, before.rings),
                     difference(links, before.links), difference(served, before.served), fabric};
  more.fabric -= before.fabric;
  return more;
}

template <class Fn>
void Rest::for_each_port(const Fn& fn) const {
  processors_.for_each_pe([&](Pe& pe) { pe.ipcq().for_each_port(fn); });
}

bool Rest::is_possible() const { return processors_.device().hbm({0, 0, 0}).forgets(); }

bool Rest::is_now() const {
  Device& device = processors_.device();
  const Time now = device.host_partition().now();
  if (!device.simulation().idle() || processors_.queue_watcher() != nullptr) return false;
  bool all = device.fabric().at_rest(now);
  for_each_port([&](const QueuePort& port) { all = all && port.sends.at_rest() && port.receives.at_rest(); });
  processors_.for_each_pe([&](const Pe& pe) { all = all && !pe.busy(); });
  return all;
}

std::vector<std::uint32_t> Rest::positions() const {
  std::vector<std::uint32_t> next;
  for_each_port([&](const QueuePort& port) {
    if (port.plan.sends && port.wiring->rules().memory == address::MemorySpace::Hbm)
      next.push_back(port.sends.my_head() % port.sends.slots());
  });
  return next;
}

MachineCounts Rest::counts() const {
  Device& device = processors_.device();
  MachineCounts counts{
      processors_.writer().serials(), {}, device.fabric().carried(), {}, device.fabric().counters()};
  for_each_slice(device,
                 [&](const HbmMemory& slice, std::size_t) { counts.served.push_back(slice.bytes_served()); });
  for_each_port([&](const QueuePort& port) {
    if (!port.plan.sends) return;
    if (counts.rings.size() <= port.plan.send_ring) counts.rings.resize(port.plan.send_ring + 1);
    counts.rings[port.plan.send_ring] = port.sends.my_head();
  });
  return counts;
}

void Rest::add(const MachineCounts& more) {
  Device& device = processors_.device();
  const auto messages = [&](std::uint32_t ring) { return ring < more.rings.size() ? more.rings[ring] : 0; };
  processors_.writer().add_serials(more.serials);
  device.fabric().add(more.links, more.fabric);
  for_each_slice(device, [&](HbmMemory& slice, std::size_t i) { slice.note_served(more.served[i]); });
  for_each_port([&](QueuePort& port) {
    if (port.plan.sends) port.sends.add(messages(port.plan.send_ring));
    if (port.plan.receives) port.receives.add(messages(port.plan.receive_ring));
  });
}

}  // namespace kernbench::device
