#include "dist/collective.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "dist/copies.hpp"
#include "dist/parts.hpp"

namespace kernbench::dist {
namespace {

using ccl::Collective;
using runtime::TensorState;

// ── what it is called with ──

void check_device(State& state, const Invocation& call) {
  const int rank = state.rank(), device = state.engine().host().device;
  if (!state.is_initialized())
    throw InputError({"dist.not-initialized", call.name, "there is no process group",
                      "call init_process_group before spawn, or in every rank"});
  if (device != rank)
    throw InputError({"dist.device", call.name,
                      fmt::format("the current device of rank {} is {}", rank, device),
                      "call torch.ahbm.set_device(rank) first"});
}

/// What a PE holds must be one run of bytes.
void check_blocks(const Invocation& call, const Tensor& tensor) {
  const runtime::Layout& layout = tensor.state()->layout();
  const auto same_pe = [](const auto& a, const auto& b) { return a.cube == b.cube && a.pe == b.pe; };
  const bool several = std::ranges::adjacent_find(layout.holders(), same_pe) != layout.holders().end();
  if (!layout.is_interleaved() && !several) return;
  throw InputError(
      {"dist.layout", call.name,
       layout.is_interleaved()
           ? fmt::format("tensor '{}' is interleaved: its pages lie on all PEs", tensor.name())
           : fmt::format("tensor '{}' has shards on a PE of which others have copies of only some",
                         tensor.name()),
       "collectives need shards that lie alike on every rank: use another policy"});
}

void check_tensors(State& state, const Invocation& call) {
  for (const Tensor& tensor : call.tensors) {
    if (!tensor)
      throw InputError(
          {"tensor.none", call.name, "this Tensor is none", "assign it one that a Torch has made"});
    if (!tensor.state()->belongs_to(state.engine()))
      throw InputError(
          {"dist.tensor", call.name, fmt::format("tensor '{}' is of another context", tensor.name()), ""});
    check_blocks(call, tensor);
    if (const int device = tensor.state()->stream().number(); device != state.rank())
      throw InputError({"dist.tensor", call.name,
                        fmt::format("tensor '{}' lies on device {}, but this is rank {}", tensor.name(),
                                    device, state.rank()),
                        "a rank works on tensors of its own device"});
  }
}

void check_root(const State& state, const Invocation& call, const GroupKey& group) {
  const int n = members(state, call, group);
  if (call.root && (*call.root < 0 || *call.root >= n))
    throw InputError({"dist.rank", call.name, fmt::format("member {} of {}", *call.root, to_string(group)),
                      fmt::format("its members are 0 to {}", n - 1)});
}

// ── what all must agree on ──

std::string layout_text(const Tensor& tensor) {
  return fmt::format("{}, {} shards", to_string(tensor.dp()), tensor.shards().size());
}

std::string words_of(const Invocation& call) {
  std::vector<std::string> words;
  if (call.op) words.emplace_back(to_string(*call.op));
  if (call.root) words.push_back(fmt::format("root {}", *call.root));
  return words.empty() ? "" : fmt::format("({})", join(words));
}

/// Where ranks are PEs, tensors lie on different PEs by design.
JoinedCall joined_call(const Invocation& call, const GroupKey& group, const std::string& algorithm) {
  const std::string words = words_of(call);
  JoinedCall joined{call.name + words, fmt::format("{}{} {}", to_string(call.collective), words, algorithm)};
  for (const Tensor& t : call.tensors) {
    const auto what = fmt::format("{}{}", to_string(t.dtype()), to_string(t.shape()));
    joined.terms += " " + what;
    joined.text += fmt::format("{} '{}' {}", &t == &call.tensors.front() ? " of" : " and", t.name(), what);
    if (group.ranks_are_pes) continue;
    joined.text += fmt::format(" ({})", layout_text(t));
    for (const ShardSpec& s : t.shards())
      joined.terms += fmt::format(" {}.{}+{}:{}", s.cube, s.pe, s.offset_bytes.count(), s.nbytes.count());
  }
  return joined;
}

// ── the launches ──

std::shared_ptr<runtime::Request> launch(State& state, const Invocation& call, const GroupKey& group,
                                         const Wired& wired, std::size_t number) {
  const ccl::Arrangement& machine = wired.plan.members.machine;
  runtime::LaunchSpec spec{.name = wired.plan.settings.name,
                           .targets = targets(state, call, group, wired.plan.members),
                           .num_programs = {machine.pes, machine.cubes, machine.sips()},
                           .wiring = wired.wiring,
                           .after = wired.installs};
  if (group.ranks_are_pes) spec.joint = state.joint_launch(group, number, wired.wiring);
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

/// Whether the kernel has written to this rank's (last) tensor.
bool is_written(const State& state, const Invocation& call, const GroupKey& group) {
  if (call.tensors.empty()) return false;
  if (call.collective != Collective::reduce) return true;
  const int each = members(state, call, group) / static_cast<int>(group.ranks.size());
  return group.ranks[static_cast<std::size_t>(*call.root / each)] == state.rank();
}

}  // namespace

GroupKey pair_of(const State& state, int src, int dst) {
  for (const int rank : {src, dst})
    if (rank < 0 || rank >= state.world_size() || src == dst)
      throw InputError({"dist.rank", "send and recv", fmt::format("from rank {} to rank {}", src, dst),
                        fmt::format("two ranks of 0 to {}", state.world_size() - 1)});
  const bool by_pe = state.engine().devices_are_pes();
  return {by_pe ? ccl::Group::pe : ccl::Group::sip, {src, dst}, by_pe, true};
}

Joined check_and_join(State& state, const Invocation& call, const GroupKey& group) {
  check_device(state, call);
  check_tensors(state, call);
  check_root(state, call, group);
  check_parts(state, call, group);
  const ccl::Settings settings = choose(state, call, group);
  return {state.join(group, joined_call(call, group, settings.name)), settings};
}

Work invoke(State& state, const Invocation& call, const GroupKey& group, bool async_op) {
  const auto [number, settings] = check_and_join(state, call, group);
  const Wired& wired = state.wirings().ready(settings, plan_request(state, group, call.tensor()));
  auto requests = std::make_shared<Work::Requests>();
  requests->first = requests->last = runtime::Handle(launch(state, call, group, wired, number));
  if (is_written(state, call, group) && call.tensors.back().state()->layout().is_replicated())
    if (auto copy = copy_inside(state, call.tensors.back(), group))
      requests->last = runtime::Handle(std::move(copy));
  const Work work(state.engine().shared_from_this(), std::move(requests), settings.name);
  if (!async_op) work.wait();
  return work;
}

}  // namespace kernbench::dist
