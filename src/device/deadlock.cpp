#include "kernbench/deadlock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "device/pe.hpp"
#include "device/processors.hpp"

namespace kernbench::device {
namespace {

std::string line_of(const isa::Program& program, isa::CommandIndex command) {
  return isa::to_string(program.line(program.command(command)));
}

std::string name_of(const isa::Program& program, isa::CommandIndex command) {
  const isa::Command& c = program.command(command);
  if (c.kind == isa::CommandKind::ipcq_send) return fmt::format("send {}", program.direction(c));
  if (c.kind != isa::CommandKind::ipcq_recv) return std::string(isa::to_string(c.kind));
  return c.detail == isa::kNone ? "recv_any" : fmt::format("recv {}", program.direction(c));
}

/// Follows who waits for whom until somebody comes up a second time.
class CircleFinder {
 public:
  explicit CircleFinder(const std::vector<BlockedPe>& blocked) {
    for (const BlockedPe& b : blocked)
      for (const auto& wait : b.waits)
        peers_[b.pe].insert(peers_[b.pe].end(), wait.peers.begin(), wait.peers.end());
  }

  std::vector<PeCoord> find() {
    for (const auto& [pe, peers] : peers_)
      if (!seen_[pe] && visit(pe)) return circle_;
    return {};
  }

 private:
  /// Depth first, without recursion: machines have thousands of PEs.
  bool visit(PeCoord start) {
    struct Step {
      PeCoord pe;
      std::size_t next = 0;
    };
    std::vector<Step> path = {{start}};
    seen_[start] = true;
    while (!path.empty()) {
      Step& here = path.back();
      const auto& peers = peers_[here.pe];
      if (here.next == peers.size()) {
        path.pop_back();
        continue;
      }
      const PeCoord peer = peers[here.next++];
      const auto again = std::ranges::find(path, peer, &Step::pe);
      if (again != path.end()) {
        for (auto step = again; step != path.end(); ++step) circle_.push_back(step->pe);
        return true;
      }
      if (!peers_.contains(peer) || seen_[peer]) continue;
      seen_[peer] = true;
      path.push_back({peer});
    }
    return false;
  }

  std::map<PeCoord, std::vector<PeCoord>> peers_;
  std::map<PeCoord, bool> seen_;
  std::vector<PeCoord> circle_;
};

}  // namespace

std::optional<IpcqDeadlock> Processors::find_deadlock() const {
  std::vector<BlockedPe> blocked;
  for (const auto& pe : pes_)
    if (pe && pe->busy()) blocked.push_back(pe->blocked());
  if (blocked.empty()) return std::nullopt;
  for (BlockedPe& b : blocked)
    for (auto& wait : b.waits)
      for (const PeCoord& peer : wait.peers)
        if (const auto& other = pes_[device_.index(peer)]; !other || !other->busy())
          wait.what += fmt::format("; {} {}", to_string(peer),
                                   other && other->has_run() ? "has ended its program" : "runs no program");
  auto circle = CircleFinder(blocked).find();
  return IpcqDeadlock(std::move(blocked), std::move(circle));
}

BlockedPe Pe::blocked() const {
  BlockedPe b{at_, program().kernel(), {}, {}, {}};
  queues_.for_each_occupied([&](Queue queue) { add_wait(*queues_[queue].first(), b); });
  if (b.waits.empty()) {
    const auto oldest = waiting_for();
    const isa::CommandIndex at = oldest.value_or(issuing_);
    b.waits.push_back({name_of(program(), at), line_of(program(), at), "has not retired", {}});
  }
  for (const LiveSlot& slot : live_slots_) {
    const isa::Value& tile = program().value(slot.tile);
    b.live_tiles.push_back({slot.port->plan.direction,
                            static_cast<int>(slot.number) % slot.port->wiring->rules().slots,
                            line_of(program(), tile.producer),
                            fmt::format("{} at {}", name_of(program(), tile.last_reader),
                                        line_of(program(), tile.last_reader))});
  }
  for (const QueuePort* port : ports_)
    b.rings.push_back({port->plan.direction, port->wiring->rules().slots, port->sends.my_head(),
                       port->sends.peer_tail_cache(), port->receives.peer_head_cache(),
                       port->receives.my_tail(), port->plan.sends, port->plan.receives});
  return b;
}

/// What the first command of a queue waits for, if that is another PE.
void Pe::add_wait(const Order& order, BlockedPe& b) const {
  if (order.in < kEngines) return;
  BlockedPe::Wait wait{name_of(program(), order.index), line_of(program(), order.index), "", {}};
  if (order.kind == isa::CommandKind::ipcq_send) {
    const QueuePort& port = port_of(order.in);
    if (!is_ready(order) || port.sends.has_credit()) return;
    wait.what = fmt::format("no credit from {}{}", to_string(port.plan.peer),
                            port.sends.polls() ? ", for which its CPU looks and issues nothing" : "");
    wait.peers = {port.plan.peer};
  } else if (order.port) {
    if (order.port->receives.has(order.number)) return;
    wait.what = fmt::format("no message from {}", to_string(order.port->plan.peer));
    wait.peers = {order.port->plan.peer};
  } else if (&order == unclaimed_.front()) {
    wait.what = "no message from any direction";
    for (const QueuePort* port : ports_)
      if (port->plan.receives) wait.peers.push_back(port->plan.peer);
  } else {
    return;  // behind a receive from any direction
  }
  b.waits.push_back(std::move(wait));
}

}  // namespace kernbench::device
