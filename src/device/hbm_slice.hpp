// A slice whose model knows at once when a burst is through, whoever comes later.
//
// Its pseudo-channels take the bursts of different streams in turn (turns.hpp). While all that waits is of one stream, that is
// answered ahead of time, and writes are looked at only when somebody asks: they cost no events. What has been answered so is
// written down; when another stream comes, what was not yet taken is taken back, and goes in turn.
#pragma once

#include <memory>
#include <vector>

#include "device/hbm_memory.hpp"
#include "device/turns.hpp"

namespace kernbench::device {

class HbmSlice final : public HbmMemory {
 public:
  HbmSlice(Fabric& fabric, topology::NodeId node, const HbmSpec& spec,
           std::unique_ptr<models::MemoryModel> model);
  bool forgets() const override { return model_->forgets(); }
  std::optional<models::MemoryActivity> activity() const override { return model_->activity(); }

 private:
  void serve_read(Access& access) override;
  Time finish_write(Access& access) override;
  void on_news() override { watch(); }

  bool is_consecutive(const Extent& extent) const;
  void read_consecutive(Access& access);
  void read_rows(Access& access);
  void catch_up(Time now);
  void take_packets(const Arrivals::Packets& packets);
  void serve_packet(Access& access, std::int64_t packet, Time tail);
  bool is_series(const Arrivals::Packets& packets) const;
  void serve_series(const Arrivals::Packets& packets);

  // Ahead of time, and in turn (hbm_turns.cpp).
  /// What was answered ahead: an access's bursts from byte `first` to byte `end`, which came `period` apart; or, of open
  /// accesses, those in `rest`.
  struct Answered {
    Access* access = nullptr;
    Extent extent;
    Stream stream;
    std::int64_t first = 0, end = 0;
    Time at, period;
    Time done_before;        // writes: what was known to be through before
    Time taken_by;           // when its last burst is taken
    bool delivered = false;  // writes: all bytes have come,
    Time done;               // and are through then
    std::vector<OpenBurst> rest;
    std::unique_ptr<models::PromptMemory> before;  // the memory, before it was asked
  };
  void come(Stream stream, Time at);
  Answered* note(Access& access, Stream stream, Time at, Time period = {});
  void noted(Answered* answered);
  Answered& write_down(Stream stream);
  void forget_oldest();

  void fall_back(Time at);
  void reopen(Answered& answered, Time at);
  OpenAccess& reopen_access(const Answered& answered, Time at);
  void try_again(const OpenBurst& burst, Time at);
  void answer_less(OpenAccess& open);
  OpenAccess& open(Access& access, Stream stream);
  OpenAccess& open_read(Access& access, const Extent& extent, Stream stream);
  OpenAccess* find_write(const Access& access);
  OpenAccess& open_write(Access& access, Stream stream, Time done);
  void close(OpenAccess& open);
  void list_bursts(OpenAccess& open, const Extent& extent, std::int64_t first, std::int64_t end, Time at,
                   Time period);
  void read_in_turn(Access& access, Stream stream);
  void write_in_turn(Access& access, Stream stream, std::int64_t end, Time at);
  void take_turns(Time until);
  void answer(OpenAccess& open);
  static Time written_by(const OpenAccess& write);
  void answer_the_rest();
  void watch();
  void wake();
  void choose();

  const std::unique_ptr<models::MemoryModel> model_;
  models::PromptMemory& dram_;
  const bool takes_turns_;
  // Of one stream, oldest first; without those all of whose bursts are taken.
  std::vector<std::unique_ptr<Answered>> answered_;
  std::vector<std::unique_ptr<Answered>> forgotten_;
  Time promised_by_ = Time::from_ps(-1);  // no burst that somebody was told of is taken later
  Turns turns_;
  std::vector<std::unique_ptr<OpenAccess>> opens_, closed_;
  std::vector<OpenBurst> listed_, taken_;
  std::vector<OpenBurst> rest_;  // what a rest was kept in, for the next one
  std::vector<char> stopped_;    // channels that take no more of what was answered ahead
  sim::MemberEvent<&HbmSlice::wake> wakes_;
  sim::MemberEvent<&HbmSlice::choose> all_have_come_;
};

}  // namespace kernbench::device
