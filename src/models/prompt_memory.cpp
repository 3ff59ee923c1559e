#include <algorithm>
#include <array>

#include "kernbench/memory_model.hpp"

namespace kernbench::models {

Time burst_time(const ParamSet& hbm) {
  const double channel_gbs = hbm.number("hbm_to_router_bw_gbs") / static_cast<double>(hbm.integer("num_pcs"));
  return Bandwidth::from_gbs(channel_gbs).time_for(hbm.bytes("burst_bytes"));
}

void PromptMemory::request(const MemoryRequest& request) {
  std::array<Time, 32> through;
  for (std::int64_t done = 0; done < request.count;) {
    const auto some = std::min<std::int64_t>(request.count - done, through.size());
    const std::span<Time> times{through.data(), static_cast<std::size_t>(some)};
    serve_all(request.first + done, request.direction, request.at, times);
    answers_.through(request.tag, done, times);
    done += some;
  }
}

void PromptMemory::serve_all(std::int64_t first, Direction direction, Time at, std::span<Time> through) {
  for (Time& burst : through) {
    burst = serve(first, direction, taken_at(first, at));
    ++first;
  }
}

Time PromptMemory::serve_series(std::int64_t first, std::int64_t count, Direction direction, Time at,
                                Time period) {
  Time through;
  for (std::int64_t i = 0; i < count; ++i)
    through = std::max(through, serve(first + i, direction, taken_at(first + i, at + period * i)));
  return through;
}

}  // namespace kernbench::models
