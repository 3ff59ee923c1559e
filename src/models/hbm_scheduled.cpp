// A memory with a controller that schedules: each pseudo-channel has queues of bursts, which issuers fill in turn.
#include <algorithm>
#include <array>
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
  /// A burst for the caller to fill in.
  DramChannel::Burst& add(std::uint32_t issuer, Direction direction) {
    return lane_of(issuer, direction).bursts.emplace_back();
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

/// Decisions are made late: each depends on what came before its instant alone, and its burst is through a while after it. So
/// all channels catch up together, just before the first answer that is missing might be due, or when somebody comes.
class ScheduledHbm final : public MemoryModel {
 public:
  ScheduledHbm(const ParamSet& hbm, const MemoryPlace& place)
      : place_(place),
        map_(hbm),
        access_(hbm.time("access_ns")),
        answers_are_due_(*this),
        all_have_come_(*this) {
    const DramSpec spec = DramSpec::of(hbm);
    for (std::int64_t i = 0; i < hbm.integer("num_pcs"); ++i)
      channels_.push_back(std::make_unique<Channel>(*this, spec));
  }

  void request(const MemoryRequest& r) override {
    Time due = Time::never();
    for (std::int64_t i = 0; i < r.count; ++i) {
      const DramMap::Place place = map_.place(r.first + i);
      Channel& channel = *channels_[place.channel];
      channel.come(r, i, place);
      due = std::min(due, channel.due());
    }
    expect(due);
  }

  std::optional<MemoryActivity> activity() const override {
    MemoryActivity all{.channels = 0};
    for (const auto& channel : channels_)
      if (const MemoryActivity& one = channel->activity(); one.reads + one.writes > 0) all += one;
    return all;
  }

 private:
  class Channel {
   public:
    Channel(ScheduledHbm& memory, const DramSpec& spec) : memory_(memory), dram_(spec) {
      const Time before = memory.access_ - Time::from_ps(1);
      least_ = {dram_.least(Direction::read) + before, dram_.least(Direction::write) + before};
    }

    /// A burst of the request; its number there, and where it lies.
    void come(const MemoryRequest& request, std::int64_t index, const DramMap::Place& place) {
      catch_up(now() - Time::from_ps(1));
      if (idle()) decides_ = std::max(dram_.decides_at(), now());
      const Direction direction = request.direction;
      ++open_[static_cast<std::size_t>(direction)];
      const bool enters = waiting_.empty() && dram_.has_room(direction);
      DramChannel::Burst& burst =
          enters ? dram_.enter(direction, now()) : waiting_.add(request.issuer, direction);
      burst.tag = request.tag;
      burst.row = place.row;
      burst.index = static_cast<std::uint32_t>(index);
      burst.bank = place.bank;
    }

    /// All decisions up to an instant at which everybody has come.
    void catch_up(Time until) {
      while (decides_ <= until && !idle()) decide();
    }

    /// An answer may be due right after this, and not before; `never`: none is missing.
    Time due() const {
      if (idle()) return Time::never();
      const Time least = open_[1] == 0 ? least_[0] : std::min(least_[0], least_[1]);
      return decides_ + std::max(least, Time());
    }
    const MemoryActivity& activity() const { return dram_.activity(); }

   private:
    Time now() const { return memory_.place_.partition.now(); }
    bool idle() const { return open_[0] + open_[1] == 0; }
    void decide() {
      fill();
      const DramChannel::Served served = dram_.serve(decides_);
      decides_ = dram_.decides_at();
      --open_[static_cast<std::size_t>(served.direction)];
      const Time through = served.through + memory_.access_;
      memory_.place_.answers.through(served.tag, served.index, {&through, 1});
    }
    /// Whose command has gone has left room for those who wait.
    void fill() {
      while (!waiting_.empty() && dram_.has_room(waiting_.next())) {
        DramChannel::Burst& burst = dram_.enter(waiting_.next(), decides_);
        const DramChannel::Burst from = waiting_.take();
        burst.tag = from.tag;
        burst.row = from.row;
        burst.index = from.index;
        burst.bank = from.bank;
      }
    }

    ScheduledHbm& memory_;
    DramChannel dram_;
    WaitingLine waiting_;
    Time decides_;                       // the next decision, if somebody waits
    std::array<std::size_t, 2> open_{};  // reads and writes that are not answered
    std::array<Time, 2> least_{};  // from the decision to the instant before the answer of a read, of a write
  };

  /// One event for all channels. Who has answered meanwhile is asked too early, which does no harm.
  void expect(Time due) {
    if (due == Time::never() || all_have_come_.scheduled()) return;
    if (answers_are_due_.scheduled()) {
      if (answers_are_due_.time() <= due) return;
      place_.partition.cancel(answers_are_due_);
    }
    place_.partition.schedule_at(answers_are_due_, std::max(due, place_.partition.now()));
  }
  void wait_for_all() { place_.partition.choose(all_have_come_, UINT64_MAX); }
  void catch_up() {
    Time due = Time::never();
    for (const auto& channel : channels_) {
      channel->catch_up(place_.partition.now());
      due = std::min(due, channel->due());
    }
    expect(due);
  }

  const MemoryPlace place_;
  const DramMap map_;
  const Time access_;
  std::vector<std::unique_ptr<Channel>> channels_;
  sim::MemberEvent<&ScheduledHbm::wait_for_all> answers_are_due_;
  sim::MemberEvent<&ScheduledHbm::catch_up> all_have_come_;
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
