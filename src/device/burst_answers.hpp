// What a slice has answered of a read, burst by burst.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernbench/units.hpp"

namespace kernbench::device {

class Access;
class Fabric;

struct BurstAnswers {
  Access* access = nullptr;
  std::vector<Time> through;       // of each burst; `never`: not answered
  std::vector<std::int64_t> ends;  // bytes of the transfer up to and with each
  std::size_t answered = 0;        // all before this one are
  Time latest;                     // of the answers that count so far

  /// A packet may leave when the last burst it needs, and all before it, are through.
  void let_packets_go(Fabric& fabric);
};

}  // namespace kernbench::device
