// How a PE sends and receives.
#include <fmt/format.h>

#include <algorithm>

#include "device/address_map.hpp"
#include "device/pe_op.hpp"
#include "device/processors.hpp"
#include "kernbench/error.hpp"

namespace kernbench::device {

/// A program that names directions has the queues of its wiring's ports.
void Pe::open_ports() {
  ports_.clear();
  if (const QueueUse* use = task_->queues) {
    if (use->wiring->parts().empty()) open_ports_of(*use->wiring);
    for (const WiringPtr& part : use->wiring->parts())
      if (!part->ends(at_).empty()) open_ports_of(*part);
  }
  queues_.open(kEngines + 2 * ports_.size() + 1);
}

void Pe::open_ports_of(const InstalledWiring& wiring) {
  PeIpcq::Ports* ports = ipcq_.find(wiring);
  if (!ports)
    throw SimulationError({"device.no-queue", to_string(at_),
                           fmt::format("kernel '{}' needs wiring '{}', which is not installed",
                                       program().kernel(), wiring.name()),
                           "install it before the launch; after an error or a deadlock, again"});
  for (const auto& port : *ports) {
    port->index = static_cast<int>(ports_.size());
    ports_.push_back(port.get());
  }
}

QueuePort& Pe::port_of(Queue queue) const { return *ports_[(queue - kEngines) / 2]; }

Pe::Queue Pe::queue_of_port(const isa::Command& command) const {
  if (is_from_any(command)) return queue_from_any();
  const int port = task_->queues->ends[command.detail];
  return command.kind == isa::CommandKind::ipcq_send ? sends_of(port) : receives_of(port);
}

/// A send looks for a credit when its tile is ready.
bool Pe::port_can_start(OrderQueue& waiting) {
  const Order& order = *waiting.first();
  if (order.kind == isa::CommandKind::ipcq_recv) {
    waiting.waits_for = OrderQueue::kOthers;
    return order.port && order.port->receives.has(order.number) && is_ready(waiting);
  }
  if (!is_ready(waiting)) return false;
  SendSide& sends = port_of(order.in).sends;
  const bool polled = sends.polls();
  const bool may_go = sends.may_go();
  if (polled != sends.polls()) ++polling_;
  if (!may_go && !sends.polls()) waiting.waits_for = OrderQueue::kOthers;
  return may_go;
}

Cause Pe::why_now_in_port(const Order& order) const {
  if (order.kind == isa::CommandKind::ipcq_send) return port_of(order.in).sends.credit();
  return order.port->receives.slot(order.number).cause;
}

void Pe::on_credit(QueuePort& port) {
  if (in_use(port)) start_ready(sends_of(port.index));
}

void Pe::on_message(QueuePort& port) {
  if (!in_use(port)) return;
  claim_messages();
  start_ready(receives_of(port.index));
}

/// Receives claim messages in program order: each the next of its direction, announced or not; one from any
/// direction the oldest announced one, for which those behind it wait.
void Pe::claim_messages() {
  std::size_t claimed = 0;
  bool one_left = false;  // the queue of receives from any direction
  for (; claimed < unclaimed_.size(); ++claimed) {
    Order& receive = *unclaimed_[claimed];
    QueuePort* port = receive.from_any() ? oldest_unclaimed() : &port_of(receive.in);
    if (!port) break;
    receive.claim(*port);
    if (!receive.from_any()) continue;
    one_left = true;
    queue_freed_ = port->receives.slot(receive.number).cause;
    queues_.pop_front(receive.in);
    receive.move_to(receives_of(port->index));
    queues_.insert(receive);
  }
  if (claimed == 0) return;
  const bool held_back = claimed > 1 || unclaimed_.size() > 1;
  unclaimed_.erase(unclaimed_.begin(), unclaimed_.begin() + static_cast<std::ptrdiff_t>(claimed));
  if (held_back)
    for (const QueuePort* port : ports_) start_ready(receives_of(port->index));
  if (one_left && hold_.is_over_by_leaving(queue_from_any())) progressed();
}

/// If several were announced at one instant, the first in the order of directions.
QueuePort* Pe::oldest_unclaimed() {
  QueuePort* oldest = nullptr;
  for (QueuePort* port : ports_) {
    if (!port->receives.has_unclaimed()) continue;
    if (!oldest || port->receives.oldest_unclaimed() < oldest->receives.oldest_unclaimed()) oldest = port;
  }
  return oldest;
}

/// The last reader of a tile has retired: its slot, if it lies in one, is free.
void Pe::release_slot(isa::ValueId tile) {
  const auto found =
      std::find_if(live_slots_.begin(), live_slots_.end(), [&](const LiveSlot& s) { return s.tile == tile; });
  if (found == live_slots_.end()) return;
  const LiveSlot slot = *found;
  *found = live_slots_.back();
  live_slots_.pop_back();
  Cause because = last_retired_;
  because.reason = Reason::credit;
  slot.port->receives.consume(slot.number, because);
}

void Pe::SendOp::start() {
  QueuePort& port = pe_.port_of(in);
  const Bytes bytes = pe_.program().bytes(command().read[0]);
  check_size(port, bytes);
  find_pieces();
  const Time now = pe_.partition_.now();
  if (port.sends.polls()) {
    --pe_.polling_;
    pe_.polled_ = ref;
  }
  pe_.engine_free_[in] = Cause::at(ref, now, Reason::engine);
  const std::uint32_t number = port.sends.my_head();
  port.sends.send({ref, cause, now, &pe_.program(), index_, pe_.origin_, bytes}, *this);
  if (QueueWatcher* watcher = pe_.processors_.queue_watcher()) [[unlikely]]
    watcher->on_send({now, pe_.at_, port.plan.direction, port.plan.peer, bytes, port.plan.send_ring, number});
}

void Pe::SendOp::check_size(const QueuePort& port, Bytes bytes) const {
  if (bytes <= port.wiring->rules().slot_size) return;
  throw SimulationError(
      {"device.slot",
       fmt::format("{} at {}", to_string(pe_.at_), isa::to_string(pe_.program().line(command()))),
       fmt::format("sends {} a tile of {} in slots of {}", port.plan.direction, to_string(bytes),
                   to_string(port.wiring->rules().slot_size)),
       "send it in pieces, or set a larger slot_size"});
}

/// Where a reference lies. A tile lies in the TCM.
void Pe::SendOp::find_pieces() {
  pieces.clear();
  const isa::Program& program = pe_.program();
  const isa::ValueId sent = command().read[0];
  if (program.value(sent).kind != isa::ValueKind::reference) return;
  const int size = itemsize(program.value(sent).dtype);
  rows_.clear();
  isa::for_each_segment(program, sent,
                        [&](const isa::Segment& s) { append_row(s.address, s.elements * size, rows_); });
  for (const VirtualRows& row : rows_) translate(pe_.device_, pe_.mmu_, row, pe_.issuer_of(index_), pieces);
  for (const DmaTransfer::Piece& piece : pieces)
    if (&pe_.device_.fabric().partition_of(piece.memory->node()) != &pe_.partition_)
      throw SimulationError(
          {"device.reference",
           fmt::format("{} at {}", to_string(pe_.at_), isa::to_string(program.line(command()))),
           fmt::format("sends a reference to {}, in another SIP",
                       pe_.device_.graph().path(piece.memory->node())),
           "load it first, or let a PE of that SIP send it"});
}

void Pe::SendOp::on_left() {
  if (!pieces.empty()) pe_.writer_.departed(pe_.partition_.id(), {pe_.partition_.now(), pe_.origin_, index_});
  pe_.retire(*this);
}

void Pe::ReceiveOp::start() {
  check_size();
  port_->receives.receive();
  pe_.engine_free_[in] = Cause::at(ref, taken, Reason::engine);
  const Time overhead = pe_.ipcq_.overhead();
  if (overhead == Time()) return move();
  pe_.partition_.schedule(move_, overhead);
}

void Pe::ReceiveOp::check_size() {
  const ReceiveSide::Slot& slot = port_->receives.slot(number_);
  bytes_ = pe_.program().bytes(command().result);
  if (bytes_ == slot.bytes) return;
  const isa::Command& send = slot.sender->command(slot.command);
  throw SimulationError(
      {"device.message",
       fmt::format("{} at {}", to_string(pe_.at_), isa::to_string(pe_.program().line(command()))),
       fmt::format("receives a tile of {} from {}, but {} was sent by kernel '{}' on {} at {}",
                   to_string(bytes_), port_->plan.direction, to_string(slot.bytes), slot.sender->kernel(),
                   to_string(slot.sender->pe()), isa::to_string(slot.sender->line(send))),
       "send and receive the same shape and dtype"});
}

bool Pe::ReceiveOp::stays_in_slot() const {
  return port_->wiring->in_slot() && !pe_.program().has_destination(command());
}

void Pe::ReceiveOp::move() {
  moves_from_ = pe_.partition_.now();
  if (stays_in_slot()) return finish();
  port_->wiring->in_slot() ? move_to_destination() : move_to_scratch();
}

void Pe::ReceiveOp::move_to_scratch() {
  const InstalledWiring& wiring = *port_->wiring;
  const std::int64_t slot = number_ % static_cast<std::uint32_t>(wiring.rules().slots);
  const address::PhysAddr address = port_->plan.receives_from + wiring.rules().slot_size * slot;
  direction = Direction::read;
  channel = Channel::queue;
  end = pe_.tcm_;
  pieces.assign(1, pe_.device_.locate(address, bytes_));
  pe_.dma_.issue(*this);
}

void Pe::ReceiveOp::move_to_destination() {
  const VirtualRows rows{pe_.program().address(command()), bytes_.count(), 1, 0};
  direction = Direction::write;
  channel = Channel::queue;
  end = pe_.tcm_;
  pieces.clear();
  translate(pe_.device_, pe_.mmu_, rows, pe_.issuer_of(index_), pieces);
  pe_.dma_.issue(*this);
}

void Pe::ReceiveOp::on_retired() {
  const bool on_to_destination = direction == Direction::read && pe_.program().has_destination(command());
  on_to_destination ? move_to_destination() : finish();
}

void Pe::ReceiveOp::finish() {
  const InstalledWiring& wiring = *port_->wiring;
  OpRecord record = pe_.record_of(*this, OpKind::ipcq_recv);
  record.amount = static_cast<std::uint64_t>(bytes_.count());
  record.phase = {packed_phase(moves_from_ - taken), number_, port_->plan.receive_ring};
  pe_.writer_.write(ref, cause, record);
  if (QueueWatcher* watcher = pe_.processors_.queue_watcher()) [[unlikely]]
    watcher->on_receive({record.end, pe_.at_, port_->plan.direction, port_->plan.peer, bytes_,
                         port_->plan.receive_ring, number_});
  if (stays_in_slot() && wiring.rules().credit == CreditPolicy::on_last_use)
    pe_.live_slots_.push_back({command().result, port_, number_});
  else
    port_->receives.consume(number_, Cause::at(ref, record.end, Reason::credit));
  pe_.retire(*this);
}

void Pe::SendOp::recycle() { pe_.send_ops_.give_back(*this); }
void Pe::ReceiveOp::recycle() { pe_.receive_ops_.give_back(*this); }

}  // namespace kernbench::device
