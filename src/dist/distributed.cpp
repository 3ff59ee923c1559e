// The calls of `kernbench/distributed.hpp`.
#include "kernbench/distributed.hpp"

#include "dist/collective.hpp"

namespace kernbench::dist {
namespace {

State& state_of(const Tensor& tensor) {
  if (!tensor)
    throw InputError({"tensor.none", "", "this Tensor is none", "assign it one that a Torch has made"});
  return State::of(tensor.state()->engine());
}

}  // namespace

Group Group::of(std::vector<int> ranks) {
  Group group;
  group.kind_ = Kind::ranks;
  group.ranks_ = std::move(ranks);
  return group;
}

void Work::wait() const { engine_->wait(*handle_.request()); }

int get_world_size(const Torch& torch) { return State::of(torch.engine()).world_size(); }

void configure(Torch& torch, const std::string& file_or_default, const std::vector<std::string>& overrides,
               ccl::Registry registry) {
  State::of(torch.engine()).configure(file_or_default, overrides, std::move(registry));
}

void configure(Torch& torch, const std::vector<std::string>& overrides) {
  State::of(torch.engine()).configure_further(overrides);
}

ConfiguredAllReduce configured_all_reduce(const Torch& torch) {
  const State& state = State::of(torch.engine());
  const ccl::Settings settings = state.config().settings(state.config().algorithm());
  const auto& serves = state.registry().algorithm(settings.algorithm).serves;
  return {settings.name, serves, settings.mapper == "all_pes", settings.n_elem};
}

bool ranks_are_pes(const Torch& torch) { return torch.engine().devices_are_pes(); }

void init_process_group(Torch& torch, std::string_view backend) {
  State::of(torch.engine()).initialize(backend);
}
bool is_initialized(const Torch& torch) { return State::of(torch.engine()).is_initialized(); }

Work all_reduce(const Tensor& tensor, ReduceOp op, const Group& group, bool async_op) {
  return invoke(state_of(tensor), {"all_reduce", ccl::Collective::all_reduce, {tensor}, op}, group, async_op);
}

}  // namespace kernbench::dist
