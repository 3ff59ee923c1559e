#include "device/pe.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "device/pe_op.hpp"
#include "device/prefetch.hpp"
#include "device/processors.hpp"
#include "kernbench/error.hpp"

namespace kernbench::device {

using topology::NodeKind;

namespace {

ComputeEngine::Ports tcm_ports(Fabric& fabric, PeCoord at, const PeSpec& spec, int rank) {
  const topology::Graph& graph = fabric.graph();
  const topology::NodeId tcm = graph.pe(at, NodeKind::pe_tcm);
  const topology::NodeId dma = graph.pe(at, NodeKind::pe_dma);
  return {&fabric.route(tcm, dma), &fabric.port(graph.route(dma, tcm)[0]), spec.tcm_read, spec.tcm_write,
          rank};
}

}  // namespace

Pe::Pe(Processors& processors, PeCoord at)
    : device_(processors.device()),
      at_(at),
      spec_(processors.spec()),
      writer_(processors.writer()),
      processors_(processors),
      partition_(device_.simulation().partition(at.sip + 1)),
      mmu_(device_.mmu(at)),
      dma_(device_.dma(at)),
      tcm_(device_.graph().pe(at, NodeKind::pe_tcm)),
      gemm_(device_.fabric(), partition_, tcm_ports(device_.fabric(), at, spec_, 0), *this),
      math_(device_.fabric(), partition_, tcm_ports(device_.fabric(), at, spec_, 1), *this),
      stream_({device_, mmu_, partition_, spec_, writer_, dma_, tcm_, gemm_, math_}, *this),
      ipcq_(processors, at, *this),
      tasks_(partition_),
      progress_(partition_),
      next_issue_(*this) {
  partition_.spawn(issue_programs());
}

Pe::~Pe() = default;

void Pe::run(ProgramTask& task) { tasks_.try_put(&task); }

Pe::Op& Pe::make_op(const Order& order) {
  const auto take = [&]() -> Op& {
    switch (order.in) {
      case dma_read:
      case dma_write:
        return dma_ops_.take(*this);
      case scheduler:
        return composite_ops_.take(*this);
      case gemm:
      case math:
        return compute_ops_.take(*this);
      default:
        if (order.kind == isa::CommandKind::ipcq_send) return send_ops_.take(*this);
        ReceiveOp& receive = receive_ops_.take(*this);
        receive.take(*order.port, order.number);
        return receive;
    }
  };
  Op& op = take();
  op.become(order);
  return op;
}

void Pe::enqueue(isa::CommandIndex index, Queue queue, const Cause& issue) {
  Order& order = orders_.take();
  order.index = index;
  order.command = &program().command(index);
  order.kind = order.command->kind;
  order.last_operand = last_producer(*order.command);
  order.touches_memory = note_memory_use(index);
  order.issue(issue);
  order.move_to(queue);
  ++issued_count_;
  queues_.push_back(order);
  if (order.kind == isa::CommandKind::ipcq_recv) {
    order.port = nullptr;
    unclaimed_.push_back(&order);
    claim_messages();
  }
  start_ready(order.in);
}

/// Whether the command touches any.
bool Pe::note_memory_use(isa::CommandIndex index) {
  const isa::Command& command = program().command(index);
  if (command.kind == isa::CommandKind::math) return false;
  std::array<isa::Access, 3> bytes;
  const int count = isa::accesses(program(), command, bytes);
  memory_in_use_.note(index, std::span(bytes).first(static_cast<std::size_t>(count)));
  return count > 0;
}

/// The last command that makes one of the tiles it reads; kNone if none does.
isa::CommandIndex Pe::last_producer(const isa::Command& command) const {
  isa::CommandIndex last = isa::kNone;
  for (const isa::ValueId id : program().reads(command)) {
    const isa::CommandIndex producer = program().value(id).producer;
    if (producer != isa::kNone && (last == isa::kNone || producer > last)) last = producer;
  }
  return last;
}

/// A command that makes one of its tiles and has not retired; kNone if there is none. Mostly it is the last one that
/// is missing: to look there first spares a look at the program.
isa::CommandIndex Pe::missing(const Order& order) const {
  if (order.last_operand == isa::kNone) return isa::kNone;
  if (!retired_.has(order.last_operand)) return order.last_operand;
  for (const isa::ValueId id : program().reads(*order.command)) {
    const isa::CommandIndex producer = program().value(id).producer;
    if (producer != isa::kNone && !retired_.has(producer)) return producer;
  }
  return isa::kNone;
}

/// Its tiles are ready, and no earlier command still works on its bytes. Once so, it stays so.
bool Pe::is_ready(const Order& order) const { return missing(order) == isa::kNone && memory_is_free(order); }

/// Whether the first one is. If not, notes what it waits for.
bool Pe::is_ready(OrderQueue& waiting) const {
  const isa::CommandIndex producer = missing(*waiting.first());
  waiting.waits_for = producer == isa::kNone ? OrderQueue::kAnything : producer;
  return producer == isa::kNone && memory_is_free(*waiting.first());
}

bool Pe::memory_is_free(const Order& order) const {
  return !order.touches_memory || memory_in_use_.is_free(order.index);
}

Cause Pe::why_now(const Order& order) const {
  Cause cause = order.issued();
  for (const isa::ValueId id : program().reads(*order.command)) {
    const isa::CommandIndex producer = program().value(id).producer;
    if (producer == isa::kNone) continue;
    const OpRef ref{static_cast<std::uint16_t>(partition_.id()), retired_[producer].serial};
    cause.consider(Cause::at(ref, retired_[producer].at, Reason::operand));
  }
  if (order.touches_memory)
    if (const Cause* freed = memory_in_use_.freed(order.index)) cause.consider(*freed);
  cause.consider(engine_free_[order.in]);
  if (order.in >= kEngines) cause.consider(why_now_in_port(order));
  return cause;
}

bool Pe::engine_has_room(Queue queue) const {
  switch (queue) {
    case dma_read:
      return dma_.channel(Direction::read).has_room();
    case dma_write:
      return dma_.channel(Direction::write).has_room();
    case gemm:
      return gemm_.has_room();
    case math:
      return math_.has_room();
    case scheduler:
      return stream_.idle();
    default:
      KB_ASSERT(false, "queue {} is no engine's", queue);
  }
}

/// Whether the first one can. If not, notes what it waits for.
bool Pe::can_start(OrderQueue& waiting, Queue queue) {
  if (queue >= kEngines) return port_can_start(waiting) && is_issued(waiting);
  waiting.waits_for = OrderQueue::kAnything;
  return engine_has_room(queue) && is_ready(waiting) && is_issued(waiting);
}

/// Whether the instant has come for which the first command of the queue was issued. If not, the PE looks
/// again at that instant. To be asked last, when all else is ready.
bool Pe::is_issued(OrderQueue& waiting) {
  const Time at = waiting.first()->met;
  if (at <= partition_.now()) return true;
  waiting.waits_for = OrderQueue::kInstant;
  if (next_issue_.scheduled() && next_issue_.time() <= at) return false;
  partition_.cancel(next_issue_);
  partition_.schedule_at(next_issue_, at);
  return false;
}

/// The instant has come for which some waiting command was issued.
void Pe::on_issued() {
  queues_.for_each_occupied([&](Queue queue) {
    if (queues_[queue].waits_for == OrderQueue::kInstant) start_ready(queue);
  });
}

/// Stores and commands for the units wait until a composite has had its chance at this instant.
void Pe::start_ready(Queue queue) {
  const bool shared = std::ranges::find(kShared, queue) != kShared.end();
  if (shared && queues_[queue].first() && !stream_.idle()) return stream_.feed();
  start_first(queue);
}

void Pe::on_stream_fed() {
  for (const Queue queue : kShared) start_first(queue);
}

/// A composite has no record of its own: what waits for it waits for its last tile.
void Pe::on_streamed(OpRef last) {
  CompositeOp& op = *std::exchange(streamed_, nullptr);
  op.ref = last;
  retire(op);
}

/// Whether commands may compete with the composite that is streamed: some wait, or the CPU may issue some at any instant.
bool Pe::has_own_work() const {
  const auto some_wait = [&](Queue queue) { return queues_[queue].first() != nullptr; };
  if (some_wait(dma_read) || std::ranges::any_of(kShared, some_wait)) return true;
  return hold_.what != Hold::until_all_retired && hold_.what != Hold::until_retired;
}

void Pe::start_first(Queue queue) {
  OrderQueue& waiting = queues_[queue];
  while (waiting.first() && !aborted_ && can_start(waiting, queue)) {
    Order& order = queues_.pop_front(queue);
    prefetch(waiting.first());  // it is looked at as soon as this one is on its way
    start(order);
    if (hold_.is_over_by_leaving(queue)) progressed();
  }
}

void Pe::start(Order& order) {
  Op& op = make_op(order);
  op.cause = why_now(order);
  op.ref = next_serial();
  op.taken = partition_.now();
  queue_freed_ = op.cause;
  orders_.give_back(order);
  op.start();
}

/// A command has retired, or a channel has room again: queues whose first command may have waited for that
/// are tried.
void Pe::start_all(isa::CommandIndex retired) {
  queues_.for_each_occupied([&](Queue queue) {
    const isa::CommandIndex waits_for = queues_[queue].waits_for;
    if (waits_for == retired || waits_for == OrderQueue::kAnything) start_ready(queue);
  });
}

OpRecord Pe::record_of(const Op& op, OpKind kind) const {
  return {.start = op.taken, .end = partition_.now(), .origin = origin_, .command = op.index(), .kind = kind};
}

void Pe::on_room(ComputeEngine& engine, const Work& left) {
  const Queue queue = &engine == &gemm_ ? gemm : math;
  engine_free_[queue] = Cause::at(left.self, partition_.now(), Reason::engine);
  if (!task_) return;
  if (queue == gemm) stream_.on_room();
  start_ready(queue);
}

/// A command has retired: whoever waited for its tile, its bytes, its scratch or its engine may go on.
void Pe::retire(Op& op) {
  const Time now = partition_.now();
  retired_.note(op.index(), {now, op.ref.serial});
  ++retired_count_;
  last_retired_ = Cause::at(op.ref, now, Reason::operand);
  if (op.touches_memory) memory_in_use_.retire(op.index(), last_retired_);
  const bool by_retiring = op.in != gemm && op.in != math && op.in < kEngines;
  if (by_retiring) engine_free_[op.in] = Cause::at(op.ref, now, Reason::engine);
  release_scratch(op);
  const isa::CommandIndex command = op.index();
  const bool left_read_channel = op.in == dma_read;
  op.recycle();  // it may be the next one that starts
  start_all(command);
  if (left_read_channel) stream_.on_channel_room(engine_free_[dma_read]);
  if (hold_.is_over_by_retiring()) progressed();
}

void Pe::release_scratch(const Op& op) {
  const auto reads = program().reads(op.command());
  for (auto id = reads.begin(); id != reads.end(); ++id) {
    const isa::ValueId base = program().base(*id);
    const auto same = [&](isa::ValueId other) { return program().base(other) == base; };
    if (std::any_of(reads.begin(), id, same)) continue;  // a command counts as one reader
    if (program().value(base).producer != isa::kNone && --readers_left_[base] == 0) give_back(base);
  }
  const isa::ValueId result = op.command().result;
  if (result != isa::kNone && program().value(result).readers == 0) give_back(result);
  const bool makes_tile = result != isa::kNone && program().value(result).producer != isa::kNone;
  if (!makes_tile) retired_.spend(op.index());
}

/// Nobody will read it any more.
void Pe::give_back(isa::ValueId value) {
  scratch_free_ += program().value(value).granules;
  if (const isa::CommandIndex made_by = program().value(value).producer; made_by != isa::kNone)
    retired_.spend(made_by);
  scratch_freed_ = last_retired_;
  if (!live_slots_.empty()) release_slot(value);
}

std::optional<isa::CommandIndex> Pe::waiting_for() const {
  if (!task_) return std::nullopt;
  return retired_.first_missing();
}

}  // namespace kernbench::device
