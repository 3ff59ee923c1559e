#include "device/credit_link.hpp"

#include <algorithm>
#include <utility>

#include "device/fabric.hpp"
#include "kernbench/error.hpp"
#include "topology/ejection.hpp"

namespace kernbench::device {

using topology::NodeKind;

namespace {

/// Channels beside those of data: one of requests, one of acknowledgements and of the credits of queues between PEs.
enum SmallChannel : std::size_t { kRequests, kAnswers, kFirstOfData };

/// Packets of a message keep their order, so a message stays on its channel.
std::size_t lane_of(const Message& message, std::size_t data_channels) {
  if (message.purpose == Purpose::request) return kRequests;
  if (message.purpose == Purpose::acknowledgement || message.channel == Channel::credit) return kAnswers;
  return kFirstOfData + static_cast<std::uint32_t>(message.key()) % data_channels;
}

bool is_router(const Fabric& fabric, topology::NodeId node) {
  return fabric.graph().node(node).kind == NodeKind::router;
}

}  // namespace

void CreditLink::Buffer::push(const Waiting& newcomer) {
  auto at = packets.end();
  while (at != packets.begin() + static_cast<std::ptrdiff_t>(first) && goes_before(newcomer, at[-1])) --at;
  packets.insert(at, newcomer);
}

void CreditLink::Buffer::pop() {
  if (2 * ++first < packets.size()) return;
  packets.erase(packets.begin(), packets.begin() + static_cast<std::ptrdiff_t>(first));
  first = 0;
}

CreditLink::CreditLink(Fabric& fabric, const Hop& hop, std::unique_ptr<models::LinkModel> model)
    : LinkGate(fabric, hop),
      model_(std::move(model)),
      into_router_(is_router(fabric, fabric.graph().link(hop.link).to) &&
                   !is_ejection_port(fabric.graph().link(hop.link))),
      from_router_(is_router(fabric, fabric.graph().link(hop.link).from)),
      wire_(fabric.graph().link(hop.link).wire),
      link_is_free_(*this),
      all_are_here_(*this) {}

CreditLink::~CreditLink() = default;

CreditLink::Buffer& CreditLink::buffer(Buffers& all, std::size_t channel, bool finite) {
  while (all.size() <= channel)
    all.push_back(std::make_unique<Buffer>(finite ? this : nullptr, fabric_.spec_.buffer_packets));
  return *all[channel];
}

/// Where a packet waits for this link.
CreditLink::Buffer& CreditLink::place_of(const Packet& packet, const Hop& hop) {
  const std::size_t lane = lane_of(*packet.message, fabric_.spec_.channels);
  const bool starts = &hop == &packet.message->route->first();
  if (starts || !from_router_) return buffer(here_, lane, false);
  const Hop& before = (&hop)[-1];
  CreditLink& over = fabric_.credit_link(before);
  return over.buffer(over.beyond_, before.layer * (kFirstOfData + fabric_.spec_.channels) + lane, true);
}

/// The buffer it will lie in, if it takes a place of one.
CreditLink::Buffer* CreditLink::room_for(const Waiting& waiting) {
  const Hop& hop = *waiting.hop;
  if (!into_router_ || hop.last) return nullptr;
  const std::size_t lane = lane_of(*waiting.packet->message, fabric_.spec_.channels);
  return &buffer(beyond_, hop.layer * (kFirstOfData + fabric_.spec_.channels) + lane, true);
}

void CreditLink::arrive(Packet& packet, const Hop& hop) {
  Buffer& place = place_of(packet, hop);
  packet.hop = &hop;
  const bool is_first = place.empty();
  place.push({&packet, &hop, partition_.now()});
  if (is_first) contend(place);
}

void CreditLink::contend(Buffer& buffer) {
  contenders_.push_back(&buffer);
  if (link_.free_at <= partition_.now()) return ask();
  if (!link_is_free_.scheduled()) partition_.schedule_at(link_is_free_, link_.free_at);
}

void CreditLink::ask() {
  if (!all_are_here_.scheduled()) partition_.choose(all_are_here_, rank_);
}

void CreditLink::decide() {
  const Time now = partition_.now();
  if (contenders_.empty() || link_.free_at > now) return;
  can_go_.clear();
  for (Buffer* buffer : contenders_) {
    const Buffer* beyond = room_for(buffer->front());
    if (!beyond || beyond->room > 0) can_go_.push_back(buffer);
  }
  if (can_go_.empty()) {
    if (stalled_since_ == Time::never()) stalled_since_ = now;
    return;
  }
  send(choose());
  if (!contenders_.empty() && !link_is_free_.scheduled())
    partition_.schedule_at(link_is_free_, link_.free_at);
}

/// Which of those that can go: the one that has been in its node longest, or as the model has it.
std::size_t CreditLink::choose() {
  std::ranges::sort(can_go_,
                    [](const Buffer* a, const Buffer* b) { return goes_before(a->front(), b->front()); });
  shown_.clear();
  if (!model_) return 0;
  for (const Buffer* buffer : can_go_) shown_.push_back(shown(buffer->front()));
  const std::size_t chosen = model_->choose(shown_, partition_.now());
  KB_ASSERT(chosen < shown_.size(), "a link model chose packet {} of {}", chosen, shown_.size());
  return chosen;
}

void CreditLink::send(std::size_t chosen) {
  const Time now = partition_.now();
  Buffer& from = *can_go_[chosen];
  const Waiting packet = from.front();
  std::erase(contenders_, &from);
  from.pop();
  if (stalled_since_ != Time::never())
    fabric_.notes_.add_stall(packet.hop->link, now - std::exchange(stalled_since_, Time::never()));
  if (Buffer* beyond = room_for(packet)) --beyond->room;
  const models::WaitingPacket facts = model_ ? shown_[chosen] : shown(packet);
  const Time end =
      pass(packet, facts, model_ ? model_->pass(facts, now) : models::Passing{facts.occupancy, Time()});
  if (from.over) from.over->give_back(from, end);
  if (!from.empty()) fabric_.credit_link(*from.front().hop).contend(from);
}

/// A place is free when the last byte has left.
void CreditLink::give_back(Buffer& buffer, Time at) {
  Credit& credit = credits_.take();
  credit.buffer = &buffer;
  partition_.schedule_at(credit, at + wire_);
}

void CreditLink::Credit::fire(sim::Event& e) {
  auto& credit = static_cast<Credit&>(e);
  credit.buffer->over->take_back(credit);
}

void CreditLink::take_back(Credit& credit) {
  ++credit.buffer->room;
  credits_.give_back(credit);
  if (!contenders_.empty() && link_.free_at <= partition_.now()) ask();
}

}  // namespace kernbench::device
