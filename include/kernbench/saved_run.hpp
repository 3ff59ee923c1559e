// Saved runs: everything a run did, in one SQLite file that can be looked at years later without simulating again.
//
//   save_run(torch, "run.db");                                   // what this context did so far
//
//   const auto run = SavedRun::open("run.db");
//   fmt::print("{} ns\n", run.total().ns());
//   std::cout << to_text(run.log().critical_path());             // the op log as it was, record by record
//   for (const auto& row : run.query("SELECT kind, count(*) FROM ops GROUP BY kind")) …
//
// docs/run-files.md explains the tables. Everything here comes from the file alone. A table that was damaged is refused
// when it is read (InputError, `run-file.damaged`).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kernbench/torch.hpp"
#include "kernbench/trace.hpp"

namespace kernbench::report {

struct SaveOptions {
  /// In a run with more operations only the first, the last and every k-th launch keep theirs; the file says so.
  std::uint64_t most_ops = UINT64_MAX;
  const std::atomic<bool>* interrupt = nullptr;  // set: no file, and Interrupted
};

/// Writes beside `path` and renames: whatever happens, there is a whole file or none. InputError (`file.unwritable`) if
/// that cannot be.
void save_run(Torch& torch, const std::string& path, const SaveOptions& options = {});

/// A request of the host. Kernels have the phase `launch`.
struct SavedLaunch {
  std::int64_t id = 0;  // ops refer to it
  std::string phase, name;
  int sip = 0;
  bool done = false;  // else what follows is 0
  Time submitted, queued, total, pe_exec, network;
  int late_starts = 0;
  Time lower_bound;                  // 0: none
  std::string bound_by;              // `sip0.cube0.hbm_ctrl.pe0`, `a → b`
  std::int64_t bytes = 0, macs = 0;  // that its operations moved and multiplied
  std::int64_t ops = 0, ops_kept = 0;
  Time left() const { return submitted + queued; }
  Time completed() const { return left() + total; }
};

/// Whose operations they are: a kernel's program on one PE, or a request of the host.
struct SavedProgram {
  std::int64_t id = 0, launch = 0;
  PeCoord pe;  // cube and pe are −1 for requests of the host
  std::string name;
  std::int64_t commands = 0;
};

struct SavedLine {
  std::string file;
  std::uint32_t line = 0;
  std::optional<std::string> text;  // none: the source was not there when the run was saved
  std::string place() const;        // `ring.cpp:12`
};

struct SavedCommand {
  std::int64_t program = 0, index = 0, line = 0;
  std::string text, operands, shapes;
};

/// One operation; texts live until the next one.
struct SavedOp {
  std::int64_t id = 0, launch = 0, program = 0;
  PeCoord pe;
  std::string_view component, kind, reason;
  Time start, end;
  std::int64_t bytes = 0, macs = 0, elements = 0;
  std::optional<std::int64_t> line, command, cause;
  Time cause_instant;
  std::array<Time, 4> phases;
  std::optional<std::int64_t> queue, message;  // of sends and receives: equal ones belong together
};

struct SavedLink {
  std::int64_t id = 0;
  std::string name, source, target;
  std::int64_t bytes = 0;
  Time busy, deepest_wait;
  double bandwidth_gbs = 0;
};

struct SavedMemory {
  std::string name, kind;  // hbm, sram, tcm
  std::int64_t read_bytes = 0, written_bytes = 0;
  Time busy;
  double bandwidth_gbs = 0;
};

struct SavedHazard {
  std::string kind, text;
  std::int64_t occurrences = 1;
};

/// A stretch of the critical path.
struct SavedPiece {
  Time begin, end;
  std::string what, reason;
  std::int64_t op = 0, program = 0;
  std::optional<std::int64_t> line;
};

struct SavedPath {
  std::vector<SavedPiece> pieces;
  std::vector<trace::Share> by_resource, by_reason, by_line;
  Time length() const { return pieces.empty() ? Time() : pieces.back().end - pieces.front().begin; }
};

/// How much of each bucket of time one link was busy, 0 … 1.
struct SavedLoad {
  std::int64_t link = 0;
  std::vector<double> utilization;
};

class SavedRun {
 public:
  /// InputError: `run-file.foreign`, `run-file.newer`, `run-file.truncated`, `run-file.damaged`.
  static SavedRun open(const std::string& path);

  const std::string& path() const;
  /// The document of `kernbench run --json`, and what else the `run` table holds.
  std::string json() const;
  /// One value of the `run` table as text; empty if there is none: `bench`, `hash`, `command`.
  std::string value(std::string_view key) const;
  std::string machine() const;  // its YAML
  std::uint64_t hash() const;
  Time total() const;
  std::uint64_t op_count() const;  // of the run
  bool complete() const;           // whether all of them are in the file

  std::vector<SavedLaunch> launches() const;
  std::vector<SavedProgram> programs() const;
  std::vector<SavedLine> lines() const;  // ops' and commands' `line` counts in them
  /// All commands, in order of program and index.
  void for_each_command(const std::function<void(const SavedCommand&)>& fn) const;
  /// All operations, in order of their ends.
  void for_each_op(const std::function<void(const SavedOp&)>& fn) const;
  std::vector<SavedLink> links() const;
  std::vector<SavedMemory> memories() const;
  std::vector<SavedHazard> hazards() const;
  SavedPath critical_path() const;
  Time bucket() const;  // how long a bucket of `loads` is; the first begins at 0
  std::vector<SavedLoad> loads() const;

  /// The op log as the run had it: equal records, equal hash. Of a file without all operations, of those it has.
  trace::RunLog log() const;

  /// Rows of a query of one's own. InputError (`run-file.query`) with SQLite's complaint.
  using Value = std::variant<std::monostate, std::int64_t, double, std::string>;
  std::vector<std::vector<Value>> query(std::string_view sql) const;

 private:
  class Content;
  explicit SavedRun(std::shared_ptr<Content> content) : content_(std::move(content)) {}
  std::shared_ptr<Content> content_;
};

}  // namespace kernbench::report

namespace kernbench {
using report::save_run;
using report::SavedRun;
}  // namespace kernbench
