// Installing queues: control messages that carry a wiring to the PEs of a SIP.
#pragma once

#include <functional>

#include "device/control_path.hpp"
#include "device/processors.hpp"

namespace kernbench::device {

class PeIpcq;

/// A control message to the wired PEs of a SIP. Such a SIP needs one only if it has any: see `targets`.
class WiringRequest : public ControlRequest {
 public:
  WiringRequest(Processors& processors, WiringPtr wiring, int at_sip);
  void submit() { processors_.device().control().submit(*this); }

  /// Called at the host when it has completed.
  std::function<void(WiringRequest&)> on_complete;

 protected:
  virtual void apply(PeIpcq& ipcq) = 0;

  Processors& processors_;
  const WiringPtr wiring_;

 private:
  void at_pe(PeTask& task) final;
  void on_completed() final {
    if (on_complete) on_complete(*this);
  }
};

/// Installs a wiring; all its counters are zero then. With `replaced`, that one is dropped in the same step: the
/// way to install a wiring again.
class InstallRequest final : public WiringRequest {
 public:
  InstallRequest(Processors& processors, WiringPtr wiring, int at_sip, WiringPtr replaced = nullptr)
      : WiringRequest(processors, std::move(wiring), at_sip), replaced_(std::move(replaced)) {}

 private:
  void apply(PeIpcq& ipcq) override;
  const WiringPtr replaced_;
};

class UninstallRequest final : public WiringRequest {
 public:
  using WiringRequest::WiringRequest;

 private:
  void apply(PeIpcq& ipcq) override;
};

}  // namespace kernbench::device
