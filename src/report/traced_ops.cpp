#include "report/traced_ops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <set>
#include <stdexcept>
#include <tuple>

namespace kernbench::report {
namespace {

/// A name that stays, for one that is in a row.
std::string_view lasting(std::string_view name) {
  static constexpr std::array<std::string_view, 24> kNames = {
      "dma_read",   "dma_write",   "load_scalar", "gemm",        "math",         "ipcq_send",
      "ipcq_recv",  "tile_dma_in", "tile_gemm",   "tile_math",   "tile_dma_out", "program",
      "host_write", "host_read",   "host_map",    "host_launch", "operand",      "engine",
      "queue",      "credit",      "scratch",     "issue",       "start",        ""};
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end())
    throw std::out_of_range(fmt::format("'{}' is neither a kind nor a reason", name));
  return *found;
}

/// The track within a PE: DMA reads and writes are channels of their own.
std::string_view engine_of(std::string_view kind) {
  if (kind == "dma_read" || kind == "load_scalar" || kind == "tile_dma_in") return "dma read";
  if (kind == "dma_write" || kind == "tile_dma_out") return "dma write";
  if (kind == "gemm" || kind == "tile_gemm") return "gemm";
  if (kind == "math" || kind == "tile_math") return "math";
  if (kind == "ipcq_send") return "send";
  if (kind == "ipcq_recv") return "receive";
  if (kind == "program") return "start";
  return "requests";
}

/// How near an operation is to the critical path: on it, on one of its PEs, in one of its cubes, elsewhere.
class Nearness {
 public:
  Nearness(const SavedRun& run, const SavedPath& path) {
    const std::vector<SavedProgram> programs = run.programs();
    for (const SavedPiece& piece : path.pieces) {
      on_path_.insert(piece.op);
      const PeCoord pe = programs.at(static_cast<std::size_t>(piece.program)).pe;
      pes_.insert(pe), cubes_.insert({pe.sip, pe.cube});
    }
  }
  static constexpr int kFarthest = 3;
  int of(const SavedOp& op) const {
    if (on_path_.contains(op.id)) return 0;
    if (pes_.contains(op.pe)) return 1;
    return cubes_.contains({op.pe.sip, op.pe.cube}) ? 2 : kFarthest;
  }

 private:
  std::set<std::int64_t> on_path_;
  std::set<PeCoord> pes_;
  std::set<std::pair<int, int>> cubes_;
};

}  // namespace

TracedOps::TracedOps(const SavedRun& run, const SavedPath& path, std::uint64_t most) {
  if (static_cast<std::uint64_t>(std::strtoll(run.value("ops_kept").c_str(), nullptr, 10)) > most)
    choose(run, path, most);
  read(run);
  assign_lanes();
}

void TracedOps::choose(const SavedRun& run, const SavedPath& path, std::uint64_t most) {
  const Nearness nearness(run, path);
  std::vector<std::uint8_t> distance;  // of each operation, in the order in which the file has them
  std::array<std::uint64_t, Nearness::kFarthest + 1> counts{};
  run.for_each_op([&](const SavedOp& op) {
    const int at = nearness.of(op);
    distance.push_back(static_cast<std::uint8_t>(at));
    ++counts[static_cast<std::size_t>(at)];
  });
  std::array<std::uint64_t, Nearness::kFarthest + 1> room{};
  for (std::size_t i = 0; i < room.size(); ++i) most -= room[i] = std::min(counts[i], most);
  chosen_.resize(distance.size());
  for (std::size_t i = 0; i < distance.size(); ++i)
    if (room[distance[i]] > 0) --room[distance[i]], chosen_[i] = true;
}

void TracedOps::read(const SavedRun& run) {
  std::size_t next = 0;
  run.for_each_op([&](const SavedOp& op) {
    const std::size_t here = next++;
    if (!chosen_.empty() && !chosen_[here]) return;
    ops_.push_back({.id = op.id,
                    .launch = op.launch,
                    .program = op.program,
                    .track = track_of(op),
                    .kind = lasting(op.kind),
                    .reason = lasting(op.reason),
                    .start = op.start,
                    .end = op.end,
                    .amount = op.bytes + op.macs + op.elements,
                    .line = op.line.value_or(-1),
                    .command = op.command.value_or(-1),
                    .cause = op.cause.value_or(-1),
                    .queue = op.queue.value_or(-1),
                    .message = op.message.value_or(-1)});
  });
}

std::uint32_t TracedOps::track_of(const SavedOp& op) {
  const bool host = op.pe.cube < 0;
  const std::string_view engine = engine_of(op.kind);
  const std::string key = fmt::format("{}.{}.{}.{}", op.pe.sip, op.pe.cube, op.pe.pe, engine);
  const auto [found, is_new] = track_ids_.try_emplace(key, static_cast<std::uint32_t>(tracks_.size()));
  if (is_new) tracks_.push_back({host ? PeCoord{op.pe.sip, -1, -1} : op.pe, std::string(engine)});
  return found->second;
}

/// Each operation takes the first lane that is free when it starts.
void TracedOps::assign_lanes() {
  std::ranges::sort(ops_, [](const TracedOp& a, const TracedOp& b) {
    return std::tuple(a.track, a.start, b.end, a.id) < std::tuple(b.track, b.start, a.end, b.id);
  });
  lanes_.resize(tracks_.size());
  std::vector<Time> free_at;
  std::uint32_t track = UINT32_MAX;
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    TracedOp& op = ops_[i];
    if (op.track != track) track = op.track, free_at.clear();
    const auto lane = std::ranges::find_if(free_at, [&](Time free) { return free <= op.start; });
    op.lane = static_cast<int>(lane - free_at.begin());
    if (lane == free_at.end())
      free_at.push_back(op.end);
    else
      *lane = op.end;
    lanes_[track] = static_cast<int>(free_at.size());
    places_.emplace(op.id, i);
  }
}

const TracedOp* TracedOps::find(std::int64_t id) const {
  const auto found = places_.find(id);
  return found == places_.end() ? nullptr : &ops_[found->second];
}

}  // namespace kernbench::report
