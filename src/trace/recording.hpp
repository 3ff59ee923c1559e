// A finished run: its records and what they refer to. The thing behind a RunLog.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "trace/hash.hpp"
#include "trace/records.hpp"
#include "trace/run_info.hpp"

namespace kernbench::trace {

/// From (partition, serial) to the record. Serials are dense, so it is an array per partition.
class CauseTable {
 public:
  CauseTable() = default;
  CauseTable(const Records& records, const RunInfo& info);

  /// Nothing if the operation never completed.
  std::optional<OpId> find(device::OpRef ref) const {
    if (ref.partition >= entries_.size() || ref.serial >= entries_[ref.partition].size()) return {};
    const std::uint32_t entry = entries_[ref.partition][ref.serial];
    if (entry == kNone) return {};
    if ((entry & kElsewhere) != 0) return elsewhere_[entry & ~kElsewhere];
    return OpId{ref.partition, entry};
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::uint32_t kElsewhere = 1u << 31;  // written by another partition: look in elsewhere_

  std::vector<std::vector<std::uint32_t>> entries_;
  std::vector<OpId> elsewhere_;
};

struct Recording {
  Recording(Records records_, RunInfo info_) : records(std::move(records_)), info(std::move(info_)) {}

  const Records records;
  const RunInfo info;

  const OriginInfo& origin(const OpRecord& r) const { return info.origins[r.origin]; }
  /// Made when first asked for.
  const CauseTable& causes() const;

 private:
  mutable std::once_flag causes_made_;
  mutable CauseTable causes_;
};

/// The partition that counted a record's serial, if `writer` wrote it.
std::uint16_t home_of(const OpRecord& record, std::size_t writer, const RunInfo& info);

/// What contradicts the promises of op_record.hpp, if anything: a sentence that names the record.
std::optional<std::string> find_fault(const Records& records, const RunInfo& info);

/// The phases of a record: how many, and their lengths, which add up to end − start.
struct Phases {
  std::array<device::Resource, 4> resource;
  std::array<Time, 4> length;
  int count = 0;
};
Phases phases_of(const OpRecord& record);
/// Those that every record of its kind has: without the wait for a window.
Phases phases_of_kind(const OpRecord& record);

Op decode(const Recording& run, OpId id);

Summary summarize(const Recording& run);
CriticalPath find_critical_path(const Recording& run);
CriticalPath find_critical_path(const Recording& run, std::uint32_t request, Time begin);
/// Covers what records refer to, and each partition's records in their order. Which of two partitions' came first
/// their times say, so that each can be hashed as it comes.
std::uint64_t hash_of(const RunInfo& info, std::span<const RecordHash> partitions);
std::uint64_t hash_of(const Recording& run);

}  // namespace kernbench::trace
