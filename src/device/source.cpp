#include <algorithm>
#include <utility>

#include "device/fabric.hpp"

namespace kernbench::device {

void Source::open(Message& message) {
  if (latest_.packet && latest_.at == partition_.now() && latest_.packet->scheduled()) take_back();
  ring_of(message).messages.push_back(&message);
  sole_ = ++open_count_ == 1 ? &message : nullptr;
  reschedule();
}

void Source::take_turn(Time duration, sim::Event& done) {
  if (idle() && first_link_.free_at <= partition_.now()) return start({duration, &done});
  others_.push_back({duration, &done});
  reschedule();
}

void Source::start(const Other& other) {
  others_turn_ = false;
  first_link_.free_at = partition_.now() + other.duration;
  partition_.schedule(*other.done, other.duration);
}

/// When the next packet may be offered: when it is there, and the packet of its route before it has had its
/// time.
Time Source::offer(const Message& message) {
  return std::max(message.ready_at(message.next_packet_), message.route->next_offer);
}

/// The next in turn whose packet may be offered now. A message that came at this very instant waits for those
/// that were there before it.
Message* Source::pick(bool older_only) {
  const Time now = partition_.now();
  for (std::size_t c = 0; c < kChannels; ++c) {
    Ring& ring = rings_[(turn_ + c) % kChannels];
    for (std::size_t k = 0; k < ring.messages.size(); ++k) {
      const std::size_t at = (ring.next + k) % ring.messages.size();
      Message& message = *ring.messages[at];
      if (offer(message) > now || (older_only && message.opened_ == now)) continue;
      turn_ = (turn_ + c + 1) % kChannels;
      ring.next = at + 1;
      return &message;
    }
  }
  return nullptr;
}

void Source::serve() {
  if (first_link_.free_at <= partition_.now()) {
    Message* message = others_turn_ && !others_.empty() ? nullptr : pick();
    if (message) {
      others_turn_ = true;
      start(*message);
    } else if (!others_.empty()) {
      const Other other = others_.front();
      others_.erase(others_.begin());
      start(other);
    }
  }
  if (!idle()) schedule();
}

Message* Source::pick() {
  if (!sole_) {
    Message* older = pick(true);
    return older ? older : pick(false);
  }
  if (offer(*sole_) > partition_.now()) return nullptr;
  turn_ = (static_cast<std::size_t>(sole_->channel) + 1) % kChannels;
  ring_of(*sole_).next = 1;
  return sole_;
}

void Source::start(Message& message) {
  const Time now = partition_.now();
  const Time offer_before = message.route->next_offer;
  Packet& packet = fabric_.start_packet(message, now);
  if (message.opened_ == now) latest_ = {&packet, now, offer_before, ring_of(message).next - 1};
  if (message.next_packet_ == message.packets_) close(message);
}

/// A message came at the instant at which one that also just came was served. Which of the two was first must
/// not matter: put the packet back and choose again among both.
void Source::take_back() {
  Packet& packet = *std::exchange(latest_.packet, nullptr);
  Message& message = *packet.message;
  Ring& ring = ring_of(message);
  if (message.next_packet_ == message.packets_) {  // it was closed
    partition_.cancel(message.left_);
    ring.messages.insert(ring.messages.begin() + static_cast<std::ptrdiff_t>(latest_.ring_index), &message);
    ++open_count_;
    sole_ = find_sole();
  }
  fabric_.take_back_start(packet);
  message.route->next_offer = latest_.offer_before;
  ring.next = latest_.ring_index;
  turn_ = static_cast<std::size_t>(message.channel);
}

void Source::close(Message& message) {
  Ring& ring = ring_of(message);
  const auto at = std::find(ring.messages.begin(), ring.messages.end(), &message);
  const auto index = static_cast<std::size_t>(at - ring.messages.begin());
  ring.messages.erase(at);
  if (ring.next > index) --ring.next;
  --open_count_;
  sole_ = find_sole();
  if (open_count_ > 0) return;
  turn_ = 0;  // a source that was idle begins anew, whoever was served last
  others_turn_ = false;
  for (Ring& r : rings_) r.next = 0;
}

Message* Source::find_sole() const {
  if (open_count_ != 1) return nullptr;
  for (const Ring& ring : rings_)
    if (!ring.messages.empty()) return ring.messages.front();
  return nullptr;
}

void Source::resume(Message& message) {
  open(message);
  Ring& ring = ring_of(message);
  ring.next = ring.messages.size();
  turn_ = (static_cast<std::size_t>(message.channel) + 1) % kChannels;
  others_turn_ = true;
}

void Source::reschedule() {
  if (serve_.scheduled()) partition_.cancel(serve_);
  schedule();
}

/// Looks again when the link is free and some packet may be offered.
void Source::schedule() {
  const Time now = partition_.now();
  Time next = others_.empty() ? Time::never() : now;
  if (sole_)
    next = std::min(next, offer(*sole_));
  else
    for (const Ring& ring : rings_)
      for (const Message* message : ring.messages) next = std::min(next, offer(*message));
  partition_.schedule_at(serve_, std::max({next, first_link_.free_at, now}));
}

}  // namespace kernbench::device
