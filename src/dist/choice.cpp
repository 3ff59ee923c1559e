#include "dist/choice.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "kernbench/error.hpp"

namespace kernbench::dist {

using ccl::Collective;
using runtime::Holder;
using runtime::Layout;

bool same_member(ccl::Group group, const Holder& a, const Holder& b) {
  switch (group) {
    case ccl::Group::sip:
      return true;
    case ccl::Group::cube:
      return a.cube == b.cube;
    case ccl::Group::pe:
      return a.cube == b.cube && a.pe == b.pe;
  }
  KB_ASSERT(false, "an unknown group");
}

std::vector<Holder> workers(const Layout& layout, ccl::Group group) {
  std::vector<Holder> chosen;
  if (!layout.is_replicated()) return layout.holders();
  for (const Holder& holder : layout.holders()) {
    const auto same = [&](const Holder& other) {
      return other.block == holder.block && same_member(group, other, holder);
    };
    if (std::ranges::none_of(chosen, same)) chosen.push_back(holder);
  }
  return chosen;
}

int members(const State& state, const Invocation& call, const GroupKey& group) {
  const int ranks = static_cast<int>(group.ranks.size());
  if (group.kind == ccl::Group::cube) return ranks * state.engine().machine().cubes();
  if (group.kind != ccl::Group::pe || group.ranks_are_pes || call.tensors.empty()) return ranks;
  return ranks * static_cast<int>(workers(call.tensors.front().state()->layout(), group.kind).size());
}

ccl::PlanRequest plan_request(State& state, const GroupKey& group, const Tensor* tensor) {
  const bool all = group.ranks == state.world();
  ccl::PlanRequest request{.group = group.kind};
  if (group.ranks_are_pes) {
    if (all && !group.pair) return request;
    auto& lane = request.lanes.emplace_back();
    for (const int rank : group.ranks) lane.push_back(state.engine().pe_of(rank));
    return request;
  }
  const bool in_order =
      std::ranges::all_of(group.ranks, [&](int r) { return state.engine().sip_of(r) == r; });
  if (!all || !in_order)
    for (const int rank : group.ranks) request.sips.push_back(state.engine().sip_of(rank));
  if (group.kind == ccl::Group::pe && tensor != nullptr) {
    for (const Holder& holder : workers(tensor->state()->layout(), group.kind))
      request.pes.push_back({holder.cube, holder.pe});
    std::ranges::sort(request.pes);
  }
  return request;
}

namespace {

/// The configured algorithm, which must be an all-reduce: another one is not silently put in its place.
std::string configured_all_reduce(State& state) {
  std::string name = state.config().algorithm();
  const ccl::Settings settings = state.config().settings(name);
  if (state.registry().algorithm(settings.algorithm).collective == Collective::all_reduce) return name;
  throw InputError({"dist.algorithm", "", fmt::format("the algorithm {} is no all-reduce", quote(name)),
                    "all-reduces have it in their name; `kernbench list algorithms` shows them"});
}

/// In order of preference.
std::vector<std::string> candidates(State& state, Collective collective, const GroupKey& group) {
  if (collective != Collective::all_reduce) return {std::string(to_string(collective))};
  std::vector<std::string> names = {configured_all_reduce(state)};
  if (group.kind == ccl::Group::sip) names.emplace_back("intersip_allreduce");
  if (group.kind == ccl::Group::cube) {
    names.emplace_back("intercube_allreduce");
    names.emplace_back("intercube_allreduce_allpe");
  }
  if (group.kind == ccl::Group::pe && !group.ranks_are_pes) names.emplace_back("hierarchical_allreduce");
  if (group.kind == ccl::Group::pe) names.emplace_back("ring_allreduce");
  return names;
}

/// What the calling rank holds of a tensor.
std::vector<Choice::Held> held_of(const Tensor& tensor, const GroupKey& group) {
  std::vector<Choice::Held> held;
  const Layout& layout = tensor.state()->layout();
  for (const Holder& h : workers(layout, group.kind)) {
    const std::int64_t elements = layout.blocks()[h.block].bytes / layout.itemsize();
    held.push_back(group.ranks_are_pes ? Choice::Held{0, 0, elements} : Choice::Held{h.cube, h.pe, elements});
  }
  return held;
}

/// What all members hold, given that they hold what this one does.
std::vector<ccl::HeldShard> held_by_all(runtime::Engine& engine, const std::vector<Choice::Held>& held,
                                        const GroupKey& group) {
  std::vector<ccl::HeldShard> shards;
  for (const int rank : group.ranks)
    for (const Choice::Held& h : held)
      shards.push_back({group.ranks_are_pes ? engine.pe_of(rank) : PeCoord{engine.sip_of(rank), h.cube, h.pe},
                        h.elements});
  return shards;
}

std::string problem_of(State& state, const Choice::Question& question, const ccl::Settings& settings,
                       const ccl::PlanRequest& request) {
  const auto who = ccl::members_for(state.registry(), settings, state.engine().machine(), request);
  if (!who.regular) try {
      links_of(state.registry(), state.registry().algorithm(settings.algorithm), settings.topology, who);
    } catch (const InputError& error) {
      return error.message();
    }
  const ccl::Validator& validator = state.registry().validator(settings.validator);
  for (const auto& held : question.held)
    if (auto problem = validator.problem(held_by_all(state.engine(), held, question.group), who);
        !problem.empty())
      return problem;
  return {};
}

ccl::Settings answer(State& state, const Choice::Question& question, const Invocation& call) {
  const GroupKey& group = question.group;
  const auto request = plan_request(state, group, call.tensor());
  std::vector<std::string> problems;
  for (const std::string& name : candidates(state, question.collective, group)) {
    ccl::Settings settings = state.config().settings(name);
    const ccl::Algorithm& algorithm = state.registry().algorithm(settings.algorithm);
    if (algorithm.collective != question.collective) continue;
    if (std::ranges::find(algorithm.serves, group.kind) == algorithm.serves.end()) continue;
    settings.world_size.reset();
    if (group.ranks_are_pes) settings.world_size = state.world_size();
    const std::string problem = problem_of(state, question, settings, request);
    if (problem.empty()) return settings;
    problems.push_back(fmt::format("\n    {} ({}): {}", name, settings.validator, problem));
  }
  throw InputError(
      {"dist.layout", call.name,
       fmt::format("no algorithm works over {} on a tensor that lies like this{}", to_string(group),
                   join(problems, "")),
       "over SIPs: laid out alike on every rank; over cubes: every cube a shard of the same size, "
       "on its PE 0 or split alike over all its PEs; over PEs: every PE with a shard one of the same size"});
}

}  // namespace

/// All members of a group ask the same, one after the other.
const ccl::Settings& choose(State& state, const Invocation& call, const GroupKey& group) {
  Choice::Question question{call.collective, group, {}};
  for (const Tensor& tensor : call.tensors) question.held.push_back(held_of(tensor, group));
  std::optional<Choice>& last = state.last_choice;
  if (!last || last->question != question) last = Choice{question, answer(state, question, call)};
  return last->settings;
}

std::vector<PeCoord> targets(State& state, const Invocation& call, const GroupKey& group,
                             const ccl::Members& all) {
  if (group.ranks_are_pes) return {state.engine().pe_of(state.rank())};
  std::vector<Holder> holders;
  if (!call.tensors.empty()) holders = workers(call.tensors.front().state()->layout(), group.kind);
  std::vector<PeCoord> chosen;
  for (const PeCoord pe : all.pes()) {
    const auto is_it = [&](const Holder& h) { return h.cube == pe.cube && h.pe == pe.pe; };
    const bool works = call.tensors.empty() || std::ranges::any_of(holders, is_it);
    if (pe.sip == state.engine().sip_of(state.rank()) && works) chosen.push_back(pe);
  }
  return chosen;
}

}  // namespace kernbench::dist
