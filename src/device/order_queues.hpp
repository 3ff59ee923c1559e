// Commands that have been issued to a PE and have not started: one queue for each engine and for each way of a direction.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/op_writer.hpp"
#include "device/queue_port.hpp"
#include "kernbench/isa.hpp"

namespace kernbench::device {

/// A receive from any direction takes what is there when it is issued, so it must not be issued ahead of
/// time.
inline bool is_from_any(const isa::Command& command) {
  return command.kind == isa::CommandKind::ipcq_recv && command.detail == isa::kNone;
}

/// A command that has been issued and waits in a queue. As many of these wait as queues are deep: one cache line.
struct alignas(64) Order {
  void issue(const Cause& by) {
    instant = by.instant;
    met = by.met;
    serial = by.ref.serial;
    partition = by.ref.partition;
    reason = by.reason;
  }
  Cause issued() const { return {{partition, serial}, instant, met, reason}; }
  void move_to(std::size_t queue) { in = static_cast<std::uint16_t>(queue); }

  // A receive takes the next message that nobody has claimed.
  void claim(QueuePort& from) {
    port = &from;
    number = from.receives.claim();
  }
  bool from_any() const { return is_from_any(*command); }

  Order* next = nullptr;  // in its queue, or idle
  const isa::Command* command = nullptr;
  QueuePort* port = nullptr;  // of a receive, and of no other; null: not claimed
  // When the CPU had issued it: a cause without its gaps.
  Time instant, met;
  std::uint32_t serial = 0;
  std::uint16_t partition = 0;
  Reason reason = Reason::issue;
  bool touches_memory = false;
  isa::CommandIndex index = 0;
  isa::CommandIndex last_operand = isa::kNone;  // the last command that makes one of its tiles
  std::uint32_t number = 0;                     // of a receive: its message
  std::uint16_t in = 0;                         // its queue
  isa::CommandKind kind = isa::CommandKind::fence;
};
static_assert(sizeof(Order) == 64);

/// A queue: its commands in program order.
class OrderQueue {
 public:
  // What the first command waits for: the number of a command that has to retire, or one of these.
  static constexpr isa::CommandIndex kAnything = isa::kNone;     // tried again whenever a command retires
  static constexpr isa::CommandIndex kOthers = isa::kNone - 1;   // another PE: what it sends starts it
  static constexpr isa::CommandIndex kInstant = isa::kNone - 2;  // the instant for which it is issued
  isa::CommandIndex waits_for = kOthers;

  Order* first() const { return first_; }
  std::uint32_t size() const { return size_; }

 private:
  friend class OrderQueues;
  void push_back(Order& order) {
    order.next = nullptr;
    if (!last_) waits_for = kAnything;
    (last_ ? last_->next : first_) = &order;
    last_ = &order;
    ++size_;
  }
  void insert(Order& order) {
    if (!last_ || last_->index < order.index) return push_back(order);
    Order** at = &first_;
    while ((*at)->index < order.index) at = &(*at)->next;
    order.next = *at;
    *at = &order;
    ++size_;
    waits_for = kAnything;
  }
  Order& pop_front() {
    Order& order = *first_;
    first_ = order.next;
    if (!first_) last_ = nullptr;
    --size_;
    waits_for = first_ ? kAnything : kOthers;
    return order;
  }

  Order* first_ = nullptr;
  Order* last_ = nullptr;
  std::uint32_t size_ = 0;
};

/// All queues of a PE. Most are empty, so it knows those that are not: a bit for each.
class OrderQueues {
 public:
  using Queue = std::size_t;

  /// So many empty ones take the place of what was there.
  void open(std::size_t queues) {
    queues_.assign(queues, {});
    occupied_.assign((queues + kBits - 1) / kBits, 0);
  }
  std::size_t size() const { return queues_.size(); }
  OrderQueue& operator[](Queue queue) { return queues_[queue]; }
  const OrderQueue& operator[](Queue queue) const { return queues_[queue]; }

  /// Into the queue that the order names, behind all others.
  void push_back(Order& order) {
    queues_[order.in].push_back(order);
    word_of(order.in) |= bit_of(order.in);
  }
  /// The same, where the program has it.
  void insert(Order& order) {
    queues_[order.in].insert(order);
    word_of(order.in) |= bit_of(order.in);
  }
  Order& pop_front(Queue queue) {
    Order& order = queues_[queue].pop_front();
    if (!queues_[queue].first_) word_of(queue) &= ~bit_of(queue);
    return order;
  }

  /// Visits the queues that hold commands, the smallest number first. One that gets its first command meanwhile may be left
  /// out, one that loses its last may be visited.
  template <class Visit>
  void for_each_occupied(Visit visit) const {
    for (std::size_t word = 0; word < occupied_.size(); ++word)
      for (std::uint64_t left = occupied_[word]; left != 0; left &= left - 1)
        visit(word * kBits + static_cast<Queue>(std::countr_zero(left)));
  }

 private:
  static constexpr Queue kBits = 64;
  std::uint64_t& word_of(Queue queue) { return occupied_[queue / kBits]; }
  static std::uint64_t bit_of(Queue queue) { return std::uint64_t{1} << queue % kBits; }

  std::vector<OrderQueue> queues_;
  std::vector<std::uint64_t> occupied_;
};

}  // namespace kernbench::device
