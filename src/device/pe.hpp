// A processing element: its CPU issues the commands of a program into the queues of its engines.
//
// Commands are issued in order, `dispatch_cycles` each. Each engine works through its queue in order and
// starts a command when the tiles it reads are ready, so that loads run ahead of compute; accesses of the PE
// to overlapping bytes keep program order. With `pe_cpu.issue: in_order` each command completes before the
// next one issues; only an async receive does not hold those behind it.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "device/address_map.hpp"
#include "device/byte_book.hpp"
#include "device/compute_engine.hpp"
#include "device/device.hpp"
#include "device/op_writer.hpp"
#include "device/order_queues.hpp"
#include "device/pe_ipcq.hpp"
#include "device/pe_spec.hpp"
#include "device/pool.hpp"
#include "device/retirements.hpp"
#include "device/tile_stream.hpp"
#include "isa/transfer.hpp"
#include "kernbench/deadlock.hpp"
#include "kernbench/isa.hpp"

namespace kernbench::device {

class Processors;

/// A program to run on a PE.
struct ProgramTask {
  const isa::Program* program = nullptr;
  const QueueUse* queues = nullptr;  // the directions it names, if it names any
  std::uint32_t origin = 0;
  Time submitted;  // when the host sent it
  Time earliest;   // the barrier's stamp
  Cause before;    // what the host's request waited for
  std::function<void()> on_end;

  // Filled in by the PE.
  Time started, ended;
  OpRef last_op;  // the operation that retired last
};

class Pe : private RoomListener, private QueueUser, private StreamUser {
 public:
  Pe(Processors& processors, PeCoord at);
  ~Pe() override;

  PeCoord at() const { return at_; }
  PeIpcq& ipcq() { return ipcq_; }
  /// Runs the task after those before it.
  void run(ProgramTask& task);
  /// Starts nothing any more. What is under way ends without effect; then it may be destroyed.
  void abort() { aborted_ = true; }

  /// Whether a program runs.
  bool busy() const { return task_ != nullptr; }
  bool has_run() const { return program_ != nullptr; }  // or does so
  /// The oldest command that has not retired.
  std::optional<isa::CommandIndex> waiting_for() const;
  /// What the program that runs waits for, when nothing is left to do.
  BlockedPe blocked() const;

 private:
  // Queues of commands: of the engines; then a pair for each direction of the program's wiring, sends and
  // receives; then one of receives from any direction.
  using Queue = OrderQueues::Queue;
  enum Engine : Queue { dma_read, dma_write, gemm, math, scheduler, kEngines };
  static constexpr std::array<Queue, 3> kShared = {dma_write, gemm, math};  // a composite goes first there
  static constexpr Queue kNoQueue = ~Queue{0};  // `wait` and `fence`: the CPU does these itself
  class Op;
  class DmaOp;
  class ComputeOp;
  class CompositeOp;
  class SendOp;
  class ReceiveOp;

  // The CPU.
  sim::Process issue_programs();
  void begin(ProgramTask& task);
  sim::Task<> issue(const ProgramTask& task);
  void begin_issue();
  void dispatch();
  void hand_over(isa::CommandIndex index, Queue queue);
  bool is_async_receive(const isa::Command& command) const;
  bool completes_first(const isa::Command& command, Queue queue) const;
  /// What keeps the CPU from going on.
  struct Hold {
    enum What {
      nothing,
      until_credit,  // a send polls for one
      until_all_retired,
      until_retired,  // a command
      until_scratch,  // granules
      until_room,     // in a queue
    };
    What what = nothing;
    std::int64_t value = 0;

    /// Whether a command that leaves this queue, or one that retires, may end the hold.
    bool is_over_by_leaving(Queue queue) const {
      return what == until_credit || (what == until_room && static_cast<Queue>(value) == queue);
    }
    bool is_over_by_retiring() const { return what != nothing && what != until_room; }
  };
  bool held(const Hold& by);
  bool is_held(const Hold& by) const;
  bool must_see_present(const isa::Command& command) const;
  Hold hold_of(const isa::Command& command, Queue queue) const;
  bool must_wait(const isa::Command& command, Queue queue);
  Cause why_let_go(Hold::What by) const;
  void let_go(Hold::What by);
  void progressed();
  bool all_retired() const { return retired_count_ == issued_count_; }
  Queue queue_for(const isa::Command& command) const;
  void enqueue(isa::CommandIndex index, Queue queue, const Cause& issue);

