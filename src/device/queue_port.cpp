#include "device/queue_port.hpp"

#include <algorithm>
#include <utility>

#include "device/device.hpp"
#include "device/pe_ipcq.hpp"
#include "device/prefetch.hpp"
#include "device/processors.hpp"
#include "kernbench/error.hpp"

namespace kernbench::device {

/// A message on its way: a write into its slot whose acknowledgement goes to the peer's pe_ipcq, where it is the
/// announcement. Within its partition it is idle then; of one that went to another partition that is known when its
/// slot's credit comes.
///
/// A tile is one write. A reference is as many parts as it has pieces of memory: each goes on into the slot as it is read.
class SendSide::Parcel {
 public:
  explicit Parcel(SendSide& side)
      : side_(side),
        ring_(side.ipcq_.device().locate(side.plan_.sends_to, side.rules_.slot_size * side.rules_.slots)),
        announced_at_(side.ipcq_.device().graph().pe(side.plan_.peer, topology::NodeKind::pe_ipcq)),
        go_(*this) {
    parts_.push_back(std::make_unique<Part>(*this));
  }

  Parcel* next = nullptr;  // idle
  bool stays_here() const { return side_.plan_.peer.sip == side_.ipcq_.at().sip; }

  void send(const SendFacts& facts, std::uint32_t number, LeavingSend& op) {
    facts_ = facts;
    number_ = number;
    in_ring_ = side_.rules_.slot_size * (number % side_.slots());
    op_ = &op;
    PeIpcq& ipcq = side_.ipcq_;
    const Time look_up = op.pieces.empty() ? Time() : ipcq.dma().look_up();
    const Time asks = ipcq.partition().now() + ipcq.overhead() + look_up;
    if (ipcq.dma().accept_send(asks, side_.lane_.rank(), go_)) go();
  }

 private:
  class Part final : public Access {
   public:
    explicit Part(Parcel& of) : parcel_(of), passed_(*this) {}

    void send_tile(const Extent& slot) {
      from_ = nullptr;
      SendSide& side = parcel_.side_;
      start(*parcel_.ring_.memory, parcel_.announced_at_, side.ipcq_.tcm(), Direction::write, slot,
            Channel::queue, &side.lane_);
    }
    void pass(const DmaTransfer::Piece& piece, const Extent& slot) {
      from_ = piece.memory;
      onward_ = {parcel_.ring_.memory, slot, parcel_.announced_at_};
      SendSide& side = parcel_.side_;
      start_through(*from_, side.ipcq_.dma().node(), piece.extent, onward_, Channel::queue,
                    side.lane_.rank());
    }

   private:
    /// Bytes of a reference have still to pass the engine: it knows when, if nothing holds them up.
    void on_left() override {
      if (!from_) return passed();
      Fabric& fabric = from_->fabric();
      fabric.signal(fabric.signal_route(from_->node(), parcel_.side_.ipcq_.dma().node()), passed_);
    }
    void passed() { parcel_.on_left(); }
    void on_committed() override { parcel_.on_committed(*this); }
    void on_done() override { parcel_.on_done(); }

    Parcel& parcel_;
    Memory* from_ = nullptr;  // where bytes of a reference lie
    Onward onward_;
    sim::MemberEvent<&Part::passed> passed_;
  };

  void go() {
    const std::vector<DmaTransfer::Piece>& pieces = op_->pieces;
    inside_ = uncommitted_ = unannounced_ = std::max<std::size_t>(pieces.size(), 1);
    while (parts_.size() < inside_) parts_.push_back(std::make_unique<Part>(*this));
    Extent slot{.offset = ring_.extent.offset + in_ring_.count(), .row_bytes = facts_.bytes.count()};
    if (pieces.empty()) return parts_.front()->send_tile(slot);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      slot.row_bytes = pieces[i].extent.bytes().count();
      parts_[i]->pass(pieces[i], slot);
      slot.offset += slot.row_bytes;
    }
  }

  void on_left() {
    if (--inside_ > 0) return;
    left_ = side_.ipcq_.partition().now();
    op_->on_left();
  }

