// Launches of kernels that talk through queues without being a collective.
#include "dist/choice.hpp"
#include "runtime/launch.hpp"

namespace kernbench::dist {

Handle launch_body(Torch& torch, const QueueLaunch& options, const std::vector<Tensor>& tensors,
                   const std::function<void(tl::Context&)>& body) {
  State& state = State::of(torch.engine());
  std::vector<const runtime::TensorState*> arguments;
  for (const Tensor& tensor : tensors) arguments.push_back(tensor.state().get());
  auto spec = runtime::plan_launch(torch.engine(), {options.name, options.grid, options.pes}, arguments);
  const GroupKey group = state.resolve(options.group, nullptr);
  ccl::Settings settings = state.config().wiring(options.topology, options.mapper);
  if (group.ranks_are_pes) settings.world_size = state.world_size();
  const Wired& wired = state.wirings().ready(settings, plan_request(state, group, nullptr));
  spec.wiring = wired.wiring;
  spec.after = wired.installs;
  return Handle(torch.engine().launch(spec, arguments, body));
}

}  // namespace kernbench::dist
