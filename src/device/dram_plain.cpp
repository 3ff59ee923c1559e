#include <algorithm>
#include <vector>

#include "device/dram.hpp"

namespace kernbench::device {
namespace {

class PlainDram final : public Dram {
 public:
  explicit PlainDram(const ParamSet& hbm)
      : burst_time_(burst_time(hbm)),
        access_(hbm.time("access_ns")),
        free_at_(static_cast<std::size_t>(hbm.integer("num_pcs"))) {}

  Time serve(std::int64_t burst, Direction, Time arrival) override {
    Time& channel = free_at_[static_cast<std::size_t>(burst) % free_at_.size()];
    channel = std::max(channel, arrival) + burst_time_;
    return channel + access_;
  }

 private:
  const Time burst_time_;
  const Time access_;
  std::vector<Time> free_at_;  // per pseudo-channel
};

}  // namespace

std::unique_ptr<Dram> make_plain_dram(const topology::Machine& machine) {
  return std::make_unique<PlainDram>(machine.at("cube.hbm"));
}

}  // namespace kernbench::device
