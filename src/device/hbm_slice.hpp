// A slice whose model knows at once when a burst is through, whoever comes later. Writes are looked at only when somebody asks: they
// cost no events.
#pragma once

#include <memory>
#include <vector>

#include "device/hbm_memory.hpp"

namespace kernbench::device {

class HbmSlice final : public HbmMemory {
 public:
  HbmSlice(Fabric& fabric, topology::NodeId node, const HbmSpec& spec,
           std::unique_ptr<models::MemoryModel> model);

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

  const std::unique_ptr<models::MemoryModel> model_;
  models::PromptMemory& dram_;
  std::vector<IncomingPacket> packets_;  // in order of arrival: they all come over the controller's one link
  std::size_t next_packet_ = 0;
  std::vector<IncomingRun> runs_;  // not empty ones
};

}  // namespace kernbench::device
