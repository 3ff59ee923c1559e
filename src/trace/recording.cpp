#include "trace/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernbench/error.hpp"
#include "trace/hash.hpp"

namespace kernbench::trace {
namespace {

/// Unfinished operations leave holes in the serials; more than these cannot be under way at once.
constexpr std::uint64_t kMostUnfinished = 1u << 24;

/// Checks records one by one.
class FaultFinder {
 public:
  FaultFinder(const Records& records, const RunInfo& info)
      : records_(records),
        info_(info),
        highest_serial_(count(records) + kMostUnfinished),
        seen_(records.size()) {}

  /// Whether the record is as it should be. `before`: the end of the one written before it.
  bool is_sound(std::uint16_t partition, const OpRecord& r, Time before) {
    return refers_to_what_exists(r) && has_times(r) && has_serial(home_of(r, partition, info_), r) &&
           (r.end >= before || fault("ends before the one written before it"));
  }
  /// What the last one had: a sentence without its subject.
  const std::string& fault() const { return fault_; }

 private:
  bool refers_to_what_exists(const OpRecord& r) {
    if (static_cast<std::size_t>(r.kind) >= device::kOpKinds) return fault("is of no known kind");
    if (static_cast<std::size_t>(r.reason) >= device::kReasons) return fault("has no known reason");
    if (r.origin >= info_.origins.size())
      return fault("comes from origin {}, which does not exist", r.origin);
    const std::size_t commands = info_.origins[r.origin].lines.size();
    if (r.command != UINT32_MAX && r.command >= commands)
      return fault("carries out command {} of {}", r.command, commands);
    if (r.cause() && r.cause_partition >= records_.size())
      return fault("has a cause in a partition that does not exist");
    return true;
  }

  bool has_times(const OpRecord& r) {
    if (r.start.ps() < 0 || r.start > r.end) return fault("ends before it starts, or starts before 0");
    if (r.cause() && (r.cause_instant.ps() < 0 || r.cause_instant > r.start))
      return fault("starts before its cause is met");
    std::int64_t early = 0;
    const auto resources = device::phase_resources(r.kind);
    for (std::size_t i = 0; i + 1 < 4 && resources[i + 1] != device::Resource::none; ++i)
      early += device::phase_length(r.phase[i]).ps();
    if (early > (r.end - r.start).ps()) return fault("has phases longer than itself");
    if (device::is_dma(r.kind) &&
        device::phase_length(r.phase[device::kHeldPhase]) > device::phase_length(r.phase[0]))
      return fault("waits for its window longer than until its request is at the memory");
    return true;
  }

  bool has_serial(std::uint16_t home, const OpRecord& r) {
    if (home >= seen_.size()) return fault("belongs to a partition that does not exist");
    if (r.serial == 0 || r.serial > highest_serial_) return fault("has the impossible serial {}", r.serial);
    auto& seen = seen_[home];
    if (r.serial >= seen.size()) seen.resize(std::max<std::size_t>(r.serial + 1, seen.size() * 2));
    if (seen[r.serial]) return fault("has a serial that another one has, {}", r.serial);
    seen[r.serial] = true;
    return true;
  }

  /// Says what is wrong, out of the way of the many records that are right. Always false.
  template <class... Args>
  [[gnu::cold, gnu::noinline]] bool fault(fmt::format_string<Args...> text, Args&&... args) {
    fault_ = fmt::format(text, std::forward<Args>(args)...);
    return false;
  }

