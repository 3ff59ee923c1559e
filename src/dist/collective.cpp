#include "dist/collective.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace kernbench::dist {
namespace {

using runtime::TensorState;

void check_group(const State& state, const Invocation& call) {
  if (state.is_initialized()) return;
  throw InputError({"dist.not-initialized", call.name, "there is no process group",
                    "call init_process_group before spawn, or in every rank"});
}

void check_tensors(State& state, const Invocation& call) {
  const int rank = state.rank();
  runtime::Engine& engine = state.engine();
  if (engine.host().device != rank)
    throw InputError({"dist.device", call.name,
                      fmt::format("the current device of rank {} is {}", rank, engine.host().device),
                      "call torch.ahbm.set_device(rank) first"});
  for (const Tensor& tensor : call.tensors) {
    if (!tensor.state()->belongs_to(engine))
      throw InputError(
          {"dist.tensor", call.name, fmt::format("tensor '{}' is of another context", tensor.name()), ""});
    if (const int device = tensor.state()->stream().number(); device != rank)
      throw InputError(
          {"dist.tensor", call.name,
           fmt::format("tensor '{}' lies on device {}, but this is rank {}", tensor.name(), device, rank),
           "a rank works on tensors of its own device"});
  }
}

std::string layout_text(const Tensor& tensor) {
  const DPPolicy& dp = tensor.dp();
  return fmt::format("cube {}, pe {}, {} shards", to_string(dp.cube), to_string(dp.pe),
                     tensor.shards().size());
}

/// Where ranks are PEs, tensors lie on different PEs by design.
JoinedCall joined_call(const Invocation& call, const std::string& algorithm, bool whole) {
  std::vector<std::string> words;
  if (call.op) words.emplace_back(to_string(*call.op));
  if (call.root) words.push_back(fmt::format("root {}", *call.root));
  JoinedCall joined{call.name + (words.empty() ? "" : fmt::format("({})", join(words))), {}};
  joined.terms = joined.text + " " + algorithm;
  for (const Tensor& t : call.tensors) {
    const auto what = fmt::format("{}{}", to_string(t.dtype()), to_string(t.shape()));
    joined.terms += " " + what;
    joined.text += fmt::format("{} '{}' {}", &t == &call.tensors.front() ? " of" : " and", t.name(), what);
    if (whole) continue;
    joined.text += fmt::format(" ({})", layout_text(t));
    for (const ShardSpec& s : t.shards())
      joined.terms += fmt::format(" {}.{}+{}:{}", s.cube, s.pe, s.offset_bytes.count(), s.nbytes.count());
  }
  return joined;
}

std::shared_ptr<runtime::Request> launch(State& state, const Invocation& call, const GroupKey& group,
                                         const Wired& wired, std::size_t number) {
  const ccl::Arrangement& machine = wired.plan.members.machine;
  runtime::LaunchSpec spec{.name = wired.plan.settings.name,
                           .targets = targets(state, call, group, wired.plan.members),
                           .num_programs = {machine.pes, machine.cubes, machine.sips()},
                           .wiring = wired.wiring,
                           .after = wired.installs};
  if (group.kind == ccl::Group::pe) spec.joint = state.joint_launch(group, number, wired.wiring);
  std::vector<const TensorState*> tensors;
  for (const Tensor& t : call.tensors) tensors.push_back(t.state().get());
  return state.engine().launch(spec, tensors, [&](tl::Context& tl) {
    ccl::Call mine = wired.plan.call(tl.environment().pe);
    if (!call.tensors.empty()) mine.input = call.tensors.front().ptr();
    if (!call.tensors.empty()) mine.output = call.tensors.back().ptr();
    mine.op = call.op.value_or(ReduceOp::SUM);
    mine.root = call.root.value_or(0);
    wired.plan.algorithm.kernel(tl, mine);
  });
}

}  // namespace

Work invoke(State& state, const Invocation& call, const Group& asked, bool async_op) {
  check_group(state, call);
  check_tensors(state, call);
  const GroupKey group = state.resolve(asked);
  const ccl::Settings settings = choose(state, call, group);
  const std::size_t number =
      state.join(group, joined_call(call, settings.name, group.kind == ccl::Group::pe));
  const Wired& wired = state.wirings().ready(settings, plan_request(state, group));
  auto request = launch(state, call, group, wired, number);
  Work work(state.engine().shared_from_this(), runtime::Handle(std::move(request)), settings.name);
  if (!async_op) work.wait();
  return work;
}

}  // namespace kernbench::dist
