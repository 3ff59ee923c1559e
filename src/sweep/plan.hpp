// What a sweep runs: a YAML file, read strictly, as a list of points.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernbench/bench.hpp"
#include "sweep/expression.hpp"
#include "sweep/machines.hpp"

namespace kernbench::sweep {

/// One run: what varies, in the order of the file, with the values it has here.
struct Point {
  std::vector<std::pair<std::string, std::string>> values;
};

/// A figure: a line of points (x, y) for each value of `lines`, or for each combination of several. Names are those of
/// what varies and of columns.
struct Plot {
  std::string name;   // of its files
  std::string title;  // empty: bench and machine
  std::string x, y;
  std::vector<std::string> lines;                         // may be empty
  std::vector<std::pair<std::string, std::string>> only;  // points with these values alone
  bool log_x = false, log_y = false;
};

struct Plan {
  std::string source;  // the file
  std::string bench;
  std::string machine = "default";
  std::string ccl;  // empty: that of the current folder, else the one that ships
  std::vector<std::pair<std::string, std::string>> fixed;  // `set`: the same for all points
  std::vector<std::string> names;                          // what varies, in order
  std::vector<Point> points;
  bool verify = false;
  std::vector<std::string> columns;  // paths in `run --json`
  std::vector<Plot> plots;
  std::string harness;  // what else is made of the points: `gemm`, `allreduce`; empty: nothing
  std::shared_ptr<Machines> machines;
};

/// InputError (`sweep.…`, or what a bench or machine says to a value) with file:line:column.
Plan read_plan(const std::string& text, const std::string& file, const Registry& registry);

/// What a name reaches: `M` an option of the bench, `cube.hbm.access_ns` the machine, `ccl.defaults.n_slots` ccl.yaml.
enum class Reach { option, machine, ccl };
Reach reach_of(const std::string& name);
/// The values of a point, fixed ones first, that reach there: `name=value`.
std::vector<std::string> words_of(const Plan& plan, const Point& point, Reach reach);
/// The machine of a point.
Machines::Pointer machine_of(const Plan& plan, const Point& point);

}  // namespace kernbench::sweep