  /// In the partition of the receiver, which writes the record.
  void on_committed(const Access& last) {
    if (--uncommitted_ > 0) return;
    hints_.load(number_ % side_.slots());
    committed_ = last.through_memory();
    const OpRecord record{
        .start = facts_.taken,
        .end = committed_,
        .amount = static_cast<std::uint64_t>(facts_.bytes.count()),
        .origin = facts_.origin,
        .command = facts_.command,
        .kind = OpKind::ipcq_send,
        .phase = {packed_phase(left_ - facts_.taken), packed_phase(last.at_memory() - left_), number_},
    };
    side_.ipcq_.processors().writer().write(side_.plan_.peer.sip + 1, facts_.ref, facts_.cause, record);
  }

  void on_done() {
    if (--unannounced_ > 0) return;
    PeIpcq& receiver = side_.ipcq_.peer(side_.plan_.peer);
    if (!hints_.ipcq) hints_.note(receiver, side_);
    const SendFacts facts = facts_;
    const Time committed = committed_;
    if (stays_here()) side_.parcels_.give_back(*this);
    receiver.announce(side_.plan_.sends_to + in_ring_, side_.plan_.send_ring, facts, committed);
  }

  /// Where the receiver keeps what an announcement looks at, as the first one found it: to be loaded before the next one, and for
  /// nothing else. In the receiver's partition.
  struct Hints {
    const PeIpcq* ipcq = nullptr;
    const QueuePort* port = nullptr;
    const InstalledWiring::End* end = nullptr;
    const ReceiveSide::Slot* slots = nullptr;

    void note(PeIpcq& receiver, const SendSide& side) {
      ipcq = &receiver;
      const PeIpcq::Ports* ports = receiver.find(*side.port_.wiring);
      if (!ports) return;
      for (const auto& there : *ports)
        if (there->plan.receives && there->plan.receive_ring == side.plan_.send_ring) port = there.get();
      if (!port) return;
      end = &port->plan;
      slots = &port->receives.slot(0);
    }
    void load(std::uint32_t slot) const {
      if (!port) return;
      prefetch(ipcq);
      prefetch(end);
      prefetch(&port->receives);
      prefetch(slots + slot);
    }
  };

  SendSide& side_;
  const DmaTransfer::Piece ring_;
  const topology::NodeId announced_at_;
  std::vector<std::unique_ptr<Part>> parts_;  // as many as were ever needed, at least one
  SendFacts facts_;
  std::uint32_t number_ = 0;
  Bytes in_ring_;  // where its slot begins
  LeavingSend* op_ = nullptr;
  // Parts that have not left, not been committed, not been acknowledged.
  std::size_t inside_ = 0, uncommitted_ = 0, unannounced_ = 0;
  Time left_, committed_;
  Hints hints_;
  sim::MemberEvent<&Parcel::go> go_;
};

SendSide::SendSide(PeIpcq& ipcq, QueuePort& port)
    : ipcq_(ipcq),
      port_(port),
      plan_(port.plan),
      rules_(port.wiring->rules()),
      lane_(plan_.send_ring + 1),  // behind what the PE's engine writes
      freed_(static_cast<std::size_t>(rules_.slots)),
      abroad_(static_cast<std::size_t>(rules_.slots)),
      look_(*this) {}

SendSide::~SendSide() = default;

bool SendSide::may_go() {
  if (rules_.backpressure == Backpressure::sleep) return has_credit();
  if (polls()) return ipcq_.partition().now() >= next_look_;
  if (!has_credit()) first_look_ = ipcq_.partition().now();
  return has_credit();
}

Cause SendSide::credit() const {
  Cause cause = freed_[my_head_ % slots()];
  if (polls()) cause.met = next_look_;
  return cause;
}

void SendSide::send(const SendFacts& facts, LeavingSend& op) {
  KB_ASSERT(has_credit(), "{} sends {} without credit", to_string(ipcq_.at()), plan_.direction);
  first_look_ = next_look_ = Time::never();
  const std::uint32_t number = my_head_++;
  Parcel& parcel = parcels_.take(*this);
  if (!parcel.stays_here()) abroad_[number % slots()] = &parcel;
  parcel.send(facts, number, op);
}

