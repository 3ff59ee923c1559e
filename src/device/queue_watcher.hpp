// Sees every send and receive: for `KERNBENCH_CCL_TRACE` and studies.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernbench/coords.hpp"
#include "kernbench/units.hpp"

namespace kernbench::device {

struct QueueEvent {
  Time at;
  PeCoord pe;
  std::string_view direction;
  PeCoord peer;
  Bytes bytes;
  std::uint32_t ring = 0;
  std::uint32_t number = 0;  // of the message in its ring
};

/// Called on the thread of the PE's partition: with several threads, from several at once.
class QueueWatcher {
 public:
  virtual ~QueueWatcher() = default;
  /// A send has been taken: its tile is ready and it has a credit.
  virtual void on_send(const QueueEvent& event) = 0;
  /// A receive has retired.
  virtual void on_receive(const QueueEvent& event) = 0;
  /// The simulation pauses, on the host's thread: what comes later happens later than what has been seen.
  virtual void on_pause() {}
};

}  // namespace kernbench::device
