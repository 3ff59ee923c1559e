// Who chooses when, at one instant.
//
// Whoever chooses among those who come at one instant asks for it by `Partition::choose` (ADR 31), and is asked when all have come:
// components of a smaller class first, of one class by number. What they choose, and by which rule, is their own business.
#pragma once

#include <cstdint>

#include "kernbench/units.hpp"

namespace kernbench::device {

/// From an instant to the next one there is.
constexpr Time kTick = Time::from_ps(1);

/// A key larger than that of any message: a packet that starts at a link goes behind all packets whose heads
/// come to it at that instant.
constexpr std::uint64_t kLastOfInstant = ~std::uint64_t{0};

enum class Chooser : std::uint8_t {
  memory,  // which requests it serves first; by node
  turns,   // which bursts its pseudo-channels take; by node
  sends,   // which sends a DMA engine takes first; by node
  cpu,     // whether it goes on, or a send has begun to poll; by node
  stream,  // what a composite takes before the PE's other commands; by node
  port,    // which uses of a port go first; by link
  source,  // which message's packet starts, or which use of the link; by link
  link,    // which packet a link with a model takes; by link
};

constexpr std::uint64_t choice_rank(Chooser chooser, std::uint32_t number) {
  return std::uint64_t{static_cast<std::uint8_t>(chooser)} << 32 | number;
}

}  // namespace kernbench::device
