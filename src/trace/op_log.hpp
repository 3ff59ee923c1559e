// Collects the records of a run, partition by partition, in chunks that are never copied: appending costs a
// few nanoseconds and allocates once in 16,384 records.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/op_record.hpp"
#include "trace/hash.hpp"
#include "trace/records.hpp"
#include "trace/run_info.hpp"
#include "trace/summarizer.hpp"

namespace kernbench::trace {

/// Where records are kept.
enum class Storage {
  memory,  // 64 bytes each
  disk,  // in nameless files, so that nothing stays behind whatever happens; a chunk per partition in memory
  none,  // counted, hashed and summed up as they come: no path, hazards or replay
};

struct OpLogOptions {
  Storage storage = Storage::memory;
  std::string folder = ".";                  // of Storage::disk
  const device::Origins* origins = nullptr;  // of Storage::none: where records come from
};

class OpLog : public device::OpSink {
 public:
  /// InputError (`file.unwritable`) if nothing can be kept in the folder.
  explicit OpLog(int partitions, OpLogOptions options = {});
  ~OpLog() override;

  /// InputError (`file.unwritable`) if the disk is full.
  void append(int partition, const device::OpRecord& record) override;
  void departed(int partition, const device::Departure& departure) override;

  std::uint64_t size() const;
  std::uint64_t count(device::OpKind kind) const;
  Storage storage() const { return options_.storage; }

  /// The records so far; those to come do not change it. Not while a simulation appends.
  Records records() const;
  /// Departures of a partition so far, in the order of time; none with Storage::none.
  const std::vector<device::Departure>& departures(std::size_t partition) const {
    return parts_[partition].departures;
  }
  std::size_t partitions() const { return parts_.size(); }
  /// The log of what was recorded so far, likewise. InternalError if the records contradict each other.
  RunLog so_far(RunInfo info) const;
  /// The finished log; this one is empty then. Neither with Storage::none.
  RunLog finish(RunInfo info);

  // What the log would say, with Storage::none.
  Summary summary() const;
  std::uint64_t hash(const RunInfo& info) const;

 private:
  /// What one thread writes, on cache lines of its own.
  struct alignas(64) Part {
    OpRecord* next = nullptr;
    OpRecord* limit = nullptr;  // of the present chunk
    Time last_end;
    std::array<std::uint64_t, device::kOpKinds> counts{};
    std::vector<std::shared_ptr<std::byte[]>> chunks;
    std::vector<device::Departure> departures;
    int file = -1;  // of Storage::disk
    std::uint64_t written = 0;
    RecordHash hash;  // of Storage::none
    Summarizer sums;
  };

  void tell(Part& part, const OpRecord& record) const;
  void make_room(Part& part);
  void add_chunk(Part& part);
  void write_out(Part& part);
  PartitionRecords in_memory(const Part& part) const;
  PartitionRecords on_disk(const Part& part) const;

  const OpLogOptions options_;
  std::vector<Part> parts_;
};

}  // namespace kernbench::trace
