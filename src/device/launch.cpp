#include "device/launch.hpp"

#include <algorithm>

#include "kernbench/error.hpp"

namespace kernbench::device {

Processors::Processors(Device& device)
    : device_(device),
      spec_(PeSpec::of(device.machine())),
      writer_(device.simulation().partitions()),
      pes_(static_cast<std::size_t>(device.machine().total_pes())) {}

Processors::~Processors() = default;

Pe& Processors::pe(PeCoord at) {
  const topology::Graph& graph = device_.graph();
  auto& pe = pes_[static_cast<std::size_t>((at.sip * graph.cubes() + at.cube) * graph.pes() + at.pe)];
  if (!pe) pe = std::make_unique<Pe>(device_, at, spec_, writer_);
  return *pe;
}

std::uint32_t Processors::add_origin(const Origin& origin) {
  origins_.push_back(origin);
  return static_cast<std::uint32_t>(origins_.size() - 1);
}

KernelLaunch::KernelLaunch(Processors& processors, std::uint32_t number, int at_sip,
                           std::vector<std::shared_ptr<const isa::Program>> programs)
    : processors_(processors), programs_(std::move(programs)), tasks_(programs_.size()) {
  sip = at_sip;
  origin_ = processors.add_origin({nullptr, {at_sip, -1, -1}, number});
  for (std::size_t i = 0; i < programs_.size(); ++i) {
    const isa::Program& program = *programs_[i];
    KB_ASSERT(program.pe().sip == at_sip, "a program for {} in a launch on sip{}", to_string(program.pe()),
              at_sip);
    targets.push_back(program.pe());
    tasks_[i].program = &program;
    tasks_[i].origin = processors.add_origin({&program, program.pe(), number});
  }
}

void KernelLaunch::at_pe(PeTask& task) {
  const auto at = std::find(targets.begin(), targets.end(), task.pe);
  ProgramTask& program = tasks_[static_cast<std::size_t>(at - targets.begin())];
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
  processors_.writer().write(completion_, Cause::at(last->last_op, last_end_, Reason::operand), record);
  if (on_complete) on_complete(*this);
}

}  // namespace kernbench::device
