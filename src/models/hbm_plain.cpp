#include <algorithm>
#include <vector>

#include "models/shipped.hpp"

namespace kernbench::models {
namespace {

class PlainHbm final : public PromptMemory {
 public:
  PlainHbm(const ParamSet& hbm, const MemoryPlace& place)
      : PromptMemory(place),
        burst_time_(burst_time(hbm)),
        access_(hbm.time("access_ns")),
        free_at_(static_cast<std::size_t>(hbm.integer("num_pcs"))) {}

  bool forgets() const override { return true; }

  Time serve(std::int64_t burst, Direction, Time arrival) override {
    Time& channel = free_at_[static_cast<std::size_t>(burst) % free_at_.size()];
    channel = std::max(channel, arrival) + burst_time_;
    return channel + access_;
  }

  void serve_all(std::int64_t first, Direction, Time arrival, std::span<Time> through) override {
    std::size_t channel = static_cast<std::size_t>(first) % free_at_.size();
    for (Time& burst : through) {
      free_at_[channel] = std::max(free_at_[channel], arrival) + burst_time_;
      burst = free_at_[channel] + access_;
      if (++channel == free_at_.size()) channel = 0;
    }
  }

  /// Each channel gets every num_pcs-th burst. Its n bursts of time s, asked for at a₀, a₀ + d …, keep it busy until the
  /// latest of: free + n·s (always waiting), a₀ + n·s (waiting since the first), aₙ₋₁ + s (the last waits for nobody).
  /// One in between would have to be both later and earlier than its neighbours.
  Time serve_series(std::int64_t first, std::int64_t count, Direction, Time arrival, Time period) override {
    const auto channels = static_cast<std::int64_t>(free_at_.size());
    Time through;
    for (std::int64_t i = 0; i < std::min(count, channels); ++i) {
      Time& channel = free_at_[static_cast<std::size_t>((first + i) % channels)];
      const std::int64_t bursts = (count - i + channels - 1) / channels;
      const Time asked_first = arrival + period * i;
      const Time asked_last = asked_first + period * (channels * (bursts - 1));
      channel = std::max(std::max(channel, asked_first) + burst_time_ * bursts, asked_last + burst_time_);
      through = std::max(through, channel);
    }
    return through + access_;
  }

  std::unique_ptr<PromptMemory> copy() const override { return std::make_unique<PlainHbm>(*this); }
  void become(const PromptMemory& other) override { free_at_ = static_cast<const PlainHbm&>(other).free_at_; }
  std::size_t channels() const override { return free_at_.size(); }
  std::size_t channel_of(std::int64_t burst) const override {
    return static_cast<std::size_t>(burst) % free_at_.size();
  }
  Time free_at(std::size_t channel) const override { return free_at_[channel]; }
  Time taken_by() const override { return *std::max_element(free_at_.begin(), free_at_.end()) - burst_time_; }

 private:
  const Time burst_time_;
  const Time access_;
  std::vector<Time> free_at_;  // per pseudo-channel
};

}  // namespace

MemoryBehaviour plain_hbm() {
  MemoryBehaviour plain = memory<PlainHbm>();
  plain.formula = [](const ParamSet& hbm) {
    const Time burst = hbm.time("access_ns") + burst_time(hbm);
    return MemoryFormula{.read = burst, .write = burst, .bursts_alike = true};
  };
  plain.at_least = [](const ParamSet& hbm) {
    return MemoryBound{hbm.time("access_ns") + burst_time(hbm), hbm.bandwidth("hbm_to_router_bw_gbs")};
  };
  plain.gathers = false;
  return plain;
}

}  // namespace kernbench::models
