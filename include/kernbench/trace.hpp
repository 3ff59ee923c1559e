// What a run did and where its time went: the records of all operations, their summary, the critical path, a
// hash over the whole run, and the comparison of two runs.
//
//   const trace::RunLog run = torch.log();             // or SavedRun::open("run.db").log(), see saved_run.hpp
//   std::cout << to_text(run.critical_path());        // where the time went
//   std::cout << to_json(run.summary());              // counts, bytes, busy times
//   for (const auto& op : run.ops()) …                // every record, in order of (end, partition, id)
//
// Times are simulated time in whole picoseconds. A RunLog is a cheap handle to something that does not
// change; copies share it, and threads may read it at once. Texts in records (`std::string_view`) belong to
// it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernbench/coords.hpp"
#include "kernbench/units.hpp"

namespace kernbench::trace {

/// A record by its place: the partition that wrote it (0: host and switch, s + 1: SIP s) and its number
/// there.
struct OpId {
  std::uint16_t partition = 0;
  std::uint32_t id = 0;
  friend auto operator<=>(OpId, OpId) = default;
};

struct Phase {
  std::string_view
      resource;  // fabric, memory, tcm_read, gemm, math, tcm_write, cpu, queue, control, host_link
  Time length;
};

/// One operation, as people read it.
struct Op {
  static constexpr std::uint32_t kNoCommand = UINT32_MAX;

  OpId id;
  std::string_view kind;               // dma_read, gemm, ipcq_send, tile_gemm, program, host_launch, …
  PeCoord pe;                          // whose it is; cube and pe are −1 for requests of the host
  std::uint32_t launch = 0;            // which request of the run it belongs to
  std::string_view name;               // of the kernel, or of the host's request
  Time start, end;                     // its engine takes it with operands ready; it retires
  std::uint64_t amount = 0;            // bytes moved; multiply-adds of a gemm; elements of math
  std::uint32_t command = kNoCommand;  // of the kernel's program
  std::string_view file;               // of the kernel's source, without folders; empty if it has none
  std::uint32_t line = 0;
  std::optional<OpId> cause;  // what it waited for last
  Time cause_instant;         // until when
  std::string_view reason;    // operand, engine, queue, credit, scratch, issue; start: for nothing
  std::array<Phase, 4> phases;
  int phase_count = 0;  // their lengths add up to end − start
};

/// The work of one kind of engine. `busy` is the union of its busy intervals: of gemm and math while they
/// compute, of the others from start to end.
struct EngineUse {
  std::uint64_t count = 0;
  std::uint64_t amount = 0;  // bytes; multiply-adds of gemm; elements of math
  Time busy;
};

/// Tile steps of composite commands count like the command of their kind; scalar loads are DMA reads.
struct EngineUses {
  EngineUse gemm, math, dma_read, dma_write, ipcq_send, ipcq_recv;
};

struct PeSummary {
  PeCoord pe;
  EngineUses engines;
  Time exec;  // over its completed launches with commands: first PE's start to last PE's end
};

struct Summary {
  std::uint64_t records = 0;
  EngineUses total;
  std::vector<PeSummary> pes;  // those that ran, in order
  Time exec;                   // summed over them
};

/// Busy ÷ exec, 0 … 1; of nothing: 0.
struct Utilization {
  double gemm = 0, math = 0, dma_read = 0, dma_write = 0;
};
Utilization utilization(const Summary& summary);
Utilization utilization(const PeSummary& pe);

/// A stretch of the critical path: work of a record on a resource, or the gap before its start
/// (`wait_operand`, `wait_engine` …; `wait_start` before a request nothing held up; `unfinished` where the
/// cause never completed).
struct Piece {
  Time begin, end;
  std::string_view what;    // the resource, or the gap's name
  std::string_view reason;  // what held up the record's start
  OpId op;
};

struct Share {
  std::string name;
  Time time;
  double fraction = 0;  // of the run
};

/// From the first submit to the last completion, without holes and overlaps: the pieces, and each list of
/// shares (largest first), add up to `length()` exactly.
struct CriticalPath {
  Time begin, end;
  std::vector<Piece> pieces;       // in order of time
  std::vector<Share> by_resource;  // resources, and gaps by name
  std::vector<Share> by_reason;    // the time of each record with its gap, by what held it
  std::vector<Share> by_line;      // `file.cpp:12`; what has no line under the name of kernel or request
  Time length() const { return end - begin; }
};

/// An operation of two runs, whose times differ.
struct Moved {
  OpId before, after;
  Time start_by, end_by;      // after − before
  std::string_view resource;  // whose time within the operation changed most; empty: it moved as a whole
  Time resource_by;
};

struct Change {
  std::string name;
  Time by;
};

/// Operations are matched by launch, PE, command and, within a composite command, kind and order of its
/// steps.
struct Comparison {
  std::uint64_t matched = 0, moved = 0;
  std::uint64_t only_before = 0, only_after = 0;
  Time length_by;                     // of the run
  std::vector<Moved> largest;         // by change of their end, at most `limit`
  std::vector<Change> by_resource;    // time within matched operations, summed; largest change first
  std::vector<Change> critical_path;  // by resource or gap; adds up to `length_by`
};

struct Recording;

/// The log of a finished run.
class RunLog {
 public:
  explicit RunLog(std::shared_ptr<const Recording> recording);

  std::uint64_t size() const;
  /// All records in order of (end, partition, id).
  void for_each(const std::function<void(const Op&)>& fn) const;
  std::vector<Op> ops() const;
  Op op(OpId id) const;

  Summary summary() const;
  CriticalPath critical_path() const;
  /// The part of one request (`Op::launch`), from an instant, at which it left the host, to its completion there.
  CriticalPath critical_path(std::uint32_t request, Time begin) const;
  /// Over the machine's description, the programs and all records: times, places, sizes, causes; source files
  /// by name, not by folder. Equal hashes mean equal runs, on any machine and with any number of threads.
  std::uint64_t hash() const;

  const Recording& recording() const { return *recording_; }

 private:
  std::shared_ptr<const Recording> recording_;
};

Comparison compare(const RunLog& before, const RunLog& after, std::size_t limit = 20);

/// `sip0.cube1.pe2 gemm attention #4 attention.cpp:31`: place, kind, kernel or request, command and its line.
std::string to_string(const Op& op);

// JSON objects, with the keys of `kernbench run --json`.
std::string to_json(const Summary& summary);
std::string to_json(const Utilization& utilization);
std::string to_json(const CriticalPath& path);
std::string to_json(const Comparison& comparison, const RunLog& after);

// Tables for a terminal.
std::string to_text(const Summary& summary);
std::string to_text(const CriticalPath& path);
std::string to_text(const Comparison& comparison, const RunLog& after);

}  // namespace kernbench::trace
