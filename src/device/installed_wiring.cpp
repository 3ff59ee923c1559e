#include "device/installed_wiring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "device/device.hpp"
#include "kernbench/error.hpp"
#include "kernbench/program.hpp"

namespace kernbench::device {

using address::MemorySpace;
using address::PhysAddr;

std::span<const InstalledWiring::End> InstalledWiring::ends(PeCoord pe) const {
  const auto found = pes_.find(pe);
  if (found == pes_.end()) return {};
  return found->second;
}

std::vector<PeCoord> InstalledWiring::pes_of(int sip) const {
  std::vector<PeCoord> found;
  for (const auto& [pe, ends] : pes_)
    if (pe.sip == sip) found.push_back(pe);
  return found;
}

/// The rules of one wiring; the first one broken is thrown.
class QueueBook::Check {
 public:
  Check(QueueBook& book, const QueueWiring& wiring) : book_(book), wiring_(wiring) {}

  void rules() const {
    const QueueRules& r = wiring_.rules;
    if (r.slots < 1) refuse("", fmt::format("rings of {} slots", r.slots), "a ring has at least one slot");
    if (r.slot_size < 1_B) refuse("", "slots of no bytes", "a slot holds at least one byte");
    if (r.credit_bytes < 0_B) refuse("", "credits of less than no bytes", "0 makes them signals");
    if (r.backpressure == Backpressure::poll && r.poll < 1_ps)
      refuse("", "polls without a pause", "give poll_ns");
  }

  void pe(const PeQueues& queues, const InstalledWiring& known) const {
    const topology::Graph& graph = book_.device_.graph();
    const PeCoord at = queues.pe;
    const bool exists = at.sip >= 0 && at.sip < graph.sips() && at.cube >= 0 && at.cube < graph.cubes() &&
                        at.pe >= 0 && at.pe < graph.pes();
    if (!exists) refuse(to_string(at), "the machine has no such PE", "");
    if (known.pes_.contains(at)) refuse(to_string(at), "is wired twice", "a PE is wired once per wiring");
    std::set<std::string_view> names;
    for (const QueueEnd& end : queues.ends) {
      if (end.direction.empty() || !names.insert(end.direction).second)
        refuse(place(at, end), "has no name of its own", "every direction of a PE has another name");
      if (end.peer == at) refuse(place(at, end), "leads to the PE itself", "leave such directions out");
      if (!end.sends && !end.receives)
        refuse(place(at, end), "neither sends nor receives", "leave such directions out");
      if (end.receives) memory(at, end);
    }
  }

  /// The ring lies where the rules say, and nobody else is there.
  void memory(PeCoord at, const QueueEnd& end) const {
    const address::DecodedAddr ring = address::decode(end.receives_from);
    const auto resource = wiring_.rules.memory == MemorySpace::Tcm   ? address::Resource::Tcm
                          : wiring_.rules.memory == MemorySpace::Hbm ? address::Resource::Hbm
                                                                     : address::Resource::Sram;
    const bool own = ring.resource == resource && ring.in_cube() == at.in_cube() &&
                     (resource == address::Resource::Sram || pe_of(ring) == at.pe);
    if (!own)
      refuse(place(at, end), fmt::format("has its ring at {}", to_string(end.receives_from)),
             fmt::format("rings in {} are the receiver's own", to_string(wiring_.rules.memory)));
    book_.device_.locate(end.receives_from, ring_bytes());
  }

  int pe_of(const address::DecodedAddr& ring) const {
    if (ring.resource != address::Resource::Hbm) return ring.pe;
    return static_cast<int>(ring.offset.count() / book_.device_.machine().hbm_slice().count());
  }

  static bool leads_back(const InstalledWiring::End& other, const InstalledWiring::End& end) {
    return other.receives == end.sends && other.sends == end.receives &&
           (!end.sends || other.receives_from == end.sends_to) &&
           (!end.receives || other.sends_to == end.receives_from);
  }

  /// Finds the direction at the peer that leads back, for every direction.
  void pair(InstalledWiring& made) const {
    for (auto& [pe, ends] : made.pes_) {
      for (InstalledWiring::End& end : ends) {
        const auto peers = made.ends(end.peer);
        const auto back = std::ranges::find_if(peers, [&, here = pe](const InstalledWiring::End& other) {
          return other.peer == here && leads_back(other, end);
        });
        if (back == peers.end())
          refuse(place(pe, end.direction),
                 fmt::format("no direction of {} leads back, from ring to ring", to_string(end.peer)),
                 "every direction has a reciprocal at its peer");
        end.send_ring = back->receive_ring;
      }
    }
  }

