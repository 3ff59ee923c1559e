#include "dist/state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/text.hpp"

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
  if (group.pair) return fmt::format("messages from rank {} to rank {}", group.ranks[0], group.ranks[1]);
  std::vector<std::string> ranks;
  for (const int r : group.ranks) ranks.push_back(std::to_string(r));
  return ranks.size() > 8 ? fmt::format("{} ranks", ranks.size()) : fmt::format("ranks {}", join(ranks));
}

State& State::of(runtime::Engine& engine) {
  if (!engine.extension) engine.extension = std::make_unique<State>(engine);
  return static_cast<State&>(*engine.extension);
}

State::State(runtime::Engine& engine) : engine_(engine) {
  configure("default", {}, ccl::builtin_registry());
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
  if (config_ && !engine_.requests().empty())
    throw InputError({"dist.configure", "", "ccl.yaml is chosen after something was submitted",
                      "choose it before anything else"});
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
    gatherings_.clear();
    joints_.clear();
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

void State::rank_ended(int rank) {
  if (!engine_.host().device_set && engine_.host().submitted)
    warn(fmt::format("rank {} never set a device: all it did was on device {}", rank, engine_.host().device));
  for (const auto& [group, gatherings] : gatherings_)
    if (gatherings.is_awaited(rank))
      gatherings.fail_without(rank, [&](int r) { return r == rank ? "has ended" : excuse(r); });
}

void State::stalled() {
  const auto all = std::exchange(gatherings_, {});
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
  const ccl::Settings settings = config_->settings(config_->algorithm());
  const Wired& wired = wirings_->ready(settings, {.group = ccl::usual_group(*registry_, settings)});
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

GroupKey State::resolve(const Group& group) const {
  if (engine_.devices_are_pes()) {
    if (group.kind() == Group::Kind::standard) return {ccl::Group::pe, first(world_size())};
    throw InputError({"dist.group", "group", "ranks are PEs here, and all of them the only group",
                      "leave the group out, or the world_size in ccl.yaml"});
  }
  const bool cubes = group.kind() == Group::Kind::cubes ||
                     (group.kind() == Group::Kind::standard && config_->group() == ccl::Group::cube);
  if (group.kind() != Group::Kind::ranks)
    return {cubes ? ccl::Group::cube : ccl::Group::sip, first(world_size())};
  check_ranks(group.ranks());
  return {ccl::Group::sip, group.ranks()};
}

void State::check_ranks(const std::vector<int>& ranks) const {
  if (ranks.empty()) throw InputError({"dist.group", "group", "it has no ranks", "give at least one"});
  for (const int r : ranks) {
    if (r < 0 || r >= world_size())
      throw InputError({"dist.group", "group", fmt::format("it has rank {}", r),
                        fmt::format("ranks are 0 to {}", world_size() - 1)});
    if (std::ranges::count(ranks, r) > 1)
      throw InputError(
          {"dist.group", "group", fmt::format("it has rank {} twice", r), "name each rank once"});
  }
}

Gatherings& State::gatherings(const GroupKey& group) {
  const auto known = gatherings_.find(group);
  return known != gatherings_.end()
             ? known->second
             : gatherings_.try_emplace(group, to_string(group), group.ranks).first->second;
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
