#pragma once

#include <kernbench/registry.hpp>

#include <algorithm>
#include <deque>
#include <memory>

namespace acme {

namespace models = kernbench::models;
using kernbench::Time;

class FirstReady : public models::MemoryModel {
 public:
  FirstReady(const kernbench::ParamSet& hbm, const models::MemoryPlace& place)
      : place_(place),
        bus_(models::burst_time(hbm)),
        hit_(hbm.time("hit_ns")),
        miss_(hbm.time("miss_ns")),
        bursts_per_row_(hbm.integer("bursts_per_row")),
        cap_(hbm.integer("cap")) {
    for (std::int64_t i = 0; i < hbm.integer("num_pcs"); ++i)
      channels_.push_back(std::make_unique<Channel>(*this, i));
  }

  void request(const models::MemoryRequest& r) override {
    const auto count = static_cast<std::int64_t>(channels_.size());
    for (std::int64_t i = 0; i < r.count; ++i) {
      Channel& channel = *channels_[static_cast<std::size_t>((r.first + i) % count)];
      channel.waiting.push_back({r.tag, i, (r.first + i) / count / bursts_per_row_});
      channel.ask();
    }
  }

 private:
  struct Burst {
    std::uint64_t tag;
    std::int64_t number;  // of its request
    std::int64_t row;
  };

  /// A pseudo-channel: one burst at a time.
  struct Channel {
    Channel(FirstReady& of, std::int64_t index)
        : memory(of), rank(static_cast<std::uint64_t>(index)), free(*this), choose(*this) {}

    /// When the bus is free and everything that comes at this instant has come, it chooses.
    void ask() {
      kernbench::sim::Partition& here = memory.place_.partition;
      if (free.scheduled() || choose.scheduled()) return;
      if (free_at > here.now()) return here.schedule_at(free, free_at);
      here.choose(choose, rank);
    }
    void serve() {
      const auto ready =
          std::find_if(waiting.begin(), waiting.end(), [&](const Burst& b) { return b.row == open_row; });
      const bool passes = ready != waiting.begin() && ready != waiting.end() && passed < memory.cap_;
      const auto next = passes ? ready : waiting.begin();
      passed = passes ? passed + 1 : 0;
      const Burst burst = *next;
      waiting.erase(next);
      const Time now = memory.place_.partition.now();
      const Time through = now + (burst.row == open_row ? memory.hit_ : memory.miss_) + memory.bus_;
      open_row = burst.row;
      free_at = now + memory.bus_;
      memory.place_.answers.through(burst.tag, burst.number, {&through, 1});
      if (!waiting.empty()) ask();
    }

    FirstReady& memory;
    const std::uint64_t rank;
    std::deque<Burst> waiting;  // oldest first
    std::int64_t open_row = -1;
    std::int64_t passed = 0;  // younger ones that went before the oldest
    Time free_at;
    kernbench::sim::MemberEvent<&Channel::ask> free;
    kernbench::sim::MemberEvent<&Channel::serve> choose;
  };

  const models::MemoryPlace place_;
  const Time bus_, hit_, miss_;
  const std::int64_t bursts_per_row_, cap_;
  std::vector<std::unique_ptr<Channel>> channels_;
};

inline kernbench::topology::Impl first_ready() {
  using kernbench::Param;
  models::MemoryBehaviour behaviour = models::memory<FirstReady>();
  behaviour.at_least = [](const kernbench::ParamSet& hbm) {
    return models::MemoryBound{hbm.time("hit_ns") + models::burst_time(hbm),
                               hbm.bandwidth("hbm_to_router_bw_gbs")};
  };
  return {.name = "acme.first_ready",
          .doc = "first-ready scheduling with a cap",
          .params = {Param::number("hit_ns", 15, {0, 1e6}, "a burst of the open row"),
                     Param::number("miss_ns", 45, {0, 1e6}, "any other burst"),
                     Param::integer("bursts_per_row", 16, {1, 65536}, "bursts of a row"),
                     Param::integer("cap", 16, {0, 65536}, "hits that may pass an older burst")},
          .behaviour = behaviour,
          .check = [](const kernbench::ParamSet& hbm) -> std::optional<kernbench::topology::Refusal> {
            if (hbm.number("hit_ns") <= hbm.number("miss_ns")) return std::nullopt;
            return kernbench::topology::Refusal{"hit_ns", "a hit is slower than a miss",
                                                "make hit_ns at most miss_ns"};
          },
          .summary =
              [](const kernbench::ParamSet& hbm) {
                return "first ready, cap " + std::to_string(hbm.integer("cap"));
              }};
}

}  // namespace acme
