// The calls of `kernbench/distributed.hpp`.
#include "kernbench/distributed.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "dist/collective.hpp"
#include "dist/messages.hpp"

namespace kernbench::dist {
namespace {

using ccl::Collective;

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

Group Group::of_all_sips() {
  Group group;
  group.kind_ = Kind::sips;
  return group;
}

void Work::wait() const {
  if (const auto submit = requests_->submit) submit();
  if (!requests_->last.request())
    throw InputError({"dist.given-up", "wait", "this message was never sent: its ranks have failed before",
                      "send it again"});
  engine_->wait(*requests_->last.request());
}

runtime::Trace Work::trace() const {
  const auto& [first, last, submit] = *requests_;
  runtime::Trace trace = first.trace();
  if (last.request() == first.request()) return trace;
  const runtime::Trace more = last.trace();
  trace.total = more.submitted + more.queued + more.total - trace.submitted - trace.queued;
  trace.pe_exec += more.pe_exec;
  trace.network = trace.total - trace.pe_exec;
  trace.late_starts += more.late_starts;
  return trace;
}

Group new_group(const Torch& torch, std::vector<int> ranks) {
  State::of(torch.engine()).check_ranks(ranks);
  return Group::of(std::move(ranks));
}

int get_world_size(const Torch& torch) { return State::of(torch.engine()).world_size(); }

int get_rank(const Torch& torch, const Group& group) {
  const auto& ranks = group.ranks();
  if (group.kind() != Group::Kind::ranks) return get_rank(torch);
  const auto found = std::ranges::find(ranks, get_rank(torch));
  return found == ranks.end() ? -1 : static_cast<int>(found - ranks.begin());
}

int get_world_size(const Torch& torch, const Group& group) {
  return group.kind() == Group::Kind::ranks ? static_cast<int>(group.ranks().size()) : get_world_size(torch);
}

std::string config_source(const Torch& torch) { return State::of(torch.engine()).config().source(); }
std::string config_text(const Torch& torch) { return State::of(torch.engine()).config_text(); }

std::string get_backend(const Torch& torch) {
  if (!is_initialized(torch))
    throw InputError({"dist.not-initialized", "get_backend", "there is no process group",
                      "call init_process_group before spawn, or in every rank"});
  return "ahbm";
}

void configure(Torch& torch, const std::string& file_or_default, const std::vector<std::string>& overrides,
               ccl::Registry registry) {
  State::to_configure(torch.engine()).configure(file_or_default, overrides, std::move(registry));
}

void configure_text(Torch& torch, const std::string& text, const std::string& name,
                    const std::vector<std::string>& overrides, ccl::Registry registry) {
  State::to_configure(torch.engine()).configure(ccl::config_file(name, text), overrides, std::move(registry));
}

void configure_further(Torch& torch, const std::vector<std::string>& overrides) {
  State::of(torch.engine()).configure_further(overrides);
}

namespace {

ConfiguredAllReduce described(const State& state, const std::string& name) {
  const ccl::Settings settings = state.config().settings(name);
  return {settings.name, state.registry().algorithm(settings.algorithm).serves,
          ccl::benched_group(state.registry(), settings), settings.mapper == "all_pes", settings.n_elem};
}

}  // namespace

ConfiguredAllReduce configured_all_reduce(const Torch& torch) {
  const State& state = State::of(torch.engine());
  return described(state, state.config().algorithm());
}

std::vector<ConfiguredAllReduce> known_all_reduces(const Torch& torch) {
  const State& state = State::of(torch.engine());
  std::vector<ConfiguredAllReduce> all;
  for (const std::string& name : state.config().names())
    if (state.registry().algorithm(state.config().settings(name).algorithm).collective ==
        Collective::all_reduce)
      all.push_back(described(state, name));
  return all;
}

bool ranks_are_pes(const Torch& torch) { return torch.engine().devices_are_pes(); }

void init_process_group(Torch& torch, std::string_view backend, const std::vector<int>& rank_to_sip) {
  if (!rank_to_sip.empty()) torch.engine().use_sips(rank_to_sip);
  State::of(torch.engine()).initialize(backend);
}
bool is_initialized(const Torch& torch) { return State::of(torch.engine()).is_initialized(); }

std::vector<QueueCounters> queue_counters(Torch& torch) {
  return State::of(torch.engine()).wirings().counters();
}

Work all_reduce(const Tensor& tensor, ReduceOp op, const Group& group, bool async_op) {
  State& state = state_of(tensor);
  return invoke(state, {"all_reduce", Collective::all_reduce, {tensor}, op}, state.resolve(group, &tensor),
                async_op);
}

Work broadcast(const Tensor& tensor, int src, const Group& group, bool async_op) {
  State& state = state_of(tensor);
  return invoke(state, {"broadcast", Collective::broadcast, {tensor}, {}, src}, state.resolve(group, &tensor),
                async_op);
}

Work reduce(const Tensor& tensor, int dst, ReduceOp op, const Group& group, bool async_op) {
  State& state = state_of(tensor);
  return invoke(state, {"reduce", Collective::reduce, {tensor}, op, dst}, state.resolve(group, &tensor),
                async_op);
}

Work all_gather_into_tensor(const Tensor& output, const Tensor& input, const Group& group, bool async_op) {
  State& state = state_of(output);
  return invoke(state, {"all_gather_into_tensor", Collective::all_gather, {input, output}},
                state.resolve(group, &input), async_op);
}

Work reduce_scatter_tensor(const Tensor& output, const Tensor& input, ReduceOp op, const Group& group,
                           bool async_op) {
  State& state = state_of(output);
  return invoke(state, {"reduce_scatter_tensor", Collective::reduce_scatter, {input, output}, op},
                state.resolve(group, &input), async_op);
}

Work all_to_all_single(const Tensor& output, const Tensor& input, const Group& group, bool async_op) {
  State& state = state_of(output);
  return invoke(state, {"all_to_all_single", Collective::all_to_all, {input, output}},
                state.resolve(group, &input), async_op);
}

Work send(const Tensor& tensor, int dst, bool async_op) {
  State& state = state_of(tensor);
  return post(state, {fmt::format("send to rank {}", dst), Collective::send_recv, {tensor}},
              pair_of(state, state.rank(), dst), async_op);
}

Work recv(const Tensor& tensor, int src, bool async_op) {
  State& state = state_of(tensor);
  return post(state, {fmt::format("recv from rank {}", src), Collective::send_recv, {tensor}},
              pair_of(state, src, state.rank()), async_op);
}

Work barrier(Torch& torch, const Group& group, bool async_op) {
  State& state = State::of(torch.engine());
  GroupKey key = state.resolve(group, nullptr);
  if (!key.ranks_are_pes)
    key.kind = key.kind == ccl::Group::pe ? ccl::Group::sip : key.kind;  // ranks call it
  return invoke(state, {"barrier", Collective::barrier, {}}, key, async_op);
}

}  // namespace kernbench::dist
