// Adds up what the engines of a run did, record by record.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "device/op_record.hpp"
#include "kernbench/error.hpp"
#include "kernbench/trace.hpp"
#include "trace/interval_union.hpp"

namespace kernbench::trace {

/// The engines whose work is summed up: first those that compute, then those that only move.
enum class SummedEngine : std::uint8_t { gemm, math, dma_read, dma_write, ipcq_send, ipcq_recv };
inline constexpr std::size_t kSummedEngines = 6;

/// Which engine did it; none for programs and requests of the host, which are nobody's.
std::optional<SummedEngine> engine_of(device::OpKind kind);

class Summarizer {
 public:
  /// Where a record comes from.
  struct From {
    PeCoord pe;  // cube −1: the host
    std::uint32_t launch = 0;
    bool has_commands = false;
  };

  Summarizer() = default;
  Summarizer(const Summarizer&) = delete;  // it keeps pointers into itself
  Summarizer& operator=(const Summarizer&) = delete;

  /// A PE that ran, even if no record says so.
  void expect(const From& from);
  /// Records may come in any order, except across `settle`. `from()` says where the record comes from. It
  /// must always say the same for one origin, and is seldom called.
  template <class FromOf>
  void add(const device::OpRecord& record, FromOf from) {
    const std::optional<SummedEngine> engine = engine_of(record.kind);
    if (!engine) return add_other(record, from());
    Recent& recent = recent_[record.origin % recent_.size()];
    if (recent.origin != record.origin) recent = {record.origin, find(from())};
    if (recent.pe != nullptr) add_work(*recent.pe, *engine, record);
  }
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

  struct Recent {
    std::uint32_t origin = UINT32_MAX;
    PeWork* pe = nullptr;
  };

  PeWork& work_of(PeCoord pe);
  /// Null for the host.
  PeWork* find(const From& from) { return from.pe.cube < 0 ? nullptr : &work_of(from.pe); }
  static void add_work(PeWork& pe, SummedEngine engine, const device::OpRecord& record);
  void add_other(const device::OpRecord& record, const From& from);
  PeSummary summary_of(PeCoord at, PeWork& pe);

  std::map<PeCoord, PeWork> pes_;
  std::vector<std::vector<std::vector<PeWork*>>>
      by_place_;                    // of pes_, as far as they were asked for: by SIP, cube and PE
  std::array<Recent, 256> recent_;  // a cache by origin: records in a row come from few origins
  std::map<LaunchKey, Window> windows_;
};

inline std::optional<SummedEngine> engine_of(device::OpKind kind) {
  using device::OpKind;
  switch (kind) {
    case OpKind::gemm:
    case OpKind::tile_gemm:
      return SummedEngine::gemm;
    case OpKind::math:
    case OpKind::tile_math:
      return SummedEngine::math;
    case OpKind::dma_read:
    case OpKind::load_scalar:
    case OpKind::tile_dma_in:
      return SummedEngine::dma_read;
    case OpKind::dma_write:
    case OpKind::tile_dma_out:
      return SummedEngine::dma_write;
    case OpKind::ipcq_send:
      return SummedEngine::ipcq_send;
    case OpKind::ipcq_recv:
      return SummedEngine::ipcq_recv;
    case OpKind::program:
    case OpKind::host_write:
    case OpKind::host_read:
    case OpKind::host_map:
    case OpKind::host_launch:
      return std::nullopt;
  }
  KB_ASSERT(false, "a record of unknown kind {}", static_cast<int>(kind));
  return std::nullopt;
}

inline Summarizer::From from(const device::Origin& origin) {
  return {origin.pe, origin.launch, origin.has_commands};
}

}  // namespace kernbench::trace
