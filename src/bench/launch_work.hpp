// What each launch of a run asks of the machine. Launches with equal programs that find the same memory have it in common.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bench/lower_bound.hpp"
#include "runtime/engine.hpp"

namespace kernbench::bench {

/// A launch's work with its bound, which is found when it is asked for first.
class LaunchWork {
 public:
  explicit LaunchWork(Workload work) : work_(std::move(work)) {}
  const Workload& work() const { return work_; }
  const LowerBound& bound() const {
    if (!bound_) bound_ = lower_bound(work_);
    return *bound_;
  }

 private:
  Workload work_;
  mutable std::optional<LowerBound> bound_;
};

/// By number of request.
using LaunchWorks = std::map<std::uint32_t, std::shared_ptr<const LaunchWork>>;

/// Counts what launches ask for as they are submitted.
class LaunchCounter {
 public:
  explicit LaunchCounter(runtime::Engine& engine);

  std::shared_ptr<const LaunchWork> count(const runtime::LaunchRequest& launch);

 private:
  using Storages = std::vector<std::shared_ptr<const runtime::Storage>>;
  struct Known {
    std::weak_ptr<const runtime::ProgramSet> programs;
    device::WiringPtr wiring;
    Storages found;  // that programs move bytes of
    std::shared_ptr<const LaunchWork> work;
  };

  /// With the memory that it uses.
  std::pair<std::shared_ptr<const LaunchWork>, Storages> look_at(const runtime::LaunchRequest& launch) const;
  bool is_same(const Known& known, const runtime::LaunchRequest& launch) const;
  bool find(PeCoord pe, address::VirtAddr begin, Bytes size, std::vector<address::PhysPiece>& out,
            Storages& found) const;

  runtime::Engine& engine_;
  const Workload nothing_;
  std::unordered_map<const runtime::ProgramSet*, Known> known_;
};

/// The queues that a program of a launch may use; `wiring` may be null.
Queues queues_of(const topology::Graph& graph, const device::WiringPtr& wiring, PeCoord pe);

}  // namespace kernbench::bench
