// DRAM timing behind one slice's controller. One interface, a file for each model.
#pragma once

#include <memory>
#include <span>

#include "device/memory.hpp"
#include "kernbench/machine.hpp"

namespace kernbench::device {

/// Serves bursts. Bursts are asked for in order of arrival; each is served by the pseudo-channel
/// `burst mod num_pcs`.
class Dram {
 public:
  virtual ~Dram() = default;
  /// When burst number `burst` of the slice, asked for at `arrival`, is through.
  virtual Time serve(std::int64_t burst, Direction direction, Time arrival) = 0;
  /// The same for consecutive bursts from `first` on, all asked for at once: when each is through.
  virtual void serve_all(std::int64_t first, Direction direction, Time arrival, std::span<Time> through);
  /// The same for the bursts first … first + count − 1, asked for one by one, `period` apart: when all are through.
  virtual Time serve_series(std::int64_t first, std::int64_t count, Direction direction, Time arrival,
                            Time period);
};

/// The model that `hbm.model` names.
std::unique_ptr<Dram> make_dram(const topology::Machine& machine);

/// A burst's time on its pseudo-channel: burst_bytes / (hbm_to_router_bw_gbs / num_pcs).
Time burst_time(const ParamSet& hbm);

/// Every burst takes its `burst_time` of its pseudo-channel, then `access_ns`.
std::unique_ptr<Dram> make_plain_dram(const topology::Machine& machine);
/// Banks with row buffers, read–write turn-around, refresh.
std::unique_ptr<Dram> make_rows_dram(const topology::Machine& machine);

}  // namespace kernbench::device
