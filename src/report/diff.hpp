// What changed between two saved runs: the machine, the options, the programs, then the time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernbench/bench.hpp"
#include "kernbench/saved_run.hpp"

namespace kernbench::report {

/// A key whose value differs; no value: it is not there.
struct KeyChange {
  std::string key;
  std::optional<std::string> before, after;
};

/// The commands that a source line gives rise to, over all programs.
struct LineChange {
  std::string place;   // `ring.cpp:12`: in B, or in A if it is gone
  std::string source;  // its text, if known
  enum class Kind { only_before, only_after, other_commands } kind = Kind::other_commands;
  std::int64_t before = 0, after = 0;       // commands
  std::vector<std::string> removed, added;  // commands, each once: `add f16[32] = f16[32], f16[32] (× 8)`
};

struct TimeChange {
  std::string name;
  Time before, after;
  Time by() const { return after - before; }
};

/// A figure of the energy that changed: a part in pJ, the power in W.
struct FigureChange {
  std::string name, unit;
  double before = 0, after = 0;
};

struct Difference {
  bool same = false;  // equal hashes: nothing else is filled in
  Time before, after;
  std::vector<KeyChange> machine, options;
  std::vector<LineChange> lines;                  // those whose text changed first
  bool reordered = false;                         // the same commands in another order
  std::vector<TimeChange> launches;               // by position and name; largest change first
  std::vector<TimeChange> resources, path_lines;  // of the critical path
  std::vector<FigureChange> energy;               // if both machines have prices
  std::vector<std::string> moved;                 // operations that moved most
  std::string note;                               // what could not be compared
};

Difference find_difference(const SavedRun& before, const SavedRun& after, const Registry& registry);

std::string to_text(const Difference& difference);
std::string to_json(const Difference& difference);

}  // namespace kernbench::report
