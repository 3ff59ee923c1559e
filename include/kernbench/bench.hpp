// Benches: named host programs with typed options, run by `kernbench run --bench NAME option=value …`.
//
//   void run_scale(Torch& torch, const Options& options, BenchReport& report) {
//     const auto n = options.integer("n");
//     …                                                  // make tensors, launch kernels: see torch.hpp
//     report.line(fmt::format("scale: {} elements", n));
//   }
//
//   int main(int argc, char** argv) {                      // cli_main is in cli.hpp
//     return kernbench::cli_main(argc, argv, [](kernbench::Registry& registry) {
//       registry.benches.add({"scale", "multiplies a vector", {Param::integer("n", 1024, {1, 1e6}, "elements")}, run_scale});
//     });
//   }
//
// A bench is checked with `--verify-data`: it then compares what the machine computed with a reference of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernbench/ccl.hpp"
#include "kernbench/ndarray.hpp"
#include "kernbench/param.hpp"
#include "kernbench/registry.hpp"
#include "kernbench/torch.hpp"

namespace kernbench::bench {

/// The values of a bench's options: `options.integer("M")`, `options.text("variant")`, `options.dtype("dtype")`.
class Options : public ParamSet {
 public:
  using ParamSet::ParamSet;
  DType dtype(std::string_view name) const { return parse_dtype(text(name)); }
  /// False for an option that does not apply to the values of the others: see `Applies`.
  bool applies(std::string_view name) const { return idle_.find(name) == idle_.end(); }

 private:
  friend struct Bench;
  std::set<std::string, std::less<>> idle_;
};

/// Options that have an effect only while another one has one of these values: `hidden` of llama, with `model=custom`. Given
/// otherwise, they are refused; and they are not listed among the options of a run.
struct Applies {
  std::vector<std::string> options;
  std::string by;
  std::vector<std::string> values;
};

/// How far a number may be from its reference: |got − expected| ≤ absolute + relative · |expected|.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

/// What a launch asked of the machine and what it did: for benches that report their launches one by one.
struct LaunchFigures {
  Time lower_bound;                       // no simulation can be faster
  std::string bound_by;                   // the resource that sets it
  Time matrix, vector, hbm;               // work ÷ rate of the unit and slice that have most of it
  std::map<std::string, Time> vector_by;  // the work of that vector unit, by operation
  std::optional<trace::Summary> summary;  // of this launch alone; not given: there is no log
  trace::Utilization engines;             // 0 … 1
  double hbm_use = 0, link_use = 0;       // of the slices it used, of the busiest link
};

/// What a bench has to say. Filled in by the bench, printed by whoever runs it.
class BenchReport {
 public:
  explicit BenchReport(bool verify = false, int threads = 0) : verify_(verify), threads_(threads) {}

  /// Whether the bench shall compare its results with a reference (`--verify-data`).
  bool verify() const { return verify_; }
  /// How many threads a reference may take (`--threads`); 0: one per core.
  int threads() const { return threads_; }
  /// The outcome of a comparison. Several are all to be right; a bench that was asked to verify must say.
  void verified(bool right, std::string complaint = {});
  /// Compares element by element, NaN equal to NaN, and notes the outcome; a complaint names `what`, how many differ
  /// and the first of them. Shapes must be alike. Returns whether all are near enough.
  bool compare(std::string_view what, const NdArray& got, const NdArray& expected, Tolerance tolerance = {});

  /// A figure of this bench, in order, for `results` of the JSON.
  void result(std::string name, ParamValue value);
  /// The one line that says what came out.
  void line(std::string text) { line_ = std::move(text); }
  /// `OK`, `FAIL` or `not checked`: the outcome, to end the line with.
  std::string_view verdict() const { return !outcome_ ? "not checked" : *outcome_ ? "OK" : "FAIL"; }

  /// The figures of a launch that is done; empty ones where the bench is not run by `run`.
  LaunchFigures figures(const runtime::Handle& launch) const {
    return figures_of_ ? figures_of_(launch) : LaunchFigures();
  }
  using FiguresOf = std::function<LaunchFigures(const runtime::Handle&)>;
  void figures_from(FiguresOf source) { figures_of_ = std::move(source); }  // for those who run benches

  /// Not given: not asked, or nothing was compared.
  std::optional<bool> outcome() const { return outcome_; }
  const std::vector<std::string>& complaints() const { return complaints_; }
  const std::vector<std::pair<std::string, ParamValue>>& results() const { return results_; }
  const std::string& text() const { return line_; }

 private:
  bool verify_;
  int threads_;
  std::optional<bool> outcome_;
  std::vector<std::string> complaints_;
  std::vector<std::pair<std::string, ParamValue>> results_;
  std::string line_;
  FiguresOf figures_of_;
};

using HostFunction = std::function<void(Torch&, const Options&, BenchReport&)>;

struct Bench {
  std::string name;            // `matmul-composite`; `-` and `_` are alike
  std::string doc;             // one sentence
  std::vector<Param> options;  // each with its default
  HostFunction run;
  std::vector<Applies> applies = {};  // of options that do not always apply
  std::vector<std::string> results =
      {};  // names that it reports, `*` for any text; empty: not known before it runs

  /// The condition on which an option applies; null: it always does.
  const Applies* condition_of(std::string_view option) const;
  /// The options as `option=value` words give them, the last of equal ones; the rest at their defaults. InputError with
  /// the nearest names (`bench.unknown-option`), what is expected (`param.…`), or the condition of an option that does not
  /// apply (`bench.option`).
  Options read_options(std::span<const std::string> words) const;
  /// One `option=value` by itself, whatever the others are.
  void check_option(const std::string& word) const;
};

class Benches {
 public:
  /// InputError (`bench.…`) if there is one of that name, or it is incomplete.
  void add(Bench bench);
  /// Nothing happens if there is none of that name.
  void remove(std::string_view name);
  const Bench* find(std::string_view name) const;
  /// InputError (`bench.unknown`) with the nearest names.
  const Bench& at(std::string_view name) const;
  const std::vector<Bench>& all() const { return benches_; }
  std::vector<std::string> names() const;

 private:
  std::vector<Bench> benches_;
};

}  // namespace kernbench::bench

namespace kernbench {

using bench::Bench;
using bench::BenchReport;
using bench::LaunchFigures;
using bench::Options;
using bench::Tolerance;

/// Everything a program can extend: kinds and impls of components, benches, collectives.
struct Registry {
  topology::Registry components;
  bench::Benches benches;
  ccl::Registry collectives;
};

/// Everything that ships.
Registry builtin_registry();

}  // namespace kernbench
