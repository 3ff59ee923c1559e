// Launching recorded programs on PEs through the control path.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "device/pe.hpp"

namespace kernbench::device {

/// The PEs of a device and the run's books: which program every record came from.
class Processors {
 public:
  explicit Processors(Device& device);
  ~Processors();

  Pe& pe(PeCoord at);
  OpWriter& writer() { return writer_; }
  Device& device() { return device_; }

  /// Enters where records come from; returns the number records carry.
  std::uint32_t add_origin(const Origin& origin);
  const std::vector<Origin>& origins() const { return origins_; }

 private:
  Device& device_;
  const PeSpec spec_;
  OpWriter writer_;
  std::vector<std::unique_ptr<Pe>> pes_;  // made on first use, by their partition
  std::vector<Origin> origins_;
};

/// One launch on PEs of one SIP.
class KernelLaunch : public ControlRequest {
 public:
  KernelLaunch(Processors& processors, std::uint32_t number, int sip,
               std::vector<std::shared_ptr<const isa::Program>> programs);

  /// Called at the host when the launch has completed.
  std::function<void(KernelLaunch&)> on_complete;
  /// What it waited for in its stream.
  Cause before;

  /// First PE start to last PE end.
  Time pe_exec() const { return last_end_ - first_start_; }
  Time network() const { return total() - pe_exec(); }
  OpRef completion() const { return completion_; }

 private:
  void at_pe(PeTask& task) override;
  void on_completed() override;

  Processors& processors_;
  std::uint32_t origin_ = 0;                                   // of the host's part
  std::vector<std::shared_ptr<const isa::Program>> programs_;  // in the order of targets
  std::vector<ProgramTask> tasks_;
  Time first_start_ = Time::never(), last_end_;
  OpRef completion_;
};

}  // namespace kernbench::device
