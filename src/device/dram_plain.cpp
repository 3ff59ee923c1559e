#include <algorithm>
#include <vector>

#include "device/dram.hpp"

namespace kernbench::device {
namespace {

class PlainDram final : public Dram {
 public:
  explicit PlainDram(const ParamSet& hbm)
      : burst_time_(Bandwidth::from_gbs(hbm.number("hbm_to_router_bw_gbs") /
                                        static_cast<double>(hbm.integer("num_pcs")))
                        .time_for(hbm.bytes("burst_bytes"))),
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

std::unique_ptr<Dram> make_dram(const topology::Machine& machine) {
  return machine.at("cube.hbm").text("model") == "rows" ? make_rows_dram(machine) : make_plain_dram(machine);
}

}  // namespace kernbench::device