void SendSide::on_credit(const Cause& freed) {
  const Time now = ipcq_.partition().now();
  const std::uint32_t slot = peer_tail_cache_++ % slots();
  freed_[slot] = freed;
  freed_[slot].met = now;
  if (Parcel* back = std::exchange(abroad_[slot], nullptr)) parcels_.give_back(*back);
  if (!polls()) return look();
  if (next_look_ != Time::never()) return;
  const std::int64_t looks = ((now - first_look_).ps() + rules_.poll.ps() - 1) / rules_.poll.ps();
  next_look_ = first_look_ + rules_.poll * looks;
  next_look_ == now ? look() : ipcq_.partition().schedule_at(look_, next_look_);
}

void SendSide::look() { ipcq_.user().on_credit(port_); }

/// The message that returns a slot. Within its partition it is idle when it has arrived; of one that went to another
/// partition that is known when the slot has been written again.
class ReceiveSide::Credit final : public Message {
 public:
  explicit Credit(ReceiveSide& side) : side_(side), arrived_(*this) {
    Device& device = side.ipcq_.device();
    bytes = side.rules_.credit_bytes;
    channel = Channel::credit;
    followed = false;
    rank = side.plan_.receive_ring;
    route = &device.fabric().route(side.ipcq_.node(),
                                   device.graph().pe(side.plan_.peer, topology::NodeKind::pe_ipcq));
  }

  Credit* next = nullptr;  // idle
  bool stays_here() const { return route->partition == route->last_partition; }

  void send(const Cause& because) {
    because_ = because;
    Fabric& fabric = side_.ipcq_.device().fabric();
    bytes > 0_B ? fabric.send(*this) : fabric.signal(*route, arrived_);
  }

 private:
  void on_delivered() override { arrive(); }
  void arrive() {
    PeIpcq& sender = side_.ipcq_.peer(side_.plan_.peer);
    const Cause because = because_;
    if (stays_here()) side_.credits_.give_back(*this);
    sender.credit(side_.plan_.receives_from, side_.plan_.receive_ring, because);
  }

  ReceiveSide& side_;
  Cause because_;
  sim::MemberEvent<&Credit::arrive> arrived_;
};

ReceiveSide::ReceiveSide(PeIpcq& ipcq, const QueuePort& port)
    : ipcq_(ipcq),
      plan_(port.plan),
      rules_(port.wiring->rules()),
      slots_(static_cast<std::size_t>(rules_.slots)),
      abroad_(static_cast<std::size_t>(rules_.slots)) {}

ReceiveSide::~ReceiveSide() = default;

bool ReceiveSide::announce(std::uint32_t at, const SendFacts& facts, Time committed) {
  const Time now = ipcq_.partition().now();
  Slot& slot = slots_[at];
  KB_ASSERT(!slot.arrived, "two messages in slot {} of {} {}", at, to_string(ipcq_.at()), plan_.direction);
  slot.arrived = true;
  if (Credit* back = std::exchange(abroad_[at], nullptr)) credits_.give_back(*back);
  slot.bytes = facts.bytes;
  slot.sender = facts.program;
  slot.command = facts.command;
  const std::uint32_t before = peer_head_cache_;
  while (Slot* next = &slots_[peer_head_cache_ % slots_.size()]) {
    if (!next->arrived) break;
    next->arrived = false;
    next->announced = now;
    next->cause = {facts.ref, committed, now, Reason::credit};  // of the one that came last
    ++peer_head_cache_;
  }
  return peer_head_cache_ != before;
}

void ReceiveSide::consume(std::uint32_t number, const Cause& because) {
  slots_[number % slots_.size()].consumed = true;
  while (credits_sent_ < my_tail_ && slots_[credits_sent_ % slots_.size()].consumed) send_credit(because);
}

void ReceiveSide::send_credit(const Cause& because) {
  const std::size_t slot = credits_sent_++ % slots_.size();
  slots_[slot].consumed = false;
  Credit& credit = credits_.take(*this);
  if (!credit.stays_here()) abroad_[slot] = &credit;
  credit.send(because);
}

}  // namespace kernbench::device