  // The queues.
  void start_ready(Queue queue);
  void start_first(Queue queue);
  bool has_own_work() const override;
  void on_stream_fed() override;
  void on_channel_left() override { start_all(); }
  void on_streamed(OpRef last) override;
  void start_all(isa::CommandIndex retired = isa::kNone);
  isa::CommandIndex last_producer(const isa::Command& command) const;
  isa::CommandIndex missing(const Order& order) const;
  bool is_ready(const Order& order) const;
  bool is_ready(OrderQueue& waiting) const;
  bool memory_is_free(const Order& order) const;
  Cause why_now(const Order& order) const;
  bool engine_has_room(Queue queue) const;
  bool can_start(OrderQueue& waiting, Queue queue);
  bool is_issued(OrderQueue& waiting);
  void on_issued();
  void start(Order& order);
  Op& make_op(const Order& order);
  bool note_memory_use(isa::CommandIndex index);
  void on_room(ComputeEngine& engine, const Work& left) override;
  void retire(Op& op);
  void release_scratch(const Op& op);
  void give_back(isa::ValueId value);

  // Sends and receives.
  static Queue sends_of(int port) { return kEngines + 2 * static_cast<std::size_t>(port); }
  static Queue receives_of(int port) { return sends_of(port) + 1; }
  Queue queue_from_any() const { return queues_.size() - 1; }
  /// The port of a send, or of a receive from a direction.
  QueuePort& port_of(Queue queue) const;
  void open_ports();
  void open_ports_of(const InstalledWiring& wiring);
  Queue queue_of_port(const isa::Command& command) const;
  bool port_can_start(OrderQueue& waiting);
  Cause why_now_in_port(const Order& order) const;
  bool in_use(const QueuePort& port) const {
    const auto at = static_cast<std::size_t>(port.index);
    return at < ports_.size() && ports_[at] == &port;
  }
  void on_message(QueuePort& port) override;
  void on_credit(QueuePort& port) override;
  void claim_messages();
  QueuePort* oldest_unclaimed();
  void release_slot(isa::ValueId tile);
  void add_wait(const Order& order, BlockedPe& blocked) const;

  OpRecord record_of(const Op& op, OpKind kind) const;
  OpRef next_serial() { return writer_.next(partition_.id()); }
  const isa::Program& program() const { return *program_; }
  Issuer issuer_of(isa::CommandIndex command) const { return {program_, command}; }

  Device& device_;
  const PeCoord at_;
  const PeSpec& spec_;
  OpWriter& writer_;
  Processors& processors_;
  sim::Partition& partition_;
  address::MmuMap& mmu_;
  DmaEngine& dma_;
  const topology::NodeId tcm_;
  ComputeEngine gemm_, math_;
  TileStream stream_;
  CompositeOp* streamed_ = nullptr;  // the composite under way
  PeIpcq ipcq_;

  sim::Fifo<ProgramTask*> tasks_;
  sim::Signal progress_;  // the CPU may go on
  Hold hold_;
  bool may_poll_ = false;  // sends of the program may look for credits
  bool runs_ahead_ = false;
  Time clock_;                                   // where the CPU is: now, or ahead of the present
  Cause because_;                                // what it waited for last: the cause of what it issues
  sim::MemberEvent<&Pe::on_issued> next_issue_;  // the first instant that a waiting command lacks

  // Commands that wait (many, and small), and those under way.
  Pool<Order, 8> orders_;
  Pool<DmaOp, 4> dma_ops_;
  Pool<ComputeOp, 4> compute_ops_;
  Pool<CompositeOp, 4> composite_ops_;
  Pool<SendOp, 4> send_ops_;
  Pool<ReceiveOp, 4> receive_ops_;

  // The program that runs.
  ProgramTask* task_ = nullptr;
  const isa::Program* program_ = nullptr;  // the task's,
  std::uint32_t origin_ = 0;               // and its origin
  OrderQueues queues_;
  Retirements retired_;
  std::vector<std::uint32_t> readers_left_;  // per value
  ByteBook memory_in_use_;
  std::vector<Cause> engine_free_;  // per queue: when the engine could take another command
  std::int64_t scratch_free_ = 0;
  Cause scratch_freed_, queue_freed_, last_retired_, program_start_;
  isa::CommandIndex issuing_ = 0;  // the command the CPU is at
  std::size_t issued_count_ = 0;
  std::size_t retired_count_ = 0;

  // Its queues.
  struct LiveSlot {  // holds a tile until its last reader has retired
    isa::ValueId tile;
    QueuePort* port;
    std::uint32_t number;
  };
  std::vector<QueuePort*> ports_;  // of the program that runs, if it names directions
  std::vector<Order*> unclaimed_;  // receives in program order; the first is from any direction
  std::vector<LiveSlot> live_slots_;
  int polling_ = 0;  // sends that look for a credit: the CPU is busy with that
  OpRef polled_;     // the last one that found one
  bool aborted_ = false;
};

}  // namespace kernbench::device
