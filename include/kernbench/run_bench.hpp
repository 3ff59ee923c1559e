// Running a host program on a machine, from start to end.
//
//   BenchRun run = run_bench(machine, [](Torch& torch) { … }, DeviceSelector::parse("sip:1"));
//   fmt::print("{} ns\n{}", run.completed.ns(), to_text(run.log().critical_path()));
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernbench/torch.hpp"

namespace kernbench::runtime {

/// Which devices a host program may use: `all`, or `sip:N`. It begins on the first of them.
class DeviceSelector {
 public:
  DeviceSelector() = default;  // all
  static DeviceSelector sip(int number);
  /// InputError (`runtime.device`) if it is neither.
  static DeviceSelector parse(std::string_view text);

  /// InputError if the machine has no such SIP.
  std::vector<int> sips(const topology::Machine& machine) const;
  friend std::string to_string(const DeviceSelector& selector);

 private:
  int sip_ = -1;  // −1: all
};

/// A host program that has run to its end; everything it submitted is complete.
struct BenchRun {
  std::unique_ptr<Torch> torch;  // to look at: nothing more can be submitted
  Time completed;                // when the last request was; the first was submitted at 0

  std::vector<Trace> traces() const { return torch->traces(); }
  trace::RunLog log() const { return torch->log(); }
  std::vector<HazardReport> hazards() const { return torch->hazards(); }
};

/// Runs `host` in a fresh context. What it throws is thrown from here; a program that submits nothing is an InputError
/// (`runtime.nothing-submitted`).
BenchRun run_bench(const topology::Machine& machine, const std::function<void(Torch&)>& host,
                   const DeviceSelector& device = {}, TorchOptions options = {});

}  // namespace kernbench::runtime

namespace kernbench {
using runtime::BenchRun;
using runtime::DeviceSelector;
using runtime::run_bench;
}  // namespace kernbench