  void occupy(PeCoord at, const QueueEnd& end, std::uint32_t ring) const {
    const std::uint64_t first = end.receives_from.raw();
    const std::uint64_t last = first + static_cast<std::uint64_t>(ring_bytes().count());
    const auto next = book_.occupied_.lower_bound(first);
    const auto clash = [&](const auto& other) {
      refuse(place(at, end),
             fmt::format("its ring of {} at {} overlaps the one of {}", kernbench::to_string(ring_bytes()),
                         to_string(end.receives_from), other.second.who),
             "the rings of all PEs and wirings are disjoint");
    };
    if (next != book_.occupied_.end() && next->first < last) clash(*next);
    if (next != book_.occupied_.begin() && std::prev(next)->second.end > first) clash(*std::prev(next));
    book_.occupied_[first] = {last, fmt::format("{} of wiring '{}'", place(at, end), wiring_.name), ring};
  }

  [[noreturn]] void refuse(const std::string& where, const std::string& what, const std::string& hint) const {
    throw InputError({"device.wiring",
                      fmt::format("wiring '{}'{}{}", wiring_.name, where.empty() ? "" : ", ", where), what,
                      hint});
  }

  static std::string place(PeCoord at, std::string_view direction) {
    return fmt::format("{} {}", to_string(at), direction);
  }
  static std::string place(PeCoord at, const QueueEnd& end) { return place(at, end.direction); }

 private:
  Bytes ring_bytes() const { return wiring_.rules.slot_size * wiring_.rules.slots; }

  QueueBook& book_;
  const QueueWiring& wiring_;
};

WiringPtr QueueBook::add(const QueueWiring& wiring) {
  auto made = std::make_shared<InstalledWiring>();
  const Check check(*this, wiring);
  check.rules();
  made->name_ = wiring.name;
  made->rules_ = wiring.rules;
  made->first_ring_ = next_ring_;
  for (const PeQueues& pe : wiring.pes) {
    check.pe(pe, *made);
    auto& ends = made->pes_[pe.pe];
    for (const QueueEnd& end : pe.ends)
      ends.push_back({end.direction, end.peer, end.receives_from, end.sends_to, end.sends, end.receives,
                      end.receives ? next_ring_ + made->rings_++ : 0, 0});
  }
  check.pair(*made);
  try {
    std::uint32_t ring = next_ring_;
    for (const PeQueues& pe : wiring.pes)
      for (const QueueEnd& end : pe.ends)
        if (end.receives) check.occupy(pe.pe, end, ring++);
  } catch (...) {
    drop(*made);
    throw;
  }
  if (made->rings_ > 0) rings_[next_ring_] = {wiring.rules.slots, made->in_slot()};
  next_ring_ += made->rings_;
  return made;
}

WiringPtr joined(const std::vector<WiringPtr>& parts) {
  if (parts.size() == 1) return parts.front();
  auto made = std::make_shared<InstalledWiring>();
  made->name_ = parts.front()->name();
  made->rules_ = parts.front()->rules();
  made->parts_ = parts;
  for (const WiringPtr& part : parts)
    for (const auto& [pe, ends] : part->pes_)
      made->pes_[pe].insert(made->pes_[pe].end(), ends.begin(), ends.end());
  return made;
}

void QueueBook::drop(const InstalledWiring& wiring) {
  const std::uint32_t first = wiring.first_ring(), end = first + wiring.rings();
  std::erase_if(occupied_, [&](const auto& at) { return at.second.ring >= first && at.second.ring < end; });
}

void QueueBook::drop_all() { occupied_.clear(); }

QueueBook::Ring QueueBook::ring(std::uint32_t number) const {
  KB_ASSERT(number < next_ring_, "ring {} of {}", number, next_ring_);
  return std::prev(rings_.upper_bound(number))->second;
}

QueueMessage message_of(const OpRecord& record, const Origin& origin) {
  if (record.kind == OpKind::ipcq_recv) return {record.phase[2], record.phase[1]};
  KB_ASSERT(record.kind == OpKind::ipcq_send && origin.queues, "a record of {} is no message",
            to_string(record.kind));
  const std::uint32_t direction = origin.program->command(record.command).detail;
  const int end = origin.queues->ends[direction];
  return {origin.queues->at[static_cast<std::size_t>(end)].send_ring, record.phase[2]};
}

}  // namespace kernbench::device
