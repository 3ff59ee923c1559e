// A PE's slice of its cube's HBM and the controller in front of it.
#pragma once

#include <memory>
#include <vector>

#include "device/dram.hpp"
#include "device/memory.hpp"

namespace kernbench::device {

/// How a transfer of several rows is charged (`pe_dma.strided`).
enum class Strided : std::uint8_t { linear, gather };

struct HbmSpec {
  Bytes burst;
  Strided strided = Strided::linear;
  static HbmSpec of(const topology::Machine& machine);
};

/// The bursts of an extent in order, each with the number of the transfer's bytes it completes. `taken` bytes
/// have been seen to before.
class Bursts {
 public:
  struct Burst {
    std::int64_t number;  // in the slice
    std::int64_t end;     // bytes of the transfer up to and with this burst
  };

  Bursts(const HbmSpec& spec, const Extent& extent, std::int64_t taken = 0);
  Burst next();

 private:
  const Extent& extent_;
  const std::int64_t burst_;
  const bool linear_;
  std::int64_t taken_;
};

class HbmSlice final : public Memory {
 public:
  HbmSlice(Fabric& fabric, topology::NodeId node, HbmSpec spec, std::unique_ptr<Dram> dram);

  Bytes bytes_served() const { return served_; }  // whole bursts

 private:
  /// Packets of a write that have been announced.
  struct Incoming {
    Access* access;
    std::int64_t first, end;  // packets
    bool in_run;              // arrive at run_tail(p); else one packet, at `tail`
    Time tail;
  };
  void serve_read(Access& access) override;
  Time finish_write(Access& access) override;
  void on_packet(Access& access, std::int64_t packet, Time tail) override;
  void on_run(Access& access) override;
  void on_run_cut(Access& access, std::int64_t from) override;

  void catch_up(Time now);
  void forget_served();
  void serve_packet(Access& access, std::int64_t packet, Time tail);

  const HbmSpec spec_;
  std::unique_ptr<Dram> dram_;
  std::vector<Incoming> incoming_;  // in order of arrival: they all come over the controller's one link
  std::size_t next_incoming_ = 0;
  Bytes served_;
};

}  // namespace kernbench::device
