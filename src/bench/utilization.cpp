#include "bench/utilization.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kernbench::bench {

void TrafficTotals::add(const Workload& work, Time begin, Time pe_exec) {
  for (const auto& [link, bytes] : work.links()) {
    if (bytes == 0_B) continue;
    Use& use = links_[link];
    use.bytes += bytes;
    const Time end = begin + pe_exec, from = std::max(begin, use.until);
    if (end > from) use.window += end - from;
    use.until = std::max(use.until, end);
  }
  for (const auto& [slice, bytes] : work.slices()) {
    slice_ns_ += static_cast<double>(bytes.count()) / work.slice_bandwidth().gbs();
    slice_window_ += pe_exec;
  }
}

Utilization TrafficTotals::over(const trace::Summary& summary, const topology::Graph& graph) const {
  Utilization all{.engines = trace::utilization(summary)};
  if (slice_window_ > Time()) all.hbm = slice_ns_ / slice_window_.ns();
  for (const auto& [id, use] : links_) {
    if (use.window == Time()) continue;
    const topology::Link link = graph.link(id);
    const double busy = static_cast<double>(use.bytes.count()) / (link.bandwidth.gbs() * use.window.ns());
    if (busy <= all.link_max) continue;
    all.link_max = busy;
    all.busiest_link = fmt::format("{} → {}", graph.path(link.from), graph.path(link.to));
  }
  return all;
}

}  // namespace kernbench::bench
