// Which directions an algorithm uses.
#include <algorithm>

#include "ccl/plan.hpp"
#include "kernbench/error.hpp"

namespace kernbench::ccl {
namespace {

constexpr tl::Ptr kInput(std::uint64_t{1} << 40), kOutput(std::uint64_t{1} << 41);
constexpr std::int64_t kSomeElements = 1024;

/// Elements of what goes in and what comes out, on one PE.
std::pair<std::int64_t, std::int64_t> sizes(const Plan& plan) {
  const std::int64_t ranks = plan.members.world_size();
  const std::int64_t n = plan.settings.n_elem.value_or(kSomeElements);
  switch (plan.algorithm.collective) {
    case Collective::all_gather:
      return {n, n * ranks};
    case Collective::reduce_scatter:
      return {n * ranks, n};
    case Collective::all_to_all:
      return {n * ranks, n * ranks};
    case Collective::all_reduce:
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::send_recv:
    case Collective::barrier:
    case Collective::other:
      return {n, n};
  }
  KB_ASSERT(false, "an unknown collective");
  return {n, n};
}

tl::Environment environment(const Plan& plan, const device::PeQueues& queues) {
  const auto& shape = plan.members.machine;
  tl::Environment out{.kernel = plan.settings.name,
                      .pe = queues.pe,
                      .num_programs = {shape.pes, shape.cubes, shape.sips()},
                      .queues = std::vector<tl::Queue>(),
                      .shards = {},
                      .scalars = {}};
  const auto& rules = plan.wiring.rules;
  for (const auto& end : queues.ends)
    out.queues->push_back(
        {end.direction, rules.slot_size, rules.memory == address::MemorySpace::Tcm, end.sends, end.receives});
  const auto [in, result] = sizes(plan);
  out.shards = {
      {.tensor = kInput, .ptr = kInput, .shape = {in}, .origin = {0}, .dtype = DType::f16, .name = "in"},
      {.tensor = kOutput,
       .ptr = kOutput,
       .shape = {result},
       .origin = {0},
       .dtype = DType::f16,
       .name = "out"}};
  return out;
}

std::vector<std::string> recorded_sends(const Plan& plan, const device::PeQueues& queues) {
  tl::Context tl(environment(plan, queues));
  Call call = plan.call(queues.pe);
  call.input = kInput;
  call.output = kOutput;
  plan.algorithm.kernel(tl, call);
  const isa::Program program = tl.take_program();
  std::vector<std::string> used;
  for (const isa::Command& command : program.commands())
    if (command.kind == isa::CommandKind::ipcq_send) used.emplace_back(program.directions()[command.detail]);
  return used;
}

}  // namespace

std::vector<std::string> directions_used(const Plan& plan, PeCoord pe) {
  const auto queues = std::ranges::find(plan.wiring.pes, pe, &device::PeQueues::pe);
  if (queues == plan.wiring.pes.end()) return {};
  try {
    if (plan.algorithm.kernel) return recorded_sends(plan, *queues);
  } catch (const Error&) {  // it needs other tensors than these
  }
  std::vector<std::string> all;
  for (const auto& end : queues->ends) all.push_back(end.direction);
  return all;
}

}  // namespace kernbench::ccl
