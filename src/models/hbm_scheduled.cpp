// A memory with a controller that schedules: each pseudo-channel has queues of bursts, which issuers fill in turn.
#include <algorithm>
#include <memory>
#include <vector>

#include "models/dram_channel.hpp"
#include "models/dram_map.hpp"
#include "models/shipped.hpp"

namespace kernbench::models {
namespace {

/// Bursts that wait for room in a channel's queues: the reads and the writes of each issuer in turn, each in order. If there is
/// no room for the one whose turn it is, all wait: else a flood of writes would keep the queue of writes full for ever.
class WaitingLine {
 public:
  void add(std::uint32_t issuer, const DramChannel::Burst& burst) {
    lane_of(issuer, burst.direction).bursts.push_back(burst);
  }
  bool empty() const { return lanes_.empty(); }
  Direction next() const { return lanes_.front()->direction; }

  DramChannel::Burst take() {
    Lane& lane = *lanes_.front();
    const DramChannel::Burst burst = lane.bursts[lane.next++];
    std::rotate(lanes_.begin(), lanes_.begin() + 1, lanes_.end());
    if (lane.next == lane.bursts.size()) {
      idle_.push_back(std::move(lanes_.back()));
      lanes_.pop_back();
    }
    return burst;
  }

 private:
  struct Lane {
    std::uint32_t issuer = 0;
    Direction direction = Direction::read;
    std::vector<DramChannel::Burst> bursts;
    std::size_t next = 0;
  };
  Lane& lane_of(std::uint32_t issuer, Direction direction) {
    for (const auto& lane : lanes_)
      if (lane->issuer == issuer && lane->direction == direction) return *lane;
    if (idle_.empty()) idle_.push_back(std::make_unique<Lane>());
    lanes_.push_back(std::move(idle_.back()));
    idle_.pop_back();
    Lane& lane = *lanes_.back();
    lane.issuer = issuer;
    lane.direction = direction;
    lane.bursts.clear();
    lane.next = 0;
    return lane;
  }
  std::vector<std::unique_ptr<Lane>> lanes_, idle_;
};

class ScheduledHbm final : public MemoryModel {
 public:
  ScheduledHbm(const ParamSet& hbm, const MemoryPlace& place)
      : place_(place), map_(hbm), access_(hbm.time("access_ns")) {
    const DramSpec spec = DramSpec::of(hbm);
    for (std::int64_t i = 0; i < hbm.integer("num_pcs"); ++i)
      channels_.push_back(std::make_unique<Channel>(*this, spec));
  }

  void request(const MemoryRequest& r) override {
    for (std::int64_t i = 0; i < r.count; ++i) {
      const DramMap::Place place = map_.place(r.first + i);
      channels_[place.channel]->come(
          r.issuer,
          {.tag = r.tag, .index = i, .row = place.row, .bank = place.bank, .direction = r.direction});
    }
  }

 private:
  class Channel {
   public:
    Channel(ScheduledHbm& memory, const DramSpec& spec)
        : memory_(memory), dram_(spec), command_has_gone_(*this), all_have_come_(*this) {}

    void come(std::uint32_t issuer, const DramChannel::Burst& burst) {
      if (waiting_.empty() && dram_.has_room(burst.direction))
        dram_.enter(burst, now());
      else
        waiting_.add(issuer, burst);
      ask();
    }

   private:
    Time now() const { return memory_.place_.partition.now(); }
    /// When the last command has gone and everything that comes at that instant has come, it decides.
    void ask() {
      if (command_has_gone_.scheduled() || all_have_come_.scheduled()) return;
      if (dram_.decides_at() > now())
        return memory_.place_.partition.schedule_at(command_has_gone_, dram_.decides_at());
      memory_.place_.partition.choose(all_have_come_, UINT64_MAX);
    }
    void decide() {
      fill();
      const DramChannel::Served served = dram_.serve();
      const Time through = served.through + memory_.access_;
      memory_.place_.answers.through(served.burst.tag, served.burst.index, {&through, 1});
      if (!dram_.empty() || !waiting_.empty()) ask();
    }
    /// Whose command has gone has left room for those who wait.
    void fill() {
      while (!waiting_.empty() && dram_.has_room(waiting_.next())) dram_.enter(waiting_.take(), now());
    }

    ScheduledHbm& memory_;
    DramChannel dram_;
    WaitingLine waiting_;
    sim::MemberEvent<&Channel::ask> command_has_gone_;
    sim::MemberEvent<&Channel::decide> all_have_come_;
  };

  const MemoryPlace place_;
  const DramMap map_;
  const Time access_;
  std::vector<std::unique_ptr<Channel>> channels_;
};

}  // namespace

MemoryBehaviour scheduled_hbm() {
  MemoryBehaviour scheduled = memory<ScheduledHbm>();
  // The first burst of a read opens a row, the last one of a write may hit an open one.
  scheduled.formula = [](const ParamSet& hbm) {
    const DramTiming t = DramTiming::of(hbm);
    const Time burst = hbm.time("access_ns") + t.command + t.bus;
    return MemoryFormula{.read = burst + t.activate[0] + t.data[0], .write = burst + t.data[1]};
  };
  scheduled.at_least = [](const ParamSet& hbm) {
    const DramTiming t = DramTiming::of(hbm);
    return MemoryBound{hbm.time("access_ns") + t.command + t.bus + std::min(t.data[0], t.data[1]),
                       hbm.bandwidth("hbm_to_router_bw_gbs")};
  };
  scheduled.gathers = true;
  return scheduled;
}

}  // namespace kernbench::models
