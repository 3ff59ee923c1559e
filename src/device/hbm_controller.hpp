// A slice in front of any model: requests in, completions out at any later time.
//
// A read asks for its bursts when its request comes; its packets leave as the bursts before their end are through. A write asks for a
// burst when the burst's last byte has come, and is acknowledged when all are through.
#pragma once

#include <memory>
#include <vector>

#include "device/burst_answers.hpp"
#include "device/hbm_memory.hpp"

namespace kernbench::device {

class HbmController final : public HbmMemory, private models::MemoryAnswers {
 public:
  HbmController(Fabric& fabric, topology::NodeId node, const HbmSpec& spec,
                const models::MemoryBehaviour& behaviour, const ParamSet& params);
  bool forgets() const override { return model_->forgets(); }
  std::optional<models::MemoryActivity> activity() const override { return model_->activity(); }

 private:
  /// An access with bursts that the model has not answered, or bytes that have not come.
  struct Open : BurstAnswers {
    Direction direction =
        Direction::read;       // a read may have become a write elsewhere by the time it is answered
    std::int64_t missing = 0;  // bursts asked for and not answered
    bool delivered = false;    // writes: all bytes have come
  };
  void serve_read(Access& access) override;
  Time finish_write(Access& access) override;
  void on_news() override { expect_next(); }
  void through(std::uint64_t tag, std::int64_t first, std::span<const Time> at) override;

  std::uint32_t open(Access& access, Direction direction);
  std::uint32_t open_write(Access& access);
  void close(std::uint32_t number);
  void request(std::uint32_t number, std::int64_t base, std::int64_t first, std::int64_t count);
  void hand_over();
  void expect_next();
  void serve_packet(Access& access, std::int64_t packet);

  /// Bursts of a read that follow each other.
  struct Series {
    std::int64_t base, first, count;  // the read's burst, the slice's, how many
  };
  std::vector<Series> series_;  // of the read that is being served
  std::vector<std::unique_ptr<Open>> opens_;
  std::vector<std::uint32_t> idle_;
  sim::MemberEvent<&HbmController::hand_over> bytes_come_;
  std::unique_ptr<models::MemoryModel> model_;
};

}  // namespace kernbench::device
