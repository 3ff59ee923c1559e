#include "dist/wirings.hpp"

#include "device/pe.hpp"

namespace kernbench::dist {

const Wired& Wirings::ready(const ccl::Settings& settings, const ccl::PlanRequest& request) {
  const Key key{settings.name, request.group, request.sips, request.pes, request.lanes};
  auto found = entries_.find(key);
  if (found == entries_.end()) {
    Entry entry;
    entry.wired.plan =
        ccl::make_plan(registry_, settings, engine_.machine(), engine_.space().pools(), request);
    found = entries_.emplace(key, std::move(entry)).first;
  }
  Entry& entry = found->second;
  const bool there =
      entry.wired.wiring && entry.given_up == engine_.times_given_up() && entry.generation == generation_;
  if (!there) install(entry);
  return entry.wired;
}

std::vector<QueueCounters> Wirings::counters() const {
  engine_.look();
  std::vector<QueueCounters> out;
  for (const auto& [key, entry] : entries_) {
    const device::WiringPtr& wiring = entry.wired.wiring;
    if (!wiring || entry.given_up != engine_.times_given_up()) continue;
    for (int sip = 0; sip < engine_.machine().sips(); ++sip)
      for (const PeCoord pe : wiring->pes_of(sip)) {
        const auto* ports = engine_.processors().pe(pe).ipcq().find(*wiring);
        if (!ports) continue;  // on its way there
        for (const auto& port : *ports)
          out.push_back({wiring->name(), pe, port->plan.direction, port->plan.peer, port->plan.receives_from,
                         port->sends.my_head(), port->sends.peer_tail_cache(),
                         port->receives.peer_head_cache(), port->receives.my_tail()});
      }
  }
  return out;
}

/// The calling rank's own stream if it is on that SIP, else that of a rank which takes part. In another's, the
/// installation could come behind a launch that waits for one which comes after it.
runtime::Stream& Wirings::stream_for(int sip, const device::InstalledWiring& wiring) {
  if (engine_.current_stream().sip() == sip) return engine_.current_stream();
  if (engine_.devices_are_pes())
    for (int device = 0; device < engine_.devices(); ++device)
      if (engine_.sip_of(device) == sip && !wiring.ends(engine_.pe_of(device)).empty())
        return engine_.stream(device);
  return engine_.stream_of_sip(sip);
}

/// Launches that were given up have taken all queues with them; else the old ones are replaced.
void Wirings::install(Entry& entry) {
  device::QueueBook& book = engine_.processors().queues();
  Wired& wired = entry.wired;
  device::WiringPtr replaced;
  if (wired.wiring && entry.given_up == engine_.times_given_up()) {
    replaced = wired.wiring;
    book.drop(*replaced);
  }
  wired.wiring = book.add(wired.plan.wiring);
  wired.installs.clear();
  for (int sip = 0; sip < engine_.machine().sips(); ++sip)
    if (!wired.wiring->pes_of(sip).empty())
      wired.installs.push_back(engine_.install(stream_for(sip, *wired.wiring), wired.wiring, replaced));
  entry.given_up = engine_.times_given_up();
  entry.generation = generation_;
}

}  // namespace kernbench::dist
