// A slice whose model knows at once when a burst is through, whoever comes later. Writes are looked at only when somebody asks: they
// cost no events.
#pragma once

#include <memory>

#include "device/hbm_memory.hpp"

namespace kernbench::device {

class HbmSlice final : public HbmMemory {
 public:
  HbmSlice(Fabric& fabric, topology::NodeId node, const HbmSpec& spec,
           std::unique_ptr<models::MemoryModel> model);
  bool forgets() const override { return model_->forgets(); }

 private:
  void serve_read(Access& access) override;
  Time finish_write(Access& access) override;

  bool is_consecutive(const Extent& extent) const;
  void read_consecutive(Access& access);
  void read_rows(Access& access);
  void catch_up(Time now);
  void serve_packet(Access& access, std::int64_t packet, Time tail);
  bool is_series(const Arrivals::Packets& packets) const;
  void serve_series(const Arrivals::Packets& packets);

  const std::unique_ptr<models::MemoryModel> model_;
  models::PromptMemory& dram_;
};

}  // namespace kernbench::device
