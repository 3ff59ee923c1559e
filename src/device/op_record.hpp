// What the machine did, one record per operation: the currency between the models, the op log, the critical
// path and replay.
//
// A record is written when its operation completes, by the partition in which it completes, so that the
// position in a partition's log is its id and a producer's id is smaller. Which command it carried out, its
// operands and its source line are those of the recorded program, by reference.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "kernbench/coords.hpp"
#include "kernbench/units.hpp"

namespace kernbench::isa {
class Program;
}

namespace kernbench::device {

struct QueueUse;

enum class OpKind : std::uint8_t {
  // Commands of a program, one record each.
  dma_read,
  dma_write,
  load_scalar,
  gemm,
  math,
  ipcq_send,
  ipcq_recv,
  // Parts of a composite command: one record per tile step.
  tile_dma_in,
  tile_gemm,
  tile_math,
  tile_dma_out,
  // A launch on its way to a PE: from the host's submission to the start of the PE's program.
  program,
  // Requests of the host, from leaving it to their completion there; of a launch only the completion's way back, from
  // the last PE's end on. A host_map is a map, an unmap or an installation of queues.
  host_write,
  host_read,
  host_map,
  host_launch,
};
inline constexpr std::size_t kOpKinds = 16;
std::string_view to_string(OpKind kind);

/// What a span of time was spent on.
enum class Resource : std::uint8_t {
  none,
  fabric,
  memory,
  tcm_read,
  gemm,
  math,
  tcm_write,
  cpu,
  queue,
  control,
  host_link,
  window,  // a transfer's bytes held back: its DMA engine had enough in flight
};
inline constexpr std::size_t kResources = 12;
std::string_view to_string(Resource resource);

/// The constraint that was met last before an operation could start. Of several met at one instant, the first
/// of this list.
enum class Reason : std::uint8_t {
  operand,  // a tile it reads was not ready, or the bytes it touches were in use
  engine,   // its engine was at work on another one
  queue,    // the engine's queue was full
  credit,   // no free slot at the receiver, or no message from the sender
  scratch,  // no room for its result
  issue,    // the PE's CPU had not come to it, or was told to wait
  start,    // nothing but the request before it in its stream
};
inline constexpr std::size_t kReasons = 7;
std::string_view to_string(Reason reason);

/// A record before it is written is known by its serial number, counted from 1 by the partition that writes
/// it; 0 is none. A send, which ends where it arrives and is written there, has one of its sender's
/// partition.
struct OpRef {
  std::uint16_t partition = 0;
  std::uint32_t serial = 0;
  explicit operator bool() const { return serial != 0; }
  friend bool operator==(OpRef, OpRef) = default;
};

/// The length of a phase in 32 bits: picoseconds below 2³¹ (2.1 ms), else units of 1,024 ps (up to 2.2 s), rounded down: what is
/// missing counts for the last phase, so that the phases add up all the same.
constexpr std::uint32_t packed_phase(Time length) {
  constexpr std::int64_t kLong = std::int64_t{1} << 31;
  if (length.ps() < kLong) return static_cast<std::uint32_t>(length.ps());
  return static_cast<std::uint32_t>(kLong + std::min(length.ps() >> 10, kLong - 1));
}
constexpr Time phase_length(std::uint32_t packed) {
  const bool is_long = (packed >> 31) != 0;
  return Time::from_ps(is_long ? std::int64_t{packed & 0x7fff'ffffU} << 10 : std::int64_t{packed});
}

struct OpRecord {
  Time start;                // its engine takes it with operands ready
  Time end;                  // it retires
  Time cause_instant;        // when the last constraint was met; may lie inside the record that is the cause
  std::uint64_t amount = 0;  // bytes moved; multiply-adds of gemm; elements of math
  std::uint32_t serial = 0;  // its own
  std::uint32_t origin = 0;  // whose it is: index into the run's origins
  std::uint32_t command = UINT32_MAX;  // of that program; UINT32_MAX: none
  std::uint32_t cause_serial = 0;
  std::uint16_t cause_partition = 0;
  OpKind kind = OpKind::program;
  Reason reason = Reason::start;
  /// The record's length, cut in up to four phases; see `phases`. The last one's length is what is left. What
  /// phases leave free belongs to the message of a queue; see `message_of`.
  std::array<std::uint32_t, 3> phase{};  // packed

  OpRef cause() const { return {cause_partition, cause_serial}; }
  /// When it has retired at its own PE: at its end, a send when its last byte has left.
  Time retired() const { return kind == OpKind::ipcq_send ? start + phase_length(phase[0]) : end; }
};
static_assert(sizeof(OpRecord) == 64);

/// The phases a kind's records have, in order; `none` after the last.
std::array<Resource, 4> phase_resources(OpKind kind);

/// Transfers of a DMA engine have three phases, of which the first may begin with a wait for the engine's window. Its length is
/// the word that they leave free.
inline constexpr std::size_t kHeldPhase = 2;
bool is_dma(OpKind kind);

/// A program at work, or a request of the host: where records come from.
struct Origin {
  const isa::Program* program = nullptr;  // none for requests of the host
  PeCoord pe;                             // pe and cube are −1 for requests of the host
  std::uint32_t launch = 0;               // which request of the run it belongs to
  const QueueUse* queues = nullptr;       // of a program that sends or receives
  bool has_commands = false;              // the program, which may be gone by then
  std::uint64_t fingerprint = 0;          // the same, if it was asked for when it came
};

/// A send of a reference has read its bytes, all of them by `at`. Its record comes later, when they have arrived; by then
/// others may rightly have overwritten them.
struct Departure {
  Time at;
  std::uint32_t origin = 0;
  std::uint32_t command = 0;
};

/// Where finished records go: the op log, or nowhere.
class OpSink {
 public:
  virtual ~OpSink() = default;
  // Called on the thread of the partition.
  virtual void append(int partition, const OpRecord& record) = 0;
  /// In the order of time.
  virtual void departed(int /*partition*/, const Departure& /*departure*/) {}
};

}  // namespace kernbench::device
