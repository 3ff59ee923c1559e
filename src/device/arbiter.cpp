#include "device/arbiter.hpp"

#include <algorithm>
#include <utility>

#include "device/fabric.hpp"
#include "device/instant.hpp"
#include "kernbench/error.hpp"

namespace kernbench::device {

Arbiter::Arbiter(Fabric& fabric, const Hop& hop, std::unique_ptr<models::LinkModel> model)
    : fabric_(fabric),
      link_(*hop.state),
      partition_(hop.state->domain->partition_),
      rank_(choice_rank(Chooser::link, hop.link.index)),
      model_(std::move(model)),
      link_is_free_(*this),
      all_are_here_(*this) {}

void Arbiter::arrive(Packet& packet, const Hop& hop) {
  const Time now = partition_.now();
  const bool starts = &hop == &packet.message->route->first();
  packet.hop = &hop;
  const auto behind = [&](const Waiting& w) {
    return w.arrival == now && w.packet->message->key() > packet.message->key();
  };
  auto at = waiting_.end();
  while (at != waiting_.begin() && behind(at[-1])) --at;
  waiting_.insert(at, {&packet, &hop, now, starts});
  if (link_.free_at <= now) return ask();
  if (!link_is_free_.scheduled()) partition_.schedule_at(link_is_free_, link_.free_at);
}

void Arbiter::ask() {
  if (!all_are_here_.scheduled()) partition_.choose(all_are_here_, rank_);
}

void Arbiter::decide() {
  const Time now = partition_.now();
  if (waiting_.empty() || link_.free_at > now) return;
  show();
  const std::size_t chosen = model_->choose(shown_, now);
  KB_ASSERT(chosen < shown_.size(), "a link model chose packet {} of {}", chosen, shown_.size());
  const std::size_t index = shown_at_[chosen];
  const Waiting packet = waiting_[index];
  waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(index));
  send(packet, shown_[chosen]);
  if (!waiting_.empty() && !link_is_free_.scheduled()) partition_.schedule_at(link_is_free_, link_.free_at);
}

/// The first packet of each message.
void Arbiter::show() {
  shown_.clear();
  shown_at_.clear();
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    const Waiting& w = waiting_[i];
    const Message& message = *w.packet->message;
    const auto same = [&](std::size_t other) { return waiting_[other].packet->message == &message; };
    if (std::any_of(shown_at_.begin(), shown_at_.end(), same)) continue;
    shown_at_.push_back(i);
    shown_.push_back({.arrival = w.arrival,
                      .tail = w.packet->tail,
                      .bytes = w.packet->bytes(),
                      .message_bytes = message.bytes,
                      .occupancy = fabric_.occupancy(*w.packet, *w.hop),
                      .traffic = static_cast<int>(message.channel),
                      .sender = message.key() >> 32});
  }
}

/// The formula of a link, with what the model adds. What leaves a link arrives in the order in which it left.
void Arbiter::send(const Waiting& chosen, const models::WaitingPacket& shown) {
  Packet& packet = *chosen.packet;
  const Hop& hop = *chosen.hop;
  const Time now = partition_.now();
  const models::Passing passing = model_->pass(shown, now);
  KB_ASSERT(passing.busy >= shown.occupancy && passing.delay >= Time(),
            "a link model let {} bytes pass in {} ps, which take {} ps, with a delay of {} ps",
            shown.bytes.count(), passing.busy.ps(), shown.occupancy.ps(), passing.delay.ps());
  const Time end = std::max(now + passing.busy, packet.tail);
  link_.free_at = std::max(end, now + Time::from_ps(1));
  link_.deepest_wait = std::max(link_.deepest_wait, now - chosen.arrival);
  link_.bytes += shown.bytes;
  if (fabric_.notes_.kept())
    fabric_.notes_.add(hop.link, *packet.message, 1, shown.bytes, now - chosen.arrival);
  ++link_.domain->counters_.packet_hops;
  if (fabric_.watcher_) [[unlikely]]
    fabric_.watcher_->on_link(*packet.message, packet.index, hop, now, end);
  Message& message = *packet.message;
  if (chosen.starts && packet.is_last()) fabric_.leaves(message, link_.free_at);
  last_head_ = std::max(last_head_, now + hop.forward + passing.delay);
  last_tail_ = std::max(last_tail_, end + hop.forward + passing.delay);
  packet.tail = last_tail_;
  packet.crossing = false;
  partition_.post(fabric_.simulation_.partition(hop.next_partition), packet, last_head_ - now);
}

}  // namespace kernbench::device
