// Commands under way in a PE.
#pragma once

#include <utility>

#include "device/address_map.hpp"
#include "device/pe.hpp"

namespace kernbench::device {

/// As many of these wait as queues are deep: what is needed meanwhile is one cache line.
class alignas(64) Pe::Op {
  /// When the CPU had issued it: a cause without its gaps.
  struct Issue {
    Time instant, met;
    std::uint32_t serial = 0;
    std::uint16_t partition = 0;
    Reason reason = Reason::issue;
  };

 public:
  explicit Op(Pe& pe) : pe_(pe) {}
  virtual ~Op() = default;

  /// Makes it the given command, forgetting what it was before.
  void become(isa::CommandIndex index, Queue queue) {
    index_ = index;
    move_to(queue);
    command_ = &pe_.program().command(index);
    kind = command_->kind;
  }
  void issue(const Cause& by) { issue_ = {by.instant, by.met, by.ref.serial, by.ref.partition, by.reason}; }
  Cause issued() const {
    return {{issue_.partition, issue_.serial}, issue_.instant, issue_.met, issue_.reason};
  }

  void move_to(Queue queue) { in = static_cast<std::uint16_t>(queue); }

  isa::CommandIndex index() const { return index_; }
  const isa::Command& command() const { return *command_; }

  Op* next = nullptr;                           // in its queue, or idle
  isa::CommandIndex last_operand = isa::kNone;  // the last command that makes one of its tiles
  std::uint16_t in = 0;                         // its queue
  isa::CommandKind kind = isa::CommandKind::fence;
  bool touches_memory = false;

 private:
  const isa::Command* command_ = nullptr;
  Issue issue_;

 protected:
  isa::CommandIndex index_ = 0;

 public:
  Cause cause;  // of its start
  OpRef ref;
  Time taken;                       // by its engine
  std::optional<Cause> bytes_free;  // when the last earlier access to its bytes retired

  /// The engine takes it: operands are ready.
  virtual void start() = 0;
  /// It has retired and may become another command.
  virtual void recycle() = 0;

 protected:
  Pe& pe_;
};

/// load, store and load_scalar.
class Pe::DmaOp final : public Op, public DmaTransfer {
 public:
  using Op::Op;
  void start() override;
  void recycle() override;

 private:
  void on_retired() override;
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

/// Taken with tile and credit; retires when its last byte has left.
class Pe::SendOp final : public Op, public LeavingSend {
 public:
  using Op::Op;
  void start() override;
  void recycle() override;

 private:
  void on_left() override;
};

/// Taken when its message is there. A tile in TCM is handed out in its slot; others are moved out of it.
class Pe::ReceiveOp final : public Op, public DmaTransfer {
 public:
  explicit ReceiveOp(Pe& pe) : Op(pe), move_(*this) {}
  void start() override;
  void recycle() override;

  void claim(QueuePort& port) {
    port_ = &port;
    number_ = port.receives.claim();
  }
  void unclaim() { port_ = nullptr; }
  QueuePort* port() const { return port_; }  // null: not yet claimed
  std::uint32_t number() const { return number_; }
  bool from_any() const { return command().detail == isa::kNone; }

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

inline void Pe::OpQueue::push_back(Op& op) {
  op.next = nullptr;
  if (!last) waits_for = kAnything;
  (last ? last->next : first) = &op;
  last = &op;
  ++size;
}

inline void Pe::OpQueue::pop_front() {
  first = first->next;
  if (!first) last = nullptr;
  --size;
  waits_for = first ? kAnything : kOthers;
}

inline void Pe::OpQueue::insert(Op& op) {
  if (!last || last->index() < op.index()) return push_back(op);
  Op** at = &first;
  while ((*at)->index() < op.index()) at = &(*at)->next;
  op.next = *at;
  *at = &op;
  ++size;
  waits_for = kAnything;
}

template <class T>
T& Pe::Pool<T>::take(Pe& pe) {
  if (!idle) return *all.emplace_back(std::make_unique<T>(pe));
  return static_cast<T&>(*std::exchange(idle, idle->next));
}

template <class T>
void Pe::Pool<T>::give_back(T& op) {
  op.next = std::exchange(idle, &op);
}

}  // namespace kernbench::device
