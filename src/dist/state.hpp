// What this layer keeps with a context.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "ccl/config.hpp"
#include "dist/gatherings.hpp"
#include "dist/rank_list.hpp"
#include "dist/ranks.hpp"
#include "dist/switches.hpp"
#include "dist/wirings.hpp"

namespace kernbench::dist {

/// A group worked out for a context.
struct GroupKey {
  ccl::Group kind = ccl::Group::sip;
  RankList ranks;              // that call its collectives
  bool ranks_are_pes = false;  // each of them is one member
  bool pair = false;           // what one rank sends to another
  auto operator<=>(const GroupKey&) const = default;
};
/// `the SIPs`, `ranks 0, 2`.
std::string to_string(const GroupKey& group);

/// An algorithm that was chosen, and for what.
struct Choice {
  struct Held {
    int cube = 0, pe = 0;  // where ranks are PEs, the PE is the rank's
    std::int64_t elements = 0;
    bool operator==(const Held&) const = default;
  };
  struct Question {
    ccl::Collective collective;
    GroupKey group;
    std::vector<std::vector<Held>> held;  // by the one who asks, of each tensor: all hold alike
    bool operator==(const Question&) const = default;
  };
  Question question;
  ccl::Settings settings;
};

struct HeldMessage;

class State final : public runtime::Engine::Extension {
 public:
  /// The state of this context, made on first use.
  static State& of(runtime::Engine& engine);
  /// The same for who configures it: without a configuration, where it has none yet.
  static State& to_configure(runtime::Engine& engine);
  explicit State(runtime::Engine& engine);
  ~State() override;

  runtime::Engine& engine() const { return engine_; }
  const ccl::Registry& registry() const { return *registry_; }
  const ccl::Config& config() const { return *config_; }
  void configure(const std::string& file_or_default, const std::vector<std::string>& overrides,
                 ccl::Registry registry);
  void configure(ccl::ConfigFile file, const std::vector<std::string>& overrides, ccl::Registry registry);
  void configure_further(const std::vector<std::string>& overrides);
  const std::string& config_text() const { return file_.text; }
  Wirings& wirings() { return *wirings_; }

  // ── ranks ──
  int world_size() const;
  /// All ranks, in order.
  const RankList& world();
  int rank() const { return ranks_ != nullptr ? ranks_->current() : 0; }
  void run(Ranks& ranks);
  bool inside_spawn() const { return ranks_ != nullptr; }
  void yield() {
    if (ranks_ != nullptr) ranks_->yield();
  }

  // ── the process group ──
  /// InputError if it is so already.
  void initialize(std::string_view backend);
  bool is_initialized() const;
  /// Who takes part in a collective on this tensor; null: on none.
  GroupKey resolve(const Group& group, const Tensor* tensor);
  /// InputError unless they are some ranks, each once.
  void check_ranks(const std::vector<int>& ranks) const;
  Gatherings& gatherings(const GroupKey& group);
  /// Enters that this rank calls a collective; returns its number in the group.
  std::size_t join(const GroupKey& group, JoinedCall call);
  /// Where ranks are PEs: the launch of a collective on this rank's SIP, in which all its ranks take part.
  std::shared_ptr<runtime::JointLaunch> joint_launch(const GroupKey& group, std::size_t number,
                                                     const device::WiringPtr& wiring);

  /// Sends and receives of the calling rank that wait for more of them.
  void hold(HeldMessage message);
  void release_held(const runtime::TensorState* written) override;

  /// Kept until the configuration changes.
  std::optional<Choice> last_choice;

  // ── what the scheduler tells ──
  void rank_ended(int rank);
  void stalled();

 private:
  /// What the members of collectives are that name no group.
  ccl::Group standard_group(const Tensor* tensor);
  void forget_gatherings();
  void load(ccl::ConfigFile file, const std::vector<std::string>& overrides, ccl::Registry registry);
  bool is_of_one_host_program(const Group& group, const Tensor* tensor) const;
  /// Said to the user, once.
  void note(const std::string& text);
  /// InputError unless all SIPs were selected.
  void check_devices() const;
  /// What a rank that is awaited does instead.
  std::string excuse(int rank) const;
  bool has_ended(int rank) const;

  runtime::Engine& engine_;
  std::optional<QueueTrace> trace_;  // if it is wanted
  std::unique_ptr<ccl::Registry> registry_;
  ccl::ConfigFile file_;
  std::vector<std::string> overrides_;
  std::optional<ccl::Config> config_;
  std::optional<Wirings> wirings_;
  Ranks* ranks_ = nullptr;  // while `spawn` runs
  bool initialized_outside_ = false;
  std::set<int> initialized_;  // ranks of this spawn
  std::set<std::string> noted_;
  RankList world_;
  std::map<GroupKey, Gatherings> gatherings_;
  std::unordered_map<int, std::vector<const Gatherings*>> gatherings_of_;  // by rank
  std::map<int, std::vector<HeldMessage>> held_;                           // by rank
  struct Joint {
    std::shared_ptr<runtime::JointLaunch> launch;
    std::size_t missing = 0;  // ranks that have not asked for it
  };
  std::map<std::tuple<GroupKey, std::size_t, int>, Joint> joints_;  // by group, number of the collective, SIP
};

}  // namespace kernbench::dist
