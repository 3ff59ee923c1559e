// What is known of the bytes of writes that are on their way to a memory, in the order in which they come. A memory sees packets and
// times; how the fabric moves them, one by one or many at once, stays behind this.
#pragma once

#include <cstdint>
#include <vector>

#include "device/message.hpp"

namespace kernbench::device {

class Access;

class Arrivals {
 public:
  /// Packets first … end − 1 of a write: the last byte of the first is here at `at`, those of the others follow `period` apart.
  struct Packets {
    Access* access = nullptr;
    std::int64_t first = 0, end = 0;
    Time at, period;
  };

  /// The next ones whose last byte is here by `until`. A null access: there are none.
  Packets next(Time until);
  /// When the next one is here; `never` if none is known of.
  Time next_time() const;
  /// When the next one of somebody but this issuer is here.
  Time next_time_but(std::uint32_t issuer) const;

  // For the fabric: see Message.
  void packet(Access& access, std::int64_t packet, Time tail);
  void run(Access& access, const Run& run) { runs_.push_back({&access, run}); }
  void cut(const Access& access, std::int64_t from, std::int64_t end);

 private:
  struct Lone {
    Access* access;
    std::int64_t packet;
    Time tail;
  };
  struct Coming {
    Access* access;
    Run run;  // without those that were given out
    Time next_tail() const;
  };
  Packets next_of_runs(Time until);
  static Packets take(Coming& coming, Time until);
  Packets take_lone();

  std::vector<Lone> lone_;  // in order of arrival
  std::size_t next_lone_ = 0;
  std::vector<Coming> runs_;  // not empty ones
};

}  // namespace kernbench::device
