// The model of a machine's memory, asked by itself.
#pragma once

#include <algorithm>
#include <memory>

#include "kernbench/machine.hpp"
#include "kernbench/memory_model.hpp"

namespace kernbench::device::testing {

/// A memory that knows at once when a burst is through.
class Dram : models::MemoryAnswers {
 public:
  explicit Dram(const topology::Machine& machine)
      : model_(machine.behaviour<models::MemoryBehaviour>("cube.hbm")
                   .make(machine.at("cube.hbm"), {simulation_.partition(0), *this})) {}

  Time serve(std::int64_t burst, models::Direction direction, Time at) {
    return model_->prompt()->serve(burst, direction, at);
  }
  /// When its channel takes it.
  Time take(std::int64_t burst, models::Direction direction, Time at) {
    const models::PromptMemory& memory = *model_->prompt();
    return serve(burst, direction, std::max(at, memory.free_at(memory.channel_of(burst))));
  }
  void serve_all(std::int64_t first, models::Direction direction, Time at, std::span<Time> through) {
    model_->prompt()->serve_all(first, direction, at, through);
  }
  Time serve_series(std::int64_t first, std::int64_t count, models::Direction direction, Time at,
                    Time period) {
    return model_->prompt()->serve_series(first, count, direction, at, period);
  }

 private:
  void through(std::uint64_t, std::int64_t, std::span<const Time>) override {}

  sim::Simulation simulation_{1};
  std::unique_ptr<models::MemoryModel> model_;
};

inline std::unique_ptr<Dram> make_dram(const topology::Machine& machine) {
  return std::make_unique<Dram>(machine);
}

}  // namespace kernbench::device::testing
