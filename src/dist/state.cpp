#include "dist/state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "base/text.hpp"
#include "dist/messages.hpp"

namespace kernbench::dist {
namespace {

std::vector<int> first(int n) {
  std::vector<int> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

std::string to_string(const GroupKey& group) {
  if (group.kind == ccl::Group::cube) return "the cubes";
  if (group.kind == ccl::Group::pe && !group.ranks_are_pes) return "the PEs";
  if (group.pair) return fmt::format("messages from rank {} to rank {}", group.ranks[0], group.ranks[1]);
  std::vector<std::string> ranks;
  for (const int r : group.ranks) ranks.push_back(std::to_string(r));
  return ranks.size() > 8 ? fmt::format("{} ranks", ranks.size()) : fmt::format("ranks {}", join(ranks));
}

State& State::of(runtime::Engine& engine) {
  State& state = to_configure(engine);
  if (!state.config_) state.load(ccl::read_config(""), {}, ccl::builtin_registry());
  return state;
}

State& State::to_configure(runtime::Engine& engine) {
  if (!engine.extension) engine.extension = std::make_unique<State>(engine);
  return static_cast<State&>(*engine.extension);
}

State::State(runtime::Engine& engine) : engine_(engine) {
  if (!is_switched_on("KERNBENCH_CCL_TRACE")) return;
  trace_.emplace(stderr);
  engine_.processors().watch_queues(&*trace_);
}

State::~State() = default;

void State::configure_further(const std::vector<std::string>& overrides) {
  std::vector<std::string> all = overrides_;
  all.insert(all.end(), overrides.begin(), overrides.end());
  configure(ccl::ConfigFile(file_), all, *registry_);
}

void State::configure(const std::string& file_or_default, const std::vector<std::string>& overrides,
                      ccl::Registry registry) {
  configure(ccl::read_config(file_or_default), overrides, std::move(registry));
}

void State::configure(ccl::ConfigFile file, const std::vector<std::string>& overrides,
                      ccl::Registry registry) {
  if (!engine_.requests().empty())
    throw InputError({"dist.configure", "", "ccl.yaml is chosen after something was submitted",
                      "choose it before anything else"});
  load(std::move(file), overrides, std::move(registry));
}

void State::load(ccl::ConfigFile file, const std::vector<std::string>& overrides, ccl::Registry registry) {
  config_ = ccl::load_config(file, overrides, registry);
  last_choice.reset();
  file_ = std::move(file);
  overrides_ = overrides;
  registry_ = std::make_unique<ccl::Registry>(std::move(registry));
  wirings_.emplace(engine_, *registry_);
  const ccl::Settings settings = config_->settings(config_->algorithm());
  if (!settings.world_size) return;
  const auto members = ccl::members_of(engine_.machine(), registry_->mapper(settings.mapper),
                                       {.group = ccl::Group::pe, .world_size = *settings.world_size});
  engine_.use_pes(members.lanes.front());
}

// ── ranks ──

int State::world_size() const { return engine_.devices(); }

const RankList& State::world() {
  if (static_cast<int>(world_.size()) != world_size()) world_ = first(world_size());
  return world_;
}

void State::run(Ranks& ranks) {
  ranks_ = &ranks;
  initialized_.clear();
  const struct Reset {
    State& state;
    ~Reset() { state.ranks_ = nullptr; }
  } reset{*this};
  try {
    ranks.run();
  } catch (...) {
    forget_gatherings();
    joints_.clear();
    held_.clear();
    wirings_->distrust();
    throw;
  }
}

std::string State::excuse(int rank) const {
  if (ranks_ == nullptr) return "does not run: this is outside of spawn";
  if (rank >= ranks_->count()) return "was not spawned";
  return ranks_->what_it_does(rank);
}

bool State::has_ended(int rank) const {
  return ranks_ == nullptr ? rank != 0 : rank >= ranks_->count() || ranks_->has_ended(rank);
}

void State::hold(HeldMessage message) { held_[rank()].push_back(std::move(message)); }

void State::release_held(const runtime::TensorState* written) {
  const auto found = held_.find(rank());
  if (found == held_.end()) return;
  const auto is_it = [&](const HeldMessage& m) { return m.call.tensors.front().state().get() == written; };
  if (written != nullptr && std::ranges::none_of(found->second, is_it)) return;
  const auto messages = std::move(found->second);
  held_.erase(found);
  launch_messages(*this, messages);
}

void State::rank_ended(int rank) {
  release_held(nullptr);
  if (!engine_.host().device_set && engine_.host().submitted)
    warn(fmt::format("rank {} never set a device: all it did was on device {}", rank, engine_.host().device));
  for (const Gatherings* gatherings : gatherings_of_[rank])
    if (gatherings->is_awaited(rank))
      gatherings->fail_without(rank, [&](int r) { return r == rank ? "has ended" : excuse(r); });
}

void State::stalled() {
  const auto all = std::exchange(gatherings_, {});
  gatherings_of_.clear();
  joints_.clear();
  const auto others = std::ranges::count_if(all, [](const auto& g) { return g.second.is_open(); }) - 1;
  std::string what = "not all members have joined, and nobody can go on";
  if (others > 0)
    what += fmt::format("; {} more group{} in the same case", others, others == 1 ? " is" : "s are");
  for (const auto& [group, gatherings] : all)
    if (gatherings.is_open()) gatherings.fail_open(what, [&](int r) { return excuse(r); });
}

// ── the process group ──

bool State::is_initialized() const {
  return initialized_outside_ || (ranks_ != nullptr && initialized_.contains(rank()));
}

void State::initialize(std::string_view backend) {
  if (backend != "ahbm")
    throw InputError({"dist.backend", "init_process_group", fmt::format("backend '{}'", backend),
                      "there is one backend: ahbm"});
  if (is_initialized())
    throw InputError({"dist.initialized", fmt::format("rank {}", rank()),
                      "the process group is initialized already",
                      "call init_process_group once before spawn, or once in every rank"});
  check_devices();
  for (const std::string& text : config_->notes()) note(text);
  const ccl::Settings settings = config_->settings(config_->algorithm());
  const ccl::Group group = ccl::usual_group(*registry_, settings, config_->group().value_or(ccl::Group::sip));
  const Wired& wired = wirings_->ready(settings, {.group = group});
  if (ranks_ == nullptr)
    initialized_outside_ = true;
  else
    initialized_.insert(rank());
  for (const auto& request : std::vector(wired.installs)) engine_.wait(*request);
}

/// A rank is a SIP, and all of them make the group.
void State::check_devices() const {
  const auto& selected = engine_.selected_devices();
  if (static_cast<int>(selected.size()) == world_size()) return;
  throw InputError(
      {"dist.device", "init_process_group",
       fmt::format("a process group is all {} SIPs of the machine, but sip:{} alone was selected",
                   world_size(), selected.front()),
       "leave --device out; a machine of one SIP is --set system.sips.count=1"});
}

namespace {

/// Every cube holds one shard, and no two the same one.
bool has_one_shard_per_cube(const runtime::Layout& layout, int cubes) {
  std::set<int> seen;
  for (const runtime::Holder& holder : layout.holders()) seen.insert(holder.cube);
  return !layout.is_replicated() && static_cast<int>(seen.size()) == cubes &&
         static_cast<int>(layout.holders().size()) == cubes;
}

}  // namespace

void State::note(const std::string& text) {
  if (noted_.insert(text).second) std::fputs(fmt::format("kernbench: note: {}\n", text).c_str(), stderr);
}

/// A file that names an algorithm between cubes or PEs, and no group, means that its collectives are about these.
ccl::Group State::standard_group(const Tensor* tensor) {
  if (config_->group() || !config_->names_algorithm()) return config_->group().value_or(ccl::Group::sip);
  const std::string& name = config_->algorithm();
  const auto& serves = registry_->algorithm(config_->settings(name).algorithm).serves;
  if (serves.size() != 1 || serves.front() == ccl::Group::sip || tensor == nullptr) return ccl::Group::sip;
  const bool cubes = serves.front() == ccl::Group::cube;
  note(fmt::format(
      "{} names {} and no group: collectives are over {}; `defaults.group` in ccl.yaml says which",
      config_->source(), name,
      cubes ? "cubes for tensors with one shard in each, over SIPs for others" : "PEs"));
  if (!cubes) return ccl::Group::pe;
  return has_one_shard_per_cube(tensor->state()->layout(), engine_.machine().cubes()) ? ccl::Group::cube
                                                                                      : ccl::Group::sip;
}

GroupKey State::resolve(const Group& group, const Tensor* tensor) {
  if (is_of_one_host_program(group, tensor)) return {ccl::Group::pe, {0}, false};
  const bool by_pe = engine_.devices_are_pes();
  if (by_pe && group.kind() == Group::Kind::cubes)
    throw InputError({"dist.group", "group", "ranks are PEs here, and no cubes",
                      "leave the group out, or the world_size in ccl.yaml"});
  GroupKey key{by_pe ? ccl::Group::pe : ccl::Group::sip, world(), by_pe};
  if (group.kind() == Group::Kind::ranks) {
    check_ranks(group.ranks());
    key.ranks = group.ranks();
  } else if (!by_pe) {
    key.kind = group.kind() == Group::Kind::cubes  ? ccl::Group::cube
               : group.kind() == Group::Kind::pes  ? ccl::Group::pe
               : group.kind() == Group::Kind::sips ? ccl::Group::sip
                                                   : standard_group(tensor);
  }
  return key;
}

/// Outside of `spawn`, a tensor over as many PEs as there are ranks: each of these PEs is a rank.
bool State::is_of_one_host_program(const Group& group, const Tensor* tensor) const {
  if (inside_spawn() || group.kind() != Group::Kind::standard || tensor == nullptr || !*tensor) return false;
  const runtime::Layout& layout = tensor->state()->layout();
  return world_size() > 1 && !layout.is_replicated() &&
         static_cast<int>(layout.holders().size()) == world_size();
}

void State::check_ranks(const std::vector<int>& ranks) const {
  if (ranks.empty()) throw InputError({"dist.group", "group", "it has no ranks", "give at least one"});
  std::unordered_set<int> known;
  for (const int r : ranks) {
    if (r < 0 || r >= world_size())
      throw InputError({"dist.group", "group", fmt::format("it has rank {}", r),
                        fmt::format("ranks are 0 to {}", world_size() - 1)});
    if (!known.insert(r).second)
      throw InputError(
          {"dist.group", "group", fmt::format("it has rank {} twice", r), "name each rank once"});
  }
}

Gatherings& State::gatherings(const GroupKey& group) {
  if (const auto known = gatherings_.find(group); known != gatherings_.end()) return known->second;
  Gatherings& made = gatherings_.try_emplace(group, to_string(group), group.ranks).first->second;
  for (const int rank : group.ranks) gatherings_of_[rank].push_back(&made);
  return made;
}

void State::forget_gatherings() {
  gatherings_.clear();
  gatherings_of_.clear();
}

std::size_t State::join(const GroupKey& group, JoinedCall call) {
  return gatherings(group).join(
      rank(), std::move(call), [&](int r) { return has_ended(r); }, [&](int r) { return excuse(r); });
}

std::shared_ptr<runtime::JointLaunch> State::joint_launch(const GroupKey& group, std::size_t number,
                                                          const device::WiringPtr& wiring) {
  const int sip = engine_.sip_of(rank());
  const auto key = std::tuple(group, number, sip);
  auto found = joints_.find(key);
  if (found == joints_.end()) {
    const auto parts = static_cast<std::size_t>(
        std::ranges::count(group.ranks, sip, [&](int r) { return engine_.sip_of(r); }));
    auto launch = std::make_shared<runtime::JointLaunch>(engine_.processors(), sip, parts, wiring);
    found = joints_.emplace(key, Joint{std::move(launch), parts}).first;
  }
  auto launch = found->second.launch;
  if (--found->second.missing == 0) joints_.erase(found);
  return launch;
}

}  // namespace kernbench::dist
