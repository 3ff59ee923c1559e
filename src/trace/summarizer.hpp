// Adds up what the engines of a run did, record by record.
#pragma once

#include <array>
#include <map>
#include <vector>

#include "device/op_record.hpp"
#include "kernbench/trace.hpp"
#include "trace/interval_union.hpp"

namespace kernbench::trace {

inline constexpr std::size_t kSummedEngines = 6;

class Summarizer {
 public:
  /// Where a record comes from.
  struct From {
    PeCoord pe;  // cube −1: the host
    std::uint32_t launch = 0;
    bool has_commands = false;
  };

  /// A PE that ran, even if no record says so.
  void expect(const From& from);
  /// In any order, but for what is settled.
  void add(const device::OpRecord& record, const From& from);
  void add(const Summarizer& other);
  /// The PE begins a program: all it did before has ended and been added, and only its length matters from here on.
  void settle(PeCoord pe);
  /// Sums up all that was added. `records` is what its count says.
  Summary finish(std::uint64_t records);

 private:
  using LaunchKey = std::pair<std::uint32_t, int>;  // number and SIP
  struct PeWork {
    EngineUses uses;
    std::array<IntervalUnion, kSummedEngines> busy;
    std::vector<LaunchKey> launches;  // with commands
  };
  /// From the first PE's start to the last one's end.
  struct Window {
    Time first_start = Time::never(), last_end;
  };

  PeWork& work_of(PeCoord pe);
  void add_launch(PeWork& pe, const device::OpRecord& record, const From& from);
  PeSummary summary_of(PeCoord at, PeWork& pe);

  std::map<PeCoord, PeWork> pes_;
  std::vector<std::vector<std::vector<PeWork*>>>
      by_place_;  // of pes_, as far as they were asked for: by SIP, cube and PE
  std::map<LaunchKey, Window> windows_;
};

inline Summarizer::From from(const device::Origin& origin) {
  return {origin.pe, origin.launch, origin.has_commands};
}

}  // namespace kernbench::trace
