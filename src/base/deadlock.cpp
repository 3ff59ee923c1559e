#include "kernbench/deadlock.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/alike.hpp"

namespace kernbench {
namespace {

constexpr std::size_t kShown = 8;  // PEs in a message, or kinds of them

std::string describe_circle(const std::vector<PeCoord>& circle) {
  std::string text;
  for (std::size_t i = 0; i < circle.size(); ++i) {
    if (i == kShown) {
      text += fmt::format(" → … ({} PEs)", circle.size());
      break;
    }
    text += fmt::format("{}{}", i == 0 ? "" : " → ", to_string(circle[i]));
  }
  return fmt::format("\ncircle: {} → {}", text, to_string(circle.front()));
}

/// Equal for PEs that wait at the same lines for the same things, whoever is to bring them.
std::string way_of_waiting(const BlockedPe& b) {
  std::string way = b.kernel;
  for (const auto& w : b.waits) {
    way += fmt::format("\n{} {} ", w.command, w.line);
    std::string what = w.what;
    for (const PeCoord& peer : w.peers)
      for (auto at = what.find(to_string(peer)); at != what.npos; at = what.find(to_string(peer)))
        what.erase(at, to_string(peer).size());
    way += what;
  }
  for (const auto& t : b.live_tiles) way += fmt::format("\n{} {} {}", t.direction, t.received, t.reader);
  return way;
}

/// Who waits alike.
std::string describe_alike(const std::vector<BlockedPe>& group) {
  std::string text = to_string(group.front());
  if (group.size() == 1) return text;
  std::string others;
  for (std::size_t i = 1; i < group.size() && group.size() <= kShown; ++i)
    others += fmt::format("{}{}", i == 1 ? "" : ", ", to_string(group[i].pe));
  if (others.empty()) others = fmt::format("{} … {}", to_string(group[1].pe), to_string(group.back().pe));
  return text.insert(text.find('\n'),
                     fmt::format(", and {} more at the same lines ({})", group.size() - 1, others));
}

/// Describes each of a few, and of many one of each kind.
std::string describe(const std::vector<BlockedPe>& blocked) {
  std::string text;
  if (blocked.size() <= kShown) {
    for (const BlockedPe& b : blocked) text += "\n" + to_string(b);
    return text;
  }
  std::size_t shown = 0;
  const auto groups = alike(blocked, way_of_waiting);
  for (std::size_t i = 0; i < std::min(kShown, groups.size()); shown += groups[i++].size())
    text += "\n" + describe_alike(groups[i]);
  if (groups.size() > kShown) text += fmt::format("\n… and {} more, at other lines", blocked.size() - shown);
  return text;
}

/// Whether nobody waits for anything but a credit.
bool all_send(const std::vector<BlockedPe>& blocked) {
  return std::ranges::all_of(blocked, [](const BlockedPe& b) {
    return !b.waits.empty() &&
           std::ranges::all_of(b.waits, [](const auto& w) { return w.command.starts_with("send "); });
  });
}

std::string what_to_do(const std::vector<BlockedPe>& blocked) {
  if (std::ranges::any_of(blocked, [](const BlockedPe& b) { return !b.live_tiles.empty(); }))
    return "live tiles hold the credits of their slots: use more slots, or read received tiles before "
           "sending on";
  if (all_send(blocked))
    return "all of them send and nobody receives, and what they send is more than the slots hold: receive in "
           "the same "
           "kernel, or use more or larger slots; in a host program call recv or irecv before the launch, "
           "collective or "
           "read that follows an isend, for that lets the messages called so far go alone";
  return "every receive needs a send: do all PEs take part, with the same sizes and counts?";
}

Error::Info info_of(const std::vector<BlockedPe>& blocked, const std::vector<PeCoord>& circle) {
  std::string text = fmt::format("{} program{} cannot go on", blocked.size(), blocked.size() == 1 ? "" : "s");
  text += describe(blocked);
  if (!circle.empty()) text += describe_circle(circle);
  return {"device.deadlock", "", text, what_to_do(blocked)};
}

}  // namespace

IpcqDeadlock::IpcqDeadlock(std::vector<BlockedPe> blocked, std::vector<PeCoord> circle)
    : SimulationError(info_of(blocked, circle)), blocked_(std::move(blocked)), circle_(std::move(circle)) {}

std::string to_string(const BlockedPe& b) {
  std::string text = fmt::format("  {} in kernel '{}'", to_string(b.pe), b.kernel);
  for (const auto& w : b.waits) text += fmt::format("\n    {} at {}: {}", w.command, w.line, w.what);
  for (const auto& t : b.live_tiles)
    text += fmt::format("\n    slot {} of {} holds the tile received at {} until {} has retired", t.slot,
                        t.direction, t.received, t.reader);
  for (const auto& r : b.rings) {
    text += fmt::format("\n    {}: ", r.direction);
    if (r.sends) text += fmt::format("sent {}, consumed {}; ", r.my_head, r.peer_tail_cache);
    if (r.receives) text += fmt::format("announced {}, received {}; ", r.peer_head_cache, r.my_tail);
    text += fmt::format("{} slot{}", r.slots, r.slots == 1 ? "" : "s");
  }
  return text;
}

}  // namespace kernbench
