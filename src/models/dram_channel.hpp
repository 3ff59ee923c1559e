// A pseudo-channel of DRAM: which of the bursts in its queues goes next, and when. One decision a burst, made when the column
// command before it has gone; docs/model.md has the rules.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernbench/memory_model.hpp"
#include "kernbench/param.hpp"
#include "kernbench/units.hpp"

namespace kernbench::models {

/// What is between commands. Reads first, then writes.
struct DramTiming {
  Time command;                   // a burst's first command goes so much after it came
  Time bus;                       // a burst on the data bus: tCCD_S
  std::array<Time, 2> data;       // column command → first byte: tCL, tCWL
  std::array<Time, 2> activate;   // activate → column command: tRCD
  std::array<Time, 2> precharge;  // column command → precharge: tRTP, tWR
  std::array<Time, 2> turn;       // column command → one of the other direction: tRTW, tWTR
  Time row_precharge;             // tRP
  Time row_active;                // tRAS
  Time row_cycle;                 // tRC
  Time activates;                 // activate → activate of another bank: tRRD
  Time four_activates;            // tFAW
  Time same_group;                // column command → one of the same group: tCCD_L
  static DramTiming of(const ParamSet& hbm);
};

enum class Refresh : std::uint8_t { none, all_bank, per_bank };

struct DramSpec {
  DramTiming t;
  std::int64_t banks = 32;  // all of a channel; bank b is of group b mod groups, a power of two
  std::int64_t groups = 4;
  std::size_t queue = 16;          // bursts, of each direction
  std::size_t high = 13, low = 3;  // writes are drained from `high` to `low`
  std::uint16_t cap = 64;          // so many younger ones may pass one
  Refresh refresh = Refresh::none;
  Time refresh_time, refresh_interval;
  static DramSpec of(const ParamSet& hbm);
};

class DramChannel {
 public:
  struct Burst {
    std::uint64_t tag = 0;
    std::int64_t row = 0;
    Time came;
    std::uint32_t index = 0;  // of its request
    std::uint32_t bank = 0;
    std::uint32_t number =
        0;  // how many of its queue would go before it, since the start, if nobody passed anybody
    Direction direction = Direction::read;
  };
  struct Served {
    std::uint64_t tag = 0;
    std::uint32_t index = 0;
    Direction direction = Direction::read;
    Time through;  // its last byte is read, or written
  };

  explicit DramChannel(const DramSpec& spec);

  bool has_room(Direction direction) const { return queue(direction).size() < spec_.queue; }
  /// At `now`, with room: tag, index, bank and row are for the caller to fill in.
  Burst& enter(Direction direction, Time now);
  bool empty() const { return queues_[0].empty() && queues_[1].empty(); }
  /// When the next decision is made, if somebody waits: when the last column command has gone.
  Time decides_at() const { return last_column_; }
  /// Decides, at `now`. Not empty.
  Served serve(Time now);
  /// No burst is through earlier than this after the decision.
  Time least(Direction direction) const;
  const MemoryActivity& activity() const { return activity_; }

 private:
  struct Bank {
    Time activated;  // with the open row
    Time may_activate;
    Time may_precharge;  // long ago, if no row is open
    Time to_close;       // tRP, if one is
    Time may_reopen;     // the later of `may_activate` and closing the row as soon as possible
    Time refresh_due;
  };
  struct Choice {
    std::size_t at = 0;                 // in the queue
    Time activate = Time::from_ps(-1);  // −1: it hits the open row
    Time column = Time::never();
  };

  /// No command of the next burst goes before.
  struct Floors {
    Time activate, column;
    Time row;  // activate → column
  };

  using Queue = std::vector<Burst>;  // oldest first
  const Queue& queue(Direction direction) const { return queues_[static_cast<std::size_t>(direction)]; }
  bool hits(const Burst& burst) const { return rows_[burst.bank] == burst.row; }
  Direction choose_direction();
  void turn_to(Direction direction);
  Choice choose(const Queue& queue, std::size_t direction) const;
  Time activate_of(const Burst& burst, const Floors& floors) const;
  Time column_of(const Burst& burst, const Floors& floors) const;
  bool refresh_before(const Choice& choice, const Burst& burst);
  void skip_refreshes(Time now);
  void refresh_bank(Bank& bank, Time at);
  void issue(const Choice& choice, const Burst& burst, std::size_t direction);
  void count(const Choice& choice, const Burst& burst, Time could_go);

  const DramSpec spec_;
  std::array<Queue, 2> queues_;
  std::vector<Bank> banks_;
  std::vector<std::int64_t> rows_;  // open in each bank; −1: none
  const std::uint32_t group_mask_;
  std::vector<Time> group_free_;   // earliest next column command
  std::array<Time, 4> activates_;  // the last four, a ring
  std::size_t oldest_activate_ = 0;
  Time last_activate_;
  Time last_column_;
  Time turned_;  // no command of this direction goes before
  Direction direction_ = Direction::read;
  bool draining_ = false;
  Time refresh_due_;
  std::array<std::uint32_t, 2> served_{};  // bursts of each queue
  // Of the decision that is being made: what turning the bus takes, and until when there is a refresh.
  Time turning_, refreshed_;
  MemoryActivity activity_;
};

}  // namespace kernbench::models