  const Records& records_;
  const RunInfo& info_;
  const std::uint64_t highest_serial_;
  std::vector<std::vector<bool>> seen_;  // serials, per partition
  std::string fault_;
};

}  // namespace

std::uint16_t home_of(const OpRecord& record, std::size_t writer, const RunInfo& info) {
  const bool is_send = record.kind == device::OpKind::ipcq_send;
  return is_send ? info.origins[record.origin].partition() : static_cast<std::uint16_t>(writer);
}

std::optional<std::string> find_fault(const Records& records, const RunInfo& info) {
  FaultFinder finder(records, info);
  for (std::size_t p = 0; p < records.size(); ++p) {
    Time last;
    for (std::uint32_t id = 0; id < records[p].size(); ++id) {
      const auto& r = records[p][id];
      if (!finder.is_sound(static_cast<std::uint16_t>(p), r, last))
        return fmt::format("record {} of partition {} {}", id, p, finder.fault());
      last = r.end;
    }
  }
  return {};
}

CauseTable::CauseTable(const Records& records, const RunInfo& info) : entries_(records.size()) {
  for (std::size_t p = 0; p < records.size(); ++p) {
    entries_[p].reserve(records[p].size() + 1);
    for (std::uint32_t id = 0; id < records[p].size(); ++id) {
      const auto& r = records[p][id];
      const auto home = home_of(r, p, info);
      auto& entries = entries_[home];
      if (r.serial >= entries.size()) entries.resize(r.serial + 1, kNone);
      entries[r.serial] = home == p ? id : kElsewhere | static_cast<std::uint32_t>(elsewhere_.size());
      if (home != p) elsewhere_.push_back({static_cast<std::uint16_t>(p), id});
    }
  }
}

const CauseTable& Recording::causes() const {
  std::call_once(causes_made_, [this] { causes_ = CauseTable(records, info); });
  return causes_;
}

namespace {

/// The wait for the window is cut off the first phase.
Phases with_window(const Phases& all, Time held) {
  Phases out;
  out.count = all.count + 1;
  out.resource = {device::Resource::window, all.resource[0], all.resource[1], all.resource[2]};
  out.length = {held, all.length[0] - held, all.length[1], all.length[2]};
  return out;
}

}  // namespace

Phases phases_of(const OpRecord& record) {
  Phases out = phases_of_kind(record);
  if (!device::is_dma(record.kind) || record.phase[device::kHeldPhase] == 0) return out;
  return with_window(out, device::phase_length(record.phase[device::kHeldPhase]));
}

Phases phases_of_kind(const OpRecord& record) {
  Phases out;
  out.resource = device::phase_resources(record.kind);
  Time left = record.end - record.start;
  for (std::size_t i = 0; i < 4 && out.resource[i] != device::Resource::none; ++i) {
    const bool is_last = i == 3 || out.resource[i + 1] == device::Resource::none;
    out.length[i] = is_last ? left : device::phase_length(record.phase[i]);
    left -= out.length[i];
    ++out.count;
  }
  return out;
}

Op decode(const Recording& run, OpId id) {
  const auto& r = record(run.records, id);
  const auto& origin = run.origin(r);
  Op op;
  op.id = id;
  op.kind = to_string(r.kind), op.reason = to_string(r.reason);
  op.pe = origin.pe, op.launch = origin.launch, op.name = origin.name;
  op.start = r.start, op.end = r.end, op.amount = r.amount;
  if (op.command = r.command; r.command != Op::kNoCommand) {
    const auto& line = run.info.lines[origin.lines[r.command]];
    op.file = line.file, op.line = line.line;
  }
  if (r.cause()) op.cause = run.causes().find(r.cause());
  op.cause_instant = r.cause_instant;
  const auto phases = phases_of(r);
  op.phase_count = phases.count;
  for (std::size_t i = 0; i < 4; ++i) op.phases[i] = {to_string(phases.resource[i]), phases.length[i]};
  return op;
}

std::uint64_t hash_of(const RunInfo& info, std::span<const RecordHash> partitions) {
  Hash hash;
  hash.add(info.machine);
  hash.add(info.origins.size());
  for (const auto& o : info.origins) {
    for (const int at : {o.pe.sip, o.pe.cube, o.pe.pe}) hash.add(static_cast<std::uint64_t>(at));
    hash.add(o.launch), hash.add(o.name), hash.add(o.fingerprint);
  }
  for (const RecordHash& partition : partitions) hash.add(partition.value());
  return hash.value();
}

std::uint64_t hash_of(const Recording& run) {
  std::vector<RecordHash> partitions(run.records.size());
  for (std::size_t p = 0; p < run.records.size(); ++p)
    for (std::uint32_t id = 0; id < run.records[p].size(); ++id) partitions[p].add(run.records[p][id]);
  return hash_of(run.info, partitions);
}

}  // namespace kernbench::trace
