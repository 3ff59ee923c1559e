// The CPU of a PE: runs one program after the other and issues its commands.
#include <algorithm>

#include "device/instant.hpp"
#include "device/pe.hpp"
#include "device/prefetch.hpp"
#include "kernbench/error.hpp"

namespace kernbench::device {

/// The CPU: one program after the other.
sim::Process Pe::issue_programs() {
  while (true) {
    ProgramTask& task = *co_await tasks_.get();
    if (task.earliest > partition_.now()) co_await sim::Until(task.earliest);
    if (aborted_) co_return;
    begin(task);
    co_await sim::delay(spec_.launch_overhead);
    co_await issue(task);
    while (held({Hold::until_all_retired})) co_await progress_.wait();
    // Always an event of its own: the CPU may be here within the one that let it go, whose other steps still use the queues.
    co_await sim::Until(std::max(clock_, partition_.now()));
    if (aborted_) co_return;
    task.ended = partition_.now();
    task.last_op = last_retired_.ref;
    task_ = nullptr;
    ports_.clear();
    task.on_end();
  }
}

void Pe::begin(ProgramTask& task) {
  task_ = &task;
  program_ = task.program;
  origin_ = task.origin;
  task_->started = partition_.now();
  retired_.begin(task.program->commands().size());
  readers_left_.clear();
  for (const isa::Value& value : task.program->values()) readers_left_.push_back(value.readers);
  scratch_free_ = spec_.scratch_granules;
  issued_count_ = retired_count_ = 0;
  const OpRef self = next_serial();
  OpRecord record{
      .start = task.submitted, .end = partition_.now(), .origin = task.origin, .kind = OpKind::program};
  writer_.write(self, task.before, record);
  program_start_ = Cause::at(self, partition_.now(), Reason::issue);
  last_retired_ = program_start_;
  open_ports();
  engine_free_.assign(queues_.size(), program_start_);
}

/// Issues every command, waiting where it must.
///
/// The CPU runs ahead of the present: see ADR 50. As long as only the CPU takes scratch and room in queues, what does not
/// hold it now will not hold it later. It issues commands for known later instants (`clock_`) until something does hold
/// it. A command starts no earlier than at its instant. That instant is an event only if nothing else holds the command.
sim::Task<> Pe::issue(const ProgramTask& task) {
  begin_issue();
  for (isa::CommandIndex i = 0; i < task.program->commands().size(); ++i) {
    const isa::Command& c = task.program->command(i);
    issuing_ = i;
    prefetch(&c + 1);
    // A send may begin to look for a credit at this very instant: it does so first.
    if (may_poll_) co_await sim::choice(choice_rank(Chooser::cpu, tcm_.index));
    while (held({Hold::until_credit})) {
      co_await progress_.wait();
      let_go(Hold::until_credit);
    }
    dispatch();
    const Queue queue = queue_for(c);
    while (must_wait(c, queue)) {
      const Hold::What by = hold_.what;
      co_await progress_.wait();
      if (partition_.now() > clock_) let_go(by);
    }
    if (clock_ > partition_.now() && must_see_present(c)) co_await sim::Until(clock_);
    if (aborted_) co_return;
    hand_over(i, queue);
    if (!completes_first(c, queue)) continue;
    while (held({Hold::until_retired, i})) co_await progress_.wait();
    let_go(Hold::until_retired);
  }
}

void Pe::begin_issue() {
  because_ = program_start_;
  may_poll_ = !ports_.empty() && ports_.front()->wiring->rules().backpressure == Backpressure::poll;
  runs_ahead_ = device_.takes_shortcuts() && !may_poll_;
  clock_ = partition_.now();
}

/// The CPU is busy with the next command.
void Pe::dispatch() {
  clock_ += spec_.dispatch;
  because_.reason = Reason::issue;
}

/// What the CPU waited for has ended at this instant.
void Pe::let_go(Hold::What by) {
  because_ = why_let_go(by);
  clock_ = partition_.now();
}

/// Puts the command into its queue. The CPU does a `wait` or a `fence` itself, and has done so.
void Pe::hand_over(isa::CommandIndex index, Queue queue) {
  if (queue == kNoQueue) return retired_.spend(index);
  const isa::ValueId result = program().command(index).result;
  if (result != isa::kNone) scratch_free_ -= program().value(result).granules;
  because_.met = clock_;
  enqueue(index, queue, because_);
}

/// A receive that the program does not wait for. It holds the CPU in no mode, nor does a full queue of receives.
bool Pe::is_async_receive(const isa::Command& command) const {
  return command.kind == isa::CommandKind::ipcq_recv && program().is_async(command);
}

/// Whether the command has to retire before the CPU goes on.
bool Pe::completes_first(const isa::Command& command, Queue queue) const {
  if (queue == kNoQueue || is_async_receive(command)) return false;
  return spec_.in_order || command.kind == isa::CommandKind::load_scalar;
}

/// Whether the CPU may not issue the command ahead of time. A receive from any direction takes what is there when it is
/// issued; while one waits for a message, that message may take room in the queue of its direction.
bool Pe::must_see_present(const isa::Command& command) const {
  return !runs_ahead_ || is_from_any(command) || !unclaimed_.empty();
}

/// The first thing that keeps the CPU from going on with a command that it has dispatched.
Pe::Hold Pe::hold_of(const isa::Command& command, Queue queue) const {
  const auto if_held = [&](const Hold& hold) { return is_held(hold) ? hold : Hold{}; };
  if (command.kind == isa::CommandKind::wait)
    return if_held({Hold::until_retired, program().waited(command)});
  if (command.kind == isa::CommandKind::fence) return if_held({Hold::until_all_retired});
  if (command.result != isa::kNone) {
    const Hold scratch{Hold::until_scratch, program().value(command.result).granules};
    if (is_held(scratch)) return scratch;
  }
  if (is_async_receive(command)) return {};
  return if_held({Hold::until_room, static_cast<std::int64_t>(queue)});
}

/// Whether the CPU must wait before it goes on with the command. If so, `progressed` wakes it.
bool Pe::must_wait(const isa::Command& command, Queue queue) {
  hold_ = hold_of(command, queue);
  return hold_.what != Hold::nothing;
}

/// What the CPU waited for ended at this instant: the cause of what follows.
Cause Pe::why_let_go(Hold::What by) const {
  switch (by) {
    case Hold::until_scratch:
      return Cause::at(scratch_freed_.ref, partition_.now(), Reason::scratch);
    case Hold::until_room:
      return Cause::at(queue_freed_.ref, partition_.now(), Reason::queue);
    case Hold::until_retired:
    case Hold::until_all_retired:
      return Cause::at(last_retired_.ref, partition_.now(), Reason::issue);
    case Hold::until_credit:
      return Cause::at(polled_, partition_.now(), Reason::issue);
    case Hold::nothing:
      break;
  }
  KB_ASSERT(false, "{} waited for nothing that it knows", to_string(at_));
  return last_retired_;
}

/// Whether the CPU must wait for this. If so, `progressed` wakes it.
bool Pe::held(const Hold& by) {
  const bool held = is_held(by);
  hold_ = held ? by : Hold{};
  return held;
}

bool Pe::is_held(const Hold& by) const {
  switch (by.what) {
    case Hold::until_credit:
      return polling_ > 0;
    case Hold::until_all_retired:
      return !all_retired();
    case Hold::until_retired:
      return !retired_.has(static_cast<isa::CommandIndex>(by.value));
    case Hold::until_scratch:
      return by.value > scratch_free_;
    case Hold::until_room:
      return queues_[static_cast<std::size_t>(by.value)].size() >= spec_.queue_depth;
    case Hold::nothing:
      break;
  }
  return false;
}

/// Lets the CPU go on, if nothing holds it any more. A CPU that waited for scratch or room goes on within this event: what
/// it does next depends on nothing else of this instant, unless it polls or a message may take room. So it does step by
/// step, too: of several that let it go at one instant, the first is the cause.
void Pe::progressed() {
  if (is_held(hold_)) return;
  const bool issues = hold_.what == Hold::until_room || hold_.what == Hold::until_scratch;
  if (issues && !may_poll_ && unclaimed_.empty()) return progress_.resume();
  progress_.notify();
}

Pe::Queue Pe::queue_for(const isa::Command& command) const {
  switch (command.kind) {
    case isa::CommandKind::dma_read:
    case isa::CommandKind::load_scalar:
      return dma_read;
    case isa::CommandKind::dma_write:
    case isa::CommandKind::atomic:
      return dma_write;
    case isa::CommandKind::gemm:
      return gemm;
    case isa::CommandKind::math:
      return math;
    case isa::CommandKind::composite:
      return scheduler;
    case isa::CommandKind::ipcq_send:
    case isa::CommandKind::ipcq_recv:
      return queue_of_port(command);
    case isa::CommandKind::wait:
    case isa::CommandKind::fence:
      break;
  }
  return kNoQueue;
}

}  // namespace kernbench::device
