#include "device/launch.hpp"

#include <algorithm>

#include "kernbench/error.hpp"

namespace kernbench::device {

KernelLaunch::KernelLaunch(Processors& processors, std::uint32_t number, int at_sip,
                           std::vector<std::shared_ptr<const isa::Program>> programs, const WiringPtr& wiring,
                           const std::vector<std::uint32_t>& numbers,
                           const std::vector<std::uint64_t>& fingerprints)
    : processors_(processors),
      epoch_(processors.epoch()),
      programs_(std::move(programs)),
      tasks_(programs_.size()) {
  sip = at_sip;
  origin_ = processors.add_origin({nullptr, {at_sip, -1, -1}, number, nullptr});
  for (std::size_t i = 0; i < programs_.size(); ++i) {
    const isa::Program& program = *programs_[i];
    KB_ASSERT(program.pe().sip == at_sip, "a program for {} in a launch on sip{}", to_string(program.pe()),
              at_sip);
    targets.push_back(program.pe());
    tasks_[i].program = &program;
    tasks_[i].queues = processors.queue_use(wiring, program);
    tasks_[i].origin = processors.add_origin({.program = &program,
                                              .pe = program.pe(),
                                              .launch = numbers.empty() ? number : numbers[i],
                                              .queues = tasks_[i].queues,
                                              .fingerprint = fingerprints.empty() ? 0 : fingerprints[i]});
  }
}

void KernelLaunch::at_pe(PeTask& task) {
  if (epoch_ != processors_.epoch()) return;  // given up on its way
  ProgramTask& program = tasks_[task.index];
  program.submitted = submitted();
  program.earliest = task.stamp;
  program.before = before;
  program.on_end = [this, &task] { processors_.device().control().complete(task); };
  processors_.pe(task.pe).run(program);
}

/// The completion's way back is a record of its own, from the end of the PE that ended last.
void KernelLaunch::on_completed() {
  const ProgramTask* last = &tasks_.front();
  for (const ProgramTask& task : tasks_) {
    first_start_ = std::min(first_start_, task.started);
    if (task.ended > last->ended) last = &task;
  }
  last_end_ = last->ended;
  completion_ = processors_.writer().next(0);
  OpRecord record{.start = last_end_, .end = completed(), .origin = origin_, .kind = OpKind::host_launch};
  last_ = Cause::at(last->last_op, last_end_, Reason::operand);
  processors_.writer().write(completion_, last_, record);
  if (on_complete) on_complete(*this);
}

}  // namespace kernbench::device
