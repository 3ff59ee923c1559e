// How busy the machine was during launches, as fractions of what it can do.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "bench/workload.hpp"
#include "kernbench/trace.hpp"

namespace kernbench::bench {

/// 0 … 1; of nothing: 0.
struct Utilization {
  trace::Utilization engines;  // union of busy intervals ÷ execution time, over the PEs that ran
  double hbm = 0;  // bytes ÷ (bandwidth · time), over the slices that launches used, while they used them
  double link_max = 0;       // the same of the link that was busiest
  std::string busiest_link;  // `a → b`
};

/// Adds up what launches moved, over the time in which some launch used the resource.
class TrafficTotals {
 public:
  /// A launch that began no earlier than those before it.
  void add(const Workload& work, Time begin, Time pe_exec);
  Utilization over(const trace::Summary& summary, const topology::Graph& graph) const;

 private:
  struct Use {
    Bytes bytes;
    Time window;  // in which launches used it
    Time until;   // the end of the last of them
  };
  static constexpr std::size_t kPage = 256;
  Use& use_of(topology::LinkId link);

  std::vector<std::unique_ptr<std::array<Use, kPage>>> links_;  // by link, page by page; null: none of them
  double slice_ns_ = 0;                                         // bytes ÷ bandwidth, summed over slices
  Time slice_window_;                                           // summed over slices
};

}  // namespace kernbench::bench
