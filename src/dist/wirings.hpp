// The queues of collectives: planned once, installed on first use, and again when they are gone or may hold messages of
// collectives that failed.
#pragma once

#include <compare>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ccl/plan.hpp"
#include "kernbench/distributed.hpp"
#include "runtime/engine.hpp"

namespace kernbench::dist {

/// A collective that can be launched.
struct Wired {
  ccl::Plan plan;
  device::WiringPtr wiring;
  std::vector<std::shared_ptr<runtime::Request>> installs;  // what launches come after
};

class Wirings {
 public:
  Wirings(runtime::Engine& engine, const ccl::Registry& registry) : engine_(engine), registry_(registry) {}

  /// Submits the installation if it is needed.
  const Wired& ready(const ccl::Settings& settings, const ccl::PlanRequest& request);
  /// The counters of the wirings that are installed.
  std::vector<QueueCounters> counters() const;
  /// Collectives have failed: what is in the queues is nobody's.
  void distrust() { ++generation_; }

 private:
  struct Key {
    std::string name;
    ccl::Group group;
    std::vector<int> sips;
    std::vector<ccl::Mapper::Pick> pes;
    std::vector<std::vector<PeCoord>> lanes;
    auto operator<=>(const Key&) const = default;
  };
  struct Entry {
    Wired wired;
    int given_up = 0;    // Engine::times_given_up when it was installed
    int generation = 0;  // ours
  };

  void install(Entry& entry);
  runtime::Stream& stream_for(int sip, const device::InstalledWiring& wiring);

  runtime::Engine& engine_;
  const ccl::Registry& registry_;
  std::map<Key, Entry> entries_;
  int generation_ = 0;
};

}  // namespace kernbench::dist
