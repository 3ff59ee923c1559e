#include <algorithm>
#include <array>
#include <vector>

#include "models/shipped.hpp"

namespace kernbench::models {
namespace {

/// Latencies of a lone burst are `access_ns` + `row_hit_ns`, `row_closed_ns` or `row_conflict_ns` + its time
/// on the data bus. From these follow the commands: an activate takes closed − hit (tRCD), a precharge
/// conflict − closed (tRP), and a bank can be activated again after `row_conflict_ns` (tRC).
struct RowTiming {
  Time hit, activate, precharge, cycle;  // CL, tRCD, tRP, tRC
  Time bus, turnaround, access;
  Time refresh, refresh_interval;
};

class RowsHbm final : public PromptMemory {
 public:
  RowsHbm(const ParamSet& hbm, const MemoryPlace& place)
      : PromptMemory(place),
        t_{.hit = hbm.time("row_hit_ns"),
           .activate = hbm.time("row_closed_ns") - hbm.time("row_hit_ns"),
           .precharge = hbm.time("row_conflict_ns") - hbm.time("row_closed_ns"),
           .cycle = hbm.time("row_conflict_ns"),
           .bus = burst_time(hbm),
           .turnaround = hbm.time("turnaround_ns"),
           .access = hbm.time("access_ns"),
           .refresh = hbm.time("refresh_ns"),
           .refresh_interval = hbm.time("refresh_interval_ns")},
        bursts_per_row_(hbm.integer("row_bytes") / hbm.integer("burst_bytes")),
        banks_(hbm.integer("banks")),
        channels_(static_cast<std::size_t>(hbm.integer("num_pcs"))) {
    all_banks_.resize(channels_.size() * static_cast<std::size_t>(banks_));
  }

  Time serve(std::int64_t burst, Direction direction, Time arrival) override {
    const auto channels = static_cast<std::int64_t>(channels_.size());
    const auto number = static_cast<std::size_t>(burst % channels);
    Channel& channel = channels_[number];
    const std::int64_t row = burst / channels / bursts_per_row_;
    Bank& bank =
        all_banks_[number * static_cast<std::size_t>(banks_) + static_cast<std::size_t>(row % banks_)];
    const Time command = open_row(bank, row / banks_, arrival);
    const Time through = transfer(channel, bank, command, direction);
    taken_by_ = std::max(taken_by_, arrival);
    return through + t_.access;
  }

  std::unique_ptr<PromptMemory> copy() const override { return std::make_unique<RowsHbm>(*this); }
  void become(const PromptMemory& other) override {
    const auto& rows = static_cast<const RowsHbm&>(other);
    channels_ = rows.channels_;
    all_banks_ = rows.all_banks_;
    taken_by_ = rows.taken_by_;
  }
  std::size_t channels() const override { return channels_.size(); }
  std::size_t channel_of(std::int64_t burst) const override {
    return static_cast<std::size_t>(burst) % channels_.size();
  }
  /// So early that a bank has time to open another row before the bus is free.
  Time free_at(std::size_t channel) const override { return channels_[channel].last_end - t_.cycle; }
  Time taken_by() const override { return taken_by_; }

 private:
  struct Bank {
    std::int64_t row = -1;   // −1: none open
    std::int64_t epoch = 0;  // refreshes that had passed when it was last used
    Time column_ready;       // earliest next read or write command
    Time activate_ready;
  };
  /// Starts of booked bus slots, ascending.
  class Booked {
   public:
    static constexpr std::size_t kMost = 64;
    Time* begin() { return times_.data(); }
    Time* end() { return times_.data() + size_; }
    std::size_t size() const { return size_; }
    void clear() { size_ = 0; }
    void insert(Time* at, Time time) {
      std::copy_backward(at, end(), end() + 1);
      *at = time;
      ++size_;
    }
    /// The first so many.
    void erase(std::size_t count) {
      std::copy(begin() + count, end(), begin());
      size_ -= count;
    }

