// Launching recorded programs on PEs through the control path.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "device/pe.hpp"
#include "device/processors.hpp"

namespace kernbench::device {

/// One launch on PEs of one SIP.
class KernelLaunch : public ControlRequest {
 public:
  /// Programs that send and receive do so over `wiring`, which must be installed when they start; a
  /// SimulationError if it does not have the directions they name. `numbers`: of each program, if they belong to
  /// several requests.
  /// `fingerprints`: of each program, if they are known.
  KernelLaunch(Processors& processors, std::uint32_t number, int sip,
               std::vector<std::shared_ptr<const isa::Program>> programs, const WiringPtr& wiring = nullptr,
               const std::vector<std::uint32_t>& numbers = {},
               const std::vector<std::uint64_t>& fingerprints = {});

  /// Called at the host when the launch has completed.
  std::function<void(KernelLaunch&)> on_complete;
  /// What it waited for in its stream.
  Cause before;

  /// First PE start to last PE end.
  Time pe_exec() const { return last_end_ - first_start_; }
  Time network() const { return total() - pe_exec(); }
  /// The end of the last PE, from which the completion goes back.
  const Cause& last_end() const { return last_; }
  OpRef completion() const { return completion_; }
  /// The host's part; those of its programs follow, in the order of targets.
  std::uint32_t first_origin() const { return origin_; }

 private:
  void at_pe(PeTask& task) override;
  void on_completed() override;

  Processors& processors_;
  const std::uint32_t epoch_;
  std::uint32_t origin_ = 0;                                   // of the host's part
  std::vector<std::shared_ptr<const isa::Program>> programs_;  // in the order of targets
  std::vector<ProgramTask> tasks_;
  Time first_start_ = Time::never(), last_end_;
  Cause last_;
  OpRef completion_;
};

}  // namespace kernbench::device
