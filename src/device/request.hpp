// Requests of the host: memory writes and reads, MMU maps. Each says how long it took, from leaving the host to its
// completion there: host.submit_ns and host.complete_ns are part of it. (Launches are in launch.hpp.)
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "device/device.hpp"

namespace kernbench::device {

/// A write to, or a read from, any number of places: one message per place, leaving together. Goes past the control
/// CPUs: pcie_ep → io_noc → UCIe → routers → memory.
class HostTransfer {
 public:
  HostTransfer(Device& device, Direction direction);
  virtual ~HostTransfer();
  HostTransfer(const HostTransfer&) = delete;
  HostTransfer& operator=(const HostTransfer&) = delete;

  /// An InputError if the machine has no such bytes.
  void add(address::PhysAddr address, Bytes bytes) { pieces_.push_back(device_.locate(address, bytes)); }
  /// Rows of `row_bytes`, `stride` bytes apart, as one message.
  void add_rows(address::PhysAddr address, std::int64_t row_bytes, std::int64_t rows, std::int64_t stride);
  /// Sends it. Called in the host's partition; keep it until it has completed.
  void submit();

  bool completed() const { return completed_ != Time::never(); }
  Time submitted() const { return submitted_; }
  Time total() const { return completed_ - submitted_; }
  /// Those of the part that was done last; see Access.
  Time at_memory() const { return at_memory_; }
  Time through_memory() const { return through_memory_; }

 protected:
  virtual void on_completed() {}

 private:
  class Part;
  void leave();
  void part_done(const Part& part);
  void complete();

  Device& device_;
  const Direction direction_;
  std::vector<DmaTransfer::Piece> pieces_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::size_t open_ = 0;
  Time submitted_;
  Time completed_ = Time::never();
  Time at_memory_, through_memory_;
  sim::MemberEvent<&HostTransfer::leave> submit_over_;
  sim::MemberEvent<&HostTransfer::complete> complete_over_;
};

/// A control message to the MMUs of all PEs of some cubes of a SIP.
class MmuRequest : public ControlRequest {
 public:
  /// To PEs 0 … pes−1 of cubes 0 … cubes−1.
  MmuRequest(Device& device, int at_sip, int cubes, int pes);
  void submit() { device_.control().submit(*this); }
  /// Called at the host when the request has completed.
  std::function<void()> on_complete;

 protected:
  virtual void apply(address::MmuMap& map) = 0;
  void on_completed() override {
    if (on_complete) on_complete();
  }

 private:
  void at_pe(PeTask& task) override;
  Device& device_;
};

/// Maps a tensor. PEs may see different copies of it.
class MapRequest final : public MmuRequest {
 public:
  using MmuRequest::MmuRequest;
  std::function<std::shared_ptr<const address::MapSegment>(PeCoord)> segment_for;

 private:
  void apply(address::MmuMap& map) override { map.insert(segment_for(map.pe())); }
};

class UnmapRequest final : public MmuRequest {
 public:
  UnmapRequest(Device& device, int at_sip, int cubes, int pes, address::VirtAddr begin, Bytes size)
      : MmuRequest(device, at_sip, cubes, pes), begin_(begin), size_(size) {}

 private:
  void apply(address::MmuMap& map) override { map.erase(begin_, size_); }
  address::VirtAddr begin_;
  Bytes size_;
};

}  // namespace kernbench::device
