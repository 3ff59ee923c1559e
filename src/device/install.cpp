#include "device/install.hpp"

#include "device/pe.hpp"

namespace kernbench::device {

WiringRequest::WiringRequest(Processors& processors, WiringPtr wiring, int at_sip)
    : processors_(processors), wiring_(std::move(wiring)) {
  sip = at_sip;
  part = topology::NodeKind::pe_ipcq;
  targets = wiring_->pes_of(at_sip);
}

void WiringRequest::at_pe(PeTask& task) {
  apply(processors_.pe(task.pe).ipcq());
  processors_.device().control().complete(task);
}

void InstallRequest::apply(PeIpcq& ipcq) {
  if (replaced_) ipcq.uninstall(*replaced_);
  ipcq.install(wiring_);
}

void UninstallRequest::apply(PeIpcq& ipcq) { ipcq.uninstall(*wiring_); }

}  // namespace kernbench::device
