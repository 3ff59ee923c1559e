#include "bench/utilization.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kernbench::bench {

TrafficTotals::Use& TrafficTotals::use_of(topology::LinkId link) {
  const std::size_t page = link.index / kPage;
  if (page >= links_.size()) links_.resize(page + 1);
  if (!links_[page]) links_[page] = std::make_unique<std::array<Use, kPage>>();
  return (*links_[page])[link.index % kPage];
}

void TrafficTotals::add(const Workload& work, Time begin, Time pe_exec) {
  for (const auto& [link, bytes] : work.links()) {
    if (bytes == 0_B) continue;
    Use& use = use_of(link);
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
  const auto consider = [&](std::uint32_t id, const Use& use) {
    if (use.window == Time()) return;
    const topology::Link link = graph.link({id});
    const double busy = static_cast<double>(use.bytes.count()) / (link.bandwidth.gbs() * use.window.ns());
    if (busy <= all.link_max) return;
    all.link_max = busy;
    all.busiest_link = fmt::format("{} → {}", graph.path(link.from), graph.path(link.to));
  };
  for (std::size_t page = 0; page < links_.size(); ++page)
    for (std::size_t i = 0; links_[page] && i < kPage; ++i)
      consider(static_cast<std::uint32_t>(page * kPage + i), (*links_[page])[i]);
  return all;
}

}  // namespace kernbench::bench
