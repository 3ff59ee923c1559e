#include "kernbench/deadlock.hpp"

#include <fmt/format.h>

namespace kernbench {
namespace {

constexpr std::size_t kShown = 8;  // PEs in a message

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

Error::Info info_of(const std::vector<BlockedPe>& blocked, const std::vector<PeCoord>& circle) {
  std::string text = fmt::format("{} program{} cannot go on", blocked.size(), blocked.size() == 1 ? "" : "s");
  bool live_tiles = false;
  for (std::size_t i = 0; i < blocked.size(); ++i) {
    if (i < kShown) text += "\n" + to_string(blocked[i]);
    live_tiles |= !blocked[i].live_tiles.empty();
  }
  if (blocked.size() > kShown) text += fmt::format("\n… and {} more", blocked.size() - kShown);
  if (!circle.empty()) text += describe_circle(circle);
  return {"device.deadlock", "", text,
          live_tiles
              ? "live tiles hold the credits of their slots: use more slots, or read received tiles before "
                "sending on"
              : "every receive needs a send: do all PEs take part, with the same sizes and counts?"};
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
