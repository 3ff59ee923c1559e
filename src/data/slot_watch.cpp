#include "data/slot_watch.hpp"

#include <algorithm>

namespace kernbench::data {

std::optional<SlotWatch::Overwritten> SlotWatch::sent(const Event& event, const Message& message,
                                                      Time start) {
  slots_[{message.ring, message.number}].send = event;
  const auto ring = facts_.ring(message.ring);
  if (message.number < ring.slots) return {};
  const auto found = slots_.find({message.ring, message.number - ring.slots});
  if (found == slots_.end()) return {};
  const auto old = found->second;
  if (!old.received) return Overwritten{old.send, event};  // stays, as a message nobody received
  slots_.erase(found);
  if (old.readers_left == 0 && old.last_use <= start) return {};
  return Overwritten{old.last_user, event};
}

void SlotWatch::received(const Event& event, const Message& message, Time end) {
  const auto found = slots_.find({message.ring, message.number});
  if (found == slots_.end()) return;
  auto& slot = found->second;
  const auto& program = *facts_.origin(event.origin).program;
  const auto& command = program.command(event.command);
  const auto& tile = program.value(command.result);
  const bool stays = facts_.ring(message.ring).in_slot && !program.has_destination(command);
  slot.received = true;
  slot.readers_left = stays ? tile.readers : 0;
  slot.last_user = {event.origin, stays ? tile.last_reader : event.command};
  slot.last_use = end;
  if (slot.readers_left > 0) tiles_.emplace(std::pair(event.origin, event.command), found->first);
}

void SlotWatch::ended(const Event& event, Time end) {
  const auto* program = facts_.origin(event.origin).program;
  if (program == nullptr || tiles_.empty()) return;
  const auto reads = program->reads(program->command(event.command));
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const auto producer = program->value(reads[i]).producer;
    const auto same = [&](isa::ValueId other) { return program->value(other).producer == producer; };
    if (producer == isa::kNone || std::ranges::any_of(reads.first(i), same)) continue;
    const auto tile = tiles_.find({event.origin, producer});
    if (tile == tiles_.end()) continue;
    const auto slot = slots_.find(tile->second);
    if (slot != slots_.end()) {
      slot->second.last_use = end;
      if (--slot->second.readers_left > 0) continue;
      slot->second.last_user = event;
    }
    tiles_.erase(tile);  // read by all, or its slot is no longer watched
  }
}

std::vector<Event> SlotWatch::unread(std::optional<std::uint64_t> ring) const {
  std::vector<Event> sends;
  for (const auto& [key, slot] : slots_)
    if (!slot.received && (!ring || *ring == key.first)) sends.push_back(slot.send);
  return sends;
}

void SlotWatch::drop(std::uint64_t ring) {
  slots_.erase(slots_.lower_bound({ring, 0}), slots_.upper_bound({ring, UINT64_MAX}));
}

}  // namespace kernbench::data
