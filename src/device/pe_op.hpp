// Commands of a PE that are under way.
#pragma once

#include "device/address_map.hpp"
#include "device/pe.hpp"

namespace kernbench::device {

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

}  // namespace kernbench::device
