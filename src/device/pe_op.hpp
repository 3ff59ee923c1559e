// Commands in a PE: those that wait, and those under way.
#pragma once

#include <utility>

#include "device/address_map.hpp"
#include "device/pe.hpp"

namespace kernbench::device {

/// A receive from any direction takes what is there when it is issued, so it must not be issued ahead of
/// time.
inline bool is_from_any(const isa::Command& command) {
  return command.kind == isa::CommandKind::ipcq_recv && command.detail == isa::kNone;
}

/// A command that has been issued and waits in a queue. As many of these wait as queues are deep: one cache line.
struct alignas(64) Pe::Order {
  void issue(const Cause& by) {
    instant = by.instant;
    met = by.met;
    serial = by.ref.serial;
    partition = by.ref.partition;
    reason = by.reason;
  }
  Cause issued() const { return {{partition, serial}, instant, met, reason}; }
  void move_to(Queue queue) { in = static_cast<std::uint16_t>(queue); }

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

/// A command that has started.
class Pe::Op {
 public:
  explicit Op(Pe& pe) : pe_(pe) {}
  virtual ~Op() = default;

  /// Makes it the given command, forgetting what it was before.
  void become(const Order& order) {
    index_ = order.index;
    command_ = order.command;
    kind = order.kind;
    touches_memory = order.touches_memory;
    in = order.in;
  }

  isa::CommandIndex index() const { return index_; }
  const isa::Command& command() const { return *command_; }

  Op* next = nullptr;    // idle
  std::uint16_t in = 0;  // the queue it was in
  isa::CommandKind kind = isa::CommandKind::fence;
  bool touches_memory = false;

 protected:
  isa::CommandIndex index_ = 0;

 private:
  const isa::Command* command_ = nullptr;

 public:
  Cause cause;  // of its start
  OpRef ref;
  Time taken;  // by its engine

  /// The engine takes it: operands are ready.
  virtual void start() = 0;
  /// It has retired and may become another command.
  virtual void recycle() = 0;

 protected:
  Pe& pe_;
};

/// load, store, load_scalar and atomics: these are a read, then a write.
class Pe::DmaOp final : public Op, public DmaTransfer {
 public:
  using Op::Op;
  void start() override;
  void recycle() override;

 private:
  void on_retired() override;
  void write_back();
  OpKind record_kind() const;
  std::vector<VirtualRows> rows_;
};

/// dot and math: one piece of work for their unit.
class Pe::ComputeOp final : public Op, public Work {
 public:
  using Op::Op;
  void start() override;
  void recycle() override;

 private:
  void plan_gemm();
  void plan_math();
  void on_fetched() override {}
  void on_done() override;
  std::uint64_t amount_ = 0;
};

/// A composite: handed to the scheduler.
class Pe::CompositeOp final : public Op {
 public:
  using Op::Op;
  void start() override;
  void recycle() override;
};

/// Appends a row of a transfer. Rows of one length at equal distances stay together.
void append_row(std::uint64_t address, std::int64_t bytes, std::vector<VirtualRows>& rows);

/// Taken with credit and tile, or with the bytes of a reference free; retires when its last byte has left.
class Pe::SendOp final : public Op, public LeavingSend {
 public:
  using Op::Op;
  void start() override;
  void recycle() override;

 private:
  void check_size(const QueuePort& port, Bytes bytes) const;
  void find_pieces();
  void on_left() override;
  std::vector<VirtualRows> rows_;
};

/// Taken when its message is there. A tile in TCM is handed out in its slot; others are moved out of it.
class Pe::ReceiveOp final : public Op, public DmaTransfer {
 public:
  explicit ReceiveOp(Pe& pe) : Op(pe), move_(*this) {}
  void start() override;
  void recycle() override;

  void take(QueuePort& port, std::uint32_t number) {
    port_ = &port;
    number_ = number;
  }

 private:
  void check_size();
  void move();
  void move_to_scratch();
  void move_to_destination();
  void on_retired() override;
  void finish();
  bool stays_in_slot() const;

  QueuePort* port_ = nullptr;
  std::uint32_t number_ = 0;
  Bytes bytes_;
  Time moves_from_;
  sim::MemberEvent<&ReceiveOp::move> move_;
};

inline void Pe::OrderQueue::push_back(Order& order) {
  order.next = nullptr;
  if (!last) waits_for = kAnything;
  (last ? last->next : first) = &order;
  last = &order;
  ++size;
}

inline Pe::Order& Pe::OrderQueue::pop_front() {
  Order& order = *first;
  first = order.next;
  if (!first) last = nullptr;
  --size;
  waits_for = first ? kAnything : kOthers;
  return order;
}

inline void Pe::OrderQueue::insert(Order& order) {
  if (!last || last->index < order.index) return push_back(order);
  Order** at = &first;
  while ((*at)->index < order.index) at = &(*at)->next;
  order.next = *at;
  *at = &order;
  ++size;
  waits_for = kAnything;
}

}  // namespace kernbench::device
