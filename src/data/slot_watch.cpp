#include "data/slot_watch.hpp"

#include <algorithm>

namespace kernbench::data {

SlotWatch::Watched& SlotWatch::watched(std::uint32_t ring) {
  if (ring >= rings_.size()) rings_.resize(ring + 1);
  Watched& watched = rings_[ring];
  if (!watched.ring) watched.ring = facts_.ring(ring);
  return watched;
}

SlotWatch::Slot* SlotWatch::find(Watched& ring, std::uint32_t number) {
  const auto found = std::ranges::find(ring.slots, number, &Slot::number);
  return found == ring.slots.end() ? nullptr : &*found;
}

void SlotWatch::sent(const Event& event, const Message& message, Time start) {
  Watched& ring = watched(message.ring);
  if (Slot* old =
          message.number < ring.ring->slots ? nullptr : find(ring, message.number - ring.ring->slots)) {
    if (!old->received) {  // stays, as a message nobody received
      found_.push_back({old->send, event});
    } else {
      old->overwritten_by = event;
      old->overwritten = start;
      if (old->readers_left == 0) judge(ring, *old);
    }
  }
  ring.slots.push_back({.number = message.number, .send = event});
}

/// All readers have retired, and the slot has been written again.
void SlotWatch::judge(Watched& ring, Slot& slot) {
  if (slot.last_use > slot.overwritten) found_.push_back({slot.last_user, *slot.overwritten_by});
  slot = ring.slots.back();
  ring.slots.pop_back();
}

void SlotWatch::received(const Event& event, const Message& message, Time end) {
  Watched& ring = watched(message.ring);
  Slot* slot = find(ring, message.number);
  if (slot == nullptr) return;
  const auto& program = *facts_.origin(event.origin).program;
  const auto& command = program.command(event.command);
  const auto& tile = program.value(command.result);
  const bool stays = ring.ring->in_slot && !program.has_destination(command);
  slot->received = true;
  slot->readers_left = stays ? tile.readers : 0;
  slot->last_reader = {event.origin, stays ? tile.last_reader : event.command};
  slot->last_user = event;
  slot->last_use = end;
  if (slot->readers_left == 0) return;
  if (event.origin >= tiles_.size()) tiles_.resize(event.origin + 1);
  auto& tiles = tiles_[event.origin];
  if (tiles.empty()) tiles.resize(program.commands().size());
  tiles[event.command] = {message.ring, message.number};
}

void SlotWatch::ended(const Event& event, Time retired) {
  if (event.origin >= tiles_.size() || tiles_[event.origin].empty()) return;
  auto& tiles = tiles_[event.origin];
  const auto& program = *facts_.origin(event.origin).program;
  const auto reads = program.reads(program.command(event.command));
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const auto producer = program.value(reads[i]).producer;
    const auto same = [&](isa::ValueId other) { return program.value(other).producer == producer; };
    if (producer == isa::kNone || tiles[producer].ring == isa::kNone ||
        std::ranges::any_of(reads.first(i), same))
      continue;
    read(tiles[producer], event, retired);
  }
}

void SlotWatch::read(Tile& tile, const Event& reader, Time retired) {
  Watched& ring = rings_[tile.ring];
  if (Slot* slot = find(ring, tile.number)) {
    if (retired >= slot->last_use) {
      slot->last_use = retired;
      slot->last_user = reader;
    }
    if (--slot->readers_left > 0) return;
    if (slot->overwritten_by) judge(ring, *slot);
  }
  tile = {};  // read by all, or its slot is no longer watched
}

template <class Fn>
void SlotWatch::for_slots(const Watched& ring, Fn&& fn) const {
  std::vector<const Slot*> slots;
  for (const Slot& slot : ring.slots) slots.push_back(&slot);
  std::ranges::sort(slots, {}, &Slot::number);
  for (const Slot* slot : slots) fn(*slot);
}

void SlotWatch::finish() {
  for (const Watched& ring : rings_)
    for_slots(ring, [&](const Slot& slot) {
      if (slot.overwritten_by && slot.readers_left > 0)
        found_.push_back({slot.last_reader, *slot.overwritten_by});
    });
}

std::vector<Event> SlotWatch::unread(std::optional<std::uint32_t> ring) const {
  std::vector<Event> sends;
  const std::size_t end = ring ? std::min<std::size_t>(*ring + 1, rings_.size()) : rings_.size();
  for (std::size_t r = ring.value_or(0); r < end; ++r)
    for_slots(rings_[r], [&](const Slot& slot) {
      if (!slot.received) sends.push_back(slot.send);
    });
  return sends;
}

void SlotWatch::drop(std::uint32_t ring) {
  if (ring < rings_.size()) rings_[ring] = {};
}

}  // namespace kernbench::data
