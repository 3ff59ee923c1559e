// Records as rows of the `ops` table, and back.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "report/schema.hpp"
#include "trace/recording.hpp"

namespace kernbench::report {

/// Columns of `ops`.
enum OpColumn : int {
  kId,
  kLaunch,
  kSip,
  kCube,
  kPe,
  kComponent,
  kKind,
  kStart,
  kEnd,
  kBytes,
  kMacs,
  kElements,
  kLine,
  kCommand,
  kCauseOp,
  kCausePs,
  kReason,
  kPhase1,
  kPhase2,
  kPhase3,
  kPhase4,
  kQueue,
  kMessage,
  kProgram,
  kWrittenBy,
  kSerial,
  kCauseUnfinished,
};

/// `pe_dma`, `pe_gemm`, …; `host`.
std::string_view component_of(device::OpKind kind);

/// Numbers records in their total order, from 1 on.
class OpNumbers {
 public:
  explicit OpNumbers(const trace::Records& records);
  std::int64_t of(trace::OpId id) const { return numbers_[id.partition][id.id]; }

 private:
  std::vector<std::vector<std::uint32_t>> numbers_;
};

class OpRowWriter {
 public:
  OpRowWriter(TableWriter& table, const trace::Recording& run, const OpNumbers& numbers)
      : table_(table), run_(run), numbers_(numbers) {}
  /// `queue`: the ring of a send.
  void write(trace::OpId id, const device::OpRecord& record, std::optional<std::int64_t> queue);

 private:
  TableWriter& table_;
  const trace::Recording& run_;
  const OpNumbers& numbers_;
};

/// Makes records of rows again.
class OpRowReader {
 public:
  OpRowReader(int partitions, std::int64_t ops) : parts_(static_cast<std::size_t>(partitions)), ids_(ops) {}
  /// Throws BadRow.
  void add(const TableReader& row);
  /// Fills in causes. Throws BadRow.
  trace::Records finish(const trace::RunInfo& info);

 private:
  struct Part {
    std::vector<device::OpRecord> records;
    std::vector<std::int64_t> causes;  // number of the op; 0: none that is here
  };
  struct Place {
    std::int64_t number;
    trace::OpId at;
  };
  trace::OpId place_of(std::int64_t number) const;

  std::vector<Part> parts_;
  std::int64_t ids_;           // how many ops the run had, of which the file may have kept few
  std::vector<Place> places_;  // of those that it has, by number
};

}  // namespace kernbench::report
