#include "data/slot_watch.hpp"

#include <algorithm>

namespace kernbench::data {

void SlotWatch::sent(const Event& event, const Message& message, Time start) {
  slots_[{message.ring, message.number}].send = event;
  const auto ring = facts_.ring(message.ring);
  if (message.number < ring.slots) return;
  const auto old = slots_.find({message.ring, message.number - ring.slots});
  if (old == slots_.end()) return;
  if (!old->second.received)  // stays, as a message nobody received
    return found_.push_back({old->second.send, event});
  old->second.overwritten_by = event;
  old->second.overwritten = start;
  if (old->second.readers_left == 0) judge(old);
}

/// All readers have retired, and the slot has been written again.
void SlotWatch::judge(std::map<Key, Slot>::iterator slot) {
  const Slot& s = slot->second;
  if (s.last_use > s.overwritten) found_.push_back({s.last_user, *s.overwritten_by});
  slots_.erase(slot);
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
  slot.last_reader = {event.origin, stays ? tile.last_reader : event.command};
  slot.last_user = event;
  slot.last_use = end;
  if (slot.readers_left > 0) tiles_.emplace(std::pair(event.origin, event.command), found->first);
}

void SlotWatch::ended(const Event& event, Time retired) {
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
      if (retired >= slot->second.last_use) {
        slot->second.last_use = retired;
        slot->second.last_user = event;
      }
      if (--slot->second.readers_left > 0) continue;
      if (slot->second.overwritten_by) judge(slot);
    }
    tiles_.erase(tile);  // read by all, or its slot is no longer watched
  }
}

void SlotWatch::finish() {
  for (const auto& [key, slot] : slots_)
    if (slot.overwritten_by && slot.readers_left > 0)
      found_.push_back({slot.last_reader, *slot.overwritten_by});
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
