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
  // Packets of writes that have been announced: those that come alone, and runs.
  struct IncomingPacket {
    Access* access;
    std::int64_t packet;
    Time tail;
  };
  struct IncomingRun {
    Access* access;
    Run run;  // without what has been served
    Time next_tail() const { return access->data().run_tail(run, run.first); }
  };
  void serve_read(Access& access) override;
  Time finish_write(Access& access) override;
  void on_packet(Access& access, std::int64_t packet, Time tail) override;
  void on_run(Access& access, const Run& run) override;
  void on_run_cut(Access& access, std::int64_t from, std::int64_t end) override;

  bool is_consecutive(const Extent& extent) const;
  void read_consecutive(Access& access);
  void read_rows(Access& access);
  void catch_up(Time now);
  void serve_runs(Time until);
  void serve_run(IncomingRun& incoming, Time until);
  void serve_packet(Access& access, std::int64_t packet, Time tail);
  bool is_series(const Access& access, const Run& run) const;
  void serve_series(Access& access, const Run& run);

  const HbmSpec spec_;
  std::unique_ptr<Dram> dram_;
  std::vector<IncomingPacket> packets_;  // in order of arrival: they all come over the controller's one link
  std::size_t next_packet_ = 0;
  std::vector<IncomingRun> runs_;  // not empty ones
  Bytes served_;
};

}  // namespace kernbench::device
