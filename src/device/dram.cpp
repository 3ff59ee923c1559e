#include "device/dram.hpp"

#include <algorithm>

namespace kernbench::device {

Time burst_time(const ParamSet& hbm) {
  const double channel_gbs = hbm.number("hbm_to_router_bw_gbs") / static_cast<double>(hbm.integer("num_pcs"));
  return Bandwidth::from_gbs(channel_gbs).time_for(hbm.bytes("burst_bytes"));
}

void Dram::serve_all(std::int64_t first, Direction direction, Time arrival, std::span<Time> through) {
  for (Time& burst : through) burst = serve(first++, direction, arrival);
}

Time Dram::serve_series(std::int64_t first, std::int64_t count, Direction direction, Time arrival,
                        Time period) {
  Time through;
  for (std::int64_t i = 0; i < count; ++i)
    through = std::max(through, serve(first + i, direction, arrival + period * i));
  return through;
}

std::unique_ptr<Dram> make_dram(const topology::Machine& machine) {
  return machine.at("cube.hbm").text("model") == "rows" ? make_rows_dram(machine) : make_plain_dram(machine);
}

}  // namespace kernbench::device
