// The records of a finished run: per partition in the order in which they were written, in chunks that are
// never moved, in memory or in mapped files.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "device/op_record.hpp"
#include "kernbench/trace.hpp"

namespace kernbench::trace {

using device::OpRecord;

inline constexpr unsigned kChunkBits = 14;
inline constexpr std::uint32_t kChunkRecords = 1u << kChunkBits;  // 1 MiB

class PartitionRecords {
 public:
  PartitionRecords() = default;
  /// All chunks but the last are full. `owner` keeps them alive.
  PartitionRecords(std::vector<const OpRecord*> chunks, std::uint32_t size, std::shared_ptr<const void> owner)
      : chunks_(std::move(chunks)), size_(size), owner_(std::move(owner)) {}
  /// Records that lie in one piece.
  static PartitionRecords contiguous(const OpRecord* first, std::uint32_t size,
                                     std::shared_ptr<const void> owner) {
    std::vector<const OpRecord*> chunks;
    for (std::uint64_t i = 0; i < size; i += kChunkRecords) chunks.push_back(first + i);
    return {std::move(chunks), size, std::move(owner)};
  }

  std::uint32_t size() const { return size_; }
  const OpRecord& operator[](std::uint32_t id) const {
    return chunks_[id >> kChunkBits][id & (kChunkRecords - 1)];
  }

 private:
  std::vector<const OpRecord*> chunks_;
  std::uint32_t size_ = 0;
  std::shared_ptr<const void> owner_;
};

/// Indexed by partition.
using Records = std::vector<PartitionRecords>;

inline const OpRecord& record(const Records& records, OpId id) { return records[id.partition][id.id]; }
inline std::uint64_t count(const Records& records) {
  std::uint64_t n = 0;
  for (const auto& p : records) n += p.size();
  return n;
}

/// The first record of a partition that is still to come.
struct RecordCursor {
  Time end;  // of that record
  OpId at;
  bool operator<(const RecordCursor& b) const {
    return end < b.end || (end == b.end && at.partition < b.at.partition);
  }
};

/// Restores a heap, earliest first, whose first element has come to a later record: it sinks to its place.
inline void sink_first(std::vector<RecordCursor>& heap) {
  if (heap.empty()) return;
  const RecordCursor sinking = heap.front();
  std::size_t hole = 0;
  for (std::size_t child = 1; child < heap.size(); child = 2 * hole + 1) {
    if (child + 1 < heap.size() && heap[child + 1] < heap[child]) ++child;
    if (!(heap[child] < sinking)) break;
    heap[hole] = heap[child];
    hole = child;
  }
  heap[hole] = sinking;
}

/// Calls `fn(OpId, const OpRecord&)` in order of (end, partition, id) for all records that end by `limit`, in each
/// partition from number `next` on, which moves on. Within a partition that is the order in which they stand, so this
/// merges the partitions.
template <class Fn>
void in_total_order(const Records& records, std::vector<std::uint32_t>& next, Time limit, Fn&& fn) {
  next.resize(records.size());
  std::vector<RecordCursor> heap;
  for (std::size_t p = 0; p < records.size(); ++p)
    if (next[p] < records[p].size() && records[p][next[p]].end <= limit)
      heap.push_back({records[p][next[p]].end, {static_cast<std::uint16_t>(p), next[p]}});
  std::sort(heap.begin(), heap.end());
  while (!heap.empty()) {
    RecordCursor& now = heap.front();
    const auto& partition = records[now.at.partition];
    fn(std::as_const(now.at), partition[now.at.id]);
    next[now.at.partition] = ++now.at.id;
    if (now.at.id < partition.size()) now.end = partition[now.at.id].end;
    if (now.at.id == partition.size() || now.end > limit) {
      now = heap.back();
      heap.pop_back();
    }
    sink_first(heap);
  }
}

/// The same for all records.
template <class Fn>
void in_total_order(const Records& records, Fn&& fn) {
  std::vector<std::uint32_t> from_the_first;
  in_total_order(records, from_the_first, Time::never(), fn);
}

}  // namespace kernbench::trace
