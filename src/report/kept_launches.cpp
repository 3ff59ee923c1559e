#include "report/kept_launches.hpp"

#include <algorithm>

namespace kernbench::report {
namespace {

bool multiplies(device::OpKind kind) {
  return kind == device::OpKind::gemm || kind == device::OpKind::tile_gemm;
}
bool computes(device::OpKind kind) {
  return kind == device::OpKind::math || kind == device::OpKind::tile_math;
}

}  // namespace

KeptLaunches::KeptLaunches(const trace::Recording& run, std::uint64_t most) {
  count(run);
  std::vector<std::size_t> kernels;  // requests that are launches
  for (const trace::OriginInfo& o : run.info.origins)
    if (!o.is_host() && (kernels.empty() || kernels.back() != o.launch)) kernels.push_back(o.launch);
  std::ranges::sort(kernels);
  kernels.erase(std::ranges::unique(kernels).begin(), kernels.end());
  const auto few = static_cast<std::int64_t>(std::min<std::uint64_t>(most, INT64_MAX));
  for (std::int64_t step = 2; kept() > few && step <= 2 * static_cast<std::int64_t>(kernels.size());
       step *= 2)
    keep_every(step, kernels);
}

void KeptLaunches::count(const trace::Recording& run) {
  for (const auto& partition : run.records)
    for (std::uint32_t i = 0; i < partition.size(); ++i) {
      const device::OpRecord& r = partition[i];
      const std::uint32_t launch = run.origin(r).launch;
      if (launch >= launches_.size()) launches_.resize(launch + 1);
      LaunchOps& ops = launches_[launch];
      ++ops.ops;
      if (multiplies(r.kind))
        ops.macs += static_cast<std::int64_t>(r.amount);
      else if (!computes(r.kind))
        ops.bytes += static_cast<std::int64_t>(r.amount);
    }
}

void KeptLaunches::keep_every(std::int64_t step, const std::vector<std::size_t>& kernels) {
  for (std::size_t i = 0; i < kernels.size(); ++i)
    if (kernels[i] < launches_.size())
      launches_[kernels[i]].kept = i + 1 == kernels.size() || static_cast<std::int64_t>(i) % step == 0;
}

std::int64_t KeptLaunches::all() const {
  std::int64_t sum = 0;
  for (const LaunchOps& launch : launches_) sum += launch.ops;
  return sum;
}

std::int64_t KeptLaunches::kept() const {
  std::int64_t sum = 0;
  for (const LaunchOps& launch : launches_) sum += launch.kept ? launch.ops : 0;
  return sum;
}

}  // namespace kernbench::report