   private:
    std::array<Time, kMost + 1> times_;
    std::size_t size_ = 0;
  };
  struct Channel {
    Booked booked;
    Direction direction = Direction::read;
    Time last_end;      // of the last booked slot
    Time closed_until;  // before this no slot is given any more
  };

  /// Opens the row if it is not, and returns when the read or write command can be given.
  Time open_row(Bank& bank, std::int64_t row, Time arrival) {
    const Time earliest = after_refresh(bank, std::max(arrival, bank.column_ready));
    if (bank.row == row) return earliest;
    const Time closed_at = bank.row < 0 ? earliest : earliest + t_.precharge;
    const Time activate = outside_refresh(std::max(closed_at, bank.activate_ready));
    bank.row = row;
    if (t_.refresh > Time()) bank.epoch = activate.ps() / t_.refresh_interval.ps();
    bank.activate_ready = activate + t_.cycle;
    return activate + t_.activate;
  }

  /// A refresh since the bank's last use has closed its row, and nothing happens while one lasts.
  Time after_refresh(Bank& bank, Time time) {
    if (t_.refresh == Time()) return time;
    const Time clear = outside_refresh(time);
    const std::int64_t epoch = clear.ps() / t_.refresh_interval.ps();
    if (epoch > bank.epoch) bank.row = -1;
    bank.epoch = epoch;
    return clear;
  }

  Time outside_refresh(Time time) const {
    if (t_.refresh == Time()) return time;
    const Time begin = t_.refresh_interval * (time.ps() / t_.refresh_interval.ps());
    const bool first = begin == Time();  // the machine starts refreshed
    return first ? time : std::max(time, begin + t_.refresh);
  }

  /// Takes the first free slot of the data bus; a slot earlier than others that are booked is taken, too.
  Time transfer(Channel& channel, Bank& bank, Time command, Direction direction) {
    Time data = command + t_.hit;
    if (direction != channel.direction) {
      data = std::max(data, channel.last_end + t_.turnaround);
      channel.direction = direction;
      channel.closed_until = data;
      channel.booked.clear();
    }
    data = book(channel, data);
    bank.column_ready = std::max(bank.column_ready, data - t_.hit + t_.bus);
    channel.last_end = std::max(channel.last_end, data + t_.bus);
    return data + t_.bus;
  }

  /// The first slot from `data` on that is free and does not begin within a refresh.
  Time book(Channel& channel, Time data) {
    Booked& booked = channel.booked;
    data = outside_refresh(std::max(data, channel.closed_until));
    auto at = std::lower_bound(booked.begin(), booked.end(), data - t_.bus + Time::from_ps(1));
    for (; at != booked.end() && *at < data + t_.bus; ++at) data = outside_refresh(*at + t_.bus);
    booked.insert(at, data);
    if (booked.size() > Booked::kMost) {  // the older half is closed, gaps and all
      channel.closed_until = booked.begin()[Booked::kMost / 2 - 1] + t_.bus;
      booked.erase(Booked::kMost / 2);
    }
    return data;
  }

  const RowTiming t_;
  const std::int64_t bursts_per_row_;
  const std::int64_t banks_;
  std::vector<Channel> channels_;
  std::vector<Bank> all_banks_;  // channel by channel
  Time taken_by_;
};

}  // namespace

MemoryBehaviour rows_hbm() {
  MemoryBehaviour rows = memory<RowsHbm>();
  // The first burst of a read opens a row, the last one of a write may hit an open one.
  rows.formula = [](const ParamSet& hbm) {
    const Time burst = hbm.time("access_ns") + burst_time(hbm);
    return MemoryFormula{.read = burst + hbm.time("row_closed_ns"), .write = burst + hbm.time("row_hit_ns")};
  };
  rows.at_least = [](const ParamSet& hbm) {
    return MemoryBound{hbm.time("access_ns") + burst_time(hbm), hbm.bandwidth("hbm_to_router_bw_gbs")};
  };
  rows.gathers = true;
  return rows;
}

}  // namespace kernbench::models
