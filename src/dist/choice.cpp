#include "dist/choice.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace kernbench::dist {

using ccl::Collective;
using runtime::Holder;
using runtime::Layout;

std::vector<Holder> workers(const Layout& layout, ccl::Group group) {
  std::vector<Holder> chosen;
  if (!layout.is_replicated()) return layout.holders();
  for (const Holder& holder : layout.holders()) {
    const auto same = [&](const Holder& other) {
      return other.block == holder.block && (group == ccl::Group::sip || other.cube == holder.cube);
    };
    if (std::ranges::none_of(chosen, same)) chosen.push_back(holder);
  }
  return chosen;
}

int members(const State& state, const GroupKey& group) {
  const int ranks = static_cast<int>(group.ranks.size());
  return group.kind == ccl::Group::cube ? ranks * state.engine().machine().cubes() : ranks;
}

ccl::PlanRequest plan_request(const State& state, const GroupKey& group) {
  if (group.pair && group.kind == ccl::Group::pe)
    return {.group = group.kind,
            .lanes = {{state.engine().pe_of(group.ranks[0]), state.engine().pe_of(group.ranks[1])}}};
  const bool all =
      group.kind == ccl::Group::pe ||
      (static_cast<int>(group.ranks.size()) == state.world_size() && std::ranges::is_sorted(group.ranks));
  return {.group = group.kind, .sips = all ? std::vector<int>() : group.ranks};
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
std::vector<std::string> candidates(State& state, Collective collective, ccl::Group group) {
  if (collective != Collective::all_reduce) return {std::string(to_string(collective))};
  std::vector<std::string> names = {configured_all_reduce(state)};
  if (group == ccl::Group::sip) names.emplace_back("intersip_allreduce");
  if (group == ccl::Group::cube) {
    names.emplace_back("intercube_allreduce");
    names.emplace_back("intercube_allreduce_allpe");
  }
  if (group == ccl::Group::pe) names.emplace_back("ring_allreduce");
  return names;
}

/// What all members hold, given that they hold what this one does.
std::vector<ccl::HeldShard> held_by_all(runtime::Engine& engine, const Tensor& tensor,
                                        const GroupKey& group) {
  std::vector<ccl::HeldShard> shards;
  const Layout& layout = tensor.state()->layout();
  const auto holders = workers(layout, group.kind);
  for (const int rank : group.ranks)
    for (const Holder& h : holders)
      shards.push_back({group.kind == ccl::Group::pe ? engine.pe_of(rank) : PeCoord{rank, h.cube, h.pe},
                        layout.blocks()[h.block].bytes / layout.itemsize()});
  return shards;
}

std::string problem_of(State& state, const Choice::Question& question, const ccl::Settings& settings) {
  const GroupKey& group = question.group;
  const auto request = plan_request(state, group);
  const auto who = !request.lanes.empty()
                       ? ccl::members_of_lanes(group.kind, request.lanes)
                       : ccl::members_of(state.engine().machine(), state.registry().mapper(settings.mapper),
                                         {.group = group.kind,
                                          .sips = request.sips,
                                          .world_size = state.world_size(),
                                          .root_cube = settings.root_cube});
  const ccl::Validator& validator = state.registry().validator(settings.validator);
  for (const auto& held : question.held)
    if (auto problem = validator.problem(held, who); !problem.empty()) return problem;
  return {};
}

ccl::Settings answer(State& state, const Choice::Question& question, const std::string& caller) {
  const GroupKey& group = question.group;
  std::vector<std::string> problems;
  for (const std::string& name : candidates(state, question.collective, group.kind)) {
    ccl::Settings settings = state.config().settings(name);
    const ccl::Algorithm& algorithm = state.registry().algorithm(settings.algorithm);
    if (algorithm.collective != question.collective) continue;
    if (std::ranges::find(algorithm.serves, group.kind) == algorithm.serves.end()) continue;
    settings.world_size.reset();
    if (group.kind == ccl::Group::pe && !group.pair) settings.world_size = state.world_size();
    const std::string problem = problem_of(state, question, settings);
    if (problem.empty()) return settings;
    problems.push_back(fmt::format("\n    {} ({}): {}", name, settings.validator, problem));
  }
  throw InputError(
      {"dist.layout", caller,
       fmt::format("no algorithm works over {} on a tensor that lies like this{}", to_string(group),
                   join(problems, "")),
       "over SIPs: laid out alike on every rank; over cubes: every cube a shard of the same size, "
       "on its PE 0 or split alike over all its PEs"});
}

}  // namespace

/// All members of a group ask the same, one after the other.
const ccl::Settings& choose(State& state, const Invocation& call, const GroupKey& group) {
  Choice::Question question{call.collective, group, {}};
  for (const Tensor& tensor : call.tensors)
    question.held.push_back(held_by_all(state.engine(), tensor, group));
  std::optional<Choice>& last = state.last_choice;
  if (!last || last->question != question) last = Choice{question, answer(state, question, call.name)};
  return last->settings;
}

std::vector<PeCoord> targets(State& state, const Invocation& call, const GroupKey& group,
                             const ccl::Members& all) {
  if (group.kind == ccl::Group::pe) return {state.engine().pe_of(state.rank())};
  std::vector<Holder> holders;
  if (!call.tensors.empty()) holders = workers(call.tensors.front().state()->layout(), group.kind);
  std::vector<PeCoord> chosen;
  for (const PeCoord pe : all.pes()) {
    const auto is_it = [&](const Holder& h) { return h.cube == pe.cube && h.pe == pe.pe; };
    const bool works = call.tensors.empty() || std::ranges::any_of(holders, is_it);
    if (pe.sip == state.rank() && works) chosen.push_back(pe);
  }
  return chosen;
}

}  // namespace kernbench::dist
