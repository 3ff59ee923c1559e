#include "dist/copies.hpp"

#include <algorithm>

namespace kernbench::dist {
namespace {

using runtime::Holder;

/// Those that hold copies of one block, the one that worked on it first: one after the other in a ring.
std::vector<std::vector<PeCoord>> lanes_of(const runtime::Storage& storage, ccl::Group group) {
  std::vector<std::vector<PeCoord>> lanes;
  for (const Holder& worker : workers(storage.layout, group)) {
    auto& lane = lanes.emplace_back();
    for (const Holder& h : storage.layout.holders())
      if (h.block == worker.block && same_member(group, h, worker)) lane.push_back(storage.at(h));
  }
  return lanes;
}

}  // namespace

std::shared_ptr<runtime::Request> copy_inside(State& state, const Tensor& tensor, const GroupKey& group) {
  const runtime::Storage& storage = *tensor.state()->storage();
  const auto lanes = lanes_of(storage, group.kind);
  if (lanes.front().size() == 1) return nullptr;
  const Wired& wired = state.wirings().ready(state.config().settings("broadcast"), {.lanes = lanes});
  const runtime::LaunchSpec spec{
      .name = "copy_inside",
      .targets = wired.plan.members.pes(),
      .num_programs = {state.engine().machine().pes(), state.engine().machine().cubes(),
                       state.engine().machine().sips()},
      .wiring = wired.wiring,
      .after = wired.installs};
  return state.engine().launch(spec, {tensor.state().get()}, [&](tl::Context& tl) {
    ccl::Call call = wired.plan.call(tl.environment().pe);
    call.input = call.output = tensor.ptr();
    wired.plan.algorithm.kernel(tl, call);
  });
}

}  // namespace kernbench::dist
