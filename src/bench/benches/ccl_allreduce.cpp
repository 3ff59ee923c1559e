// ccl-allreduce: the all-reduce of ccl.yaml, through process group and spawn, in the columns of nccl-tests.
//
// Every member contributes a small integer, so that all partial results are exact and the comparison is bit for bit
// whatever the order of additions. Members are the cubes of all SIPs; SIPs or PEs where the algorithm is for these; PEs
// where a rank is one.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "bench/shipped.hpp"
#include "ccl/bound.hpp"
#include "ccl/config.hpp"
#include "kernbench/distributed.hpp"
#include "kernbench/error.hpp"
#include "runtime/engine.hpp"
#include "runtime/numbers.hpp"

namespace kernbench::bench {
namespace {

using ccl::ReduceOp;

/// What is reduced: a row for each of `cubes` × `pes` in each of `ranks` ranks.
struct Problem {
  int ranks = 1;
  int cubes = 1, pes = 1;
  std::int64_t n_elem = 1;
  ReduceOp op = ReduceOp::SUM;
  bool over_rows = true;  // each row is a member; else each is reduced over the ranks alone

  std::int64_t rows() const { return std::int64_t{cubes} * pes; }
  std::int64_t members() const { return over_rows ? ranks * rows() : ranks; }
  /// What one member has.
  std::int64_t elements() const { return over_rows ? n_elem : n_elem * rows(); }
  static int value(int rank) { return rank % 8 + 1; }
  /// For PROD: 2 on the first three members, else 1.
  bool doubles(int rank, std::int64_t row) const { return (over_rows ? rank * rows() + row : rank) < 3; }

  std::int64_t sum() const {
    std::int64_t of_ranks = 0;
    for (int r = 0; r < ranks; ++r) of_ranks += value(r);
    return over_rows ? rows() * of_ranks : of_ranks;
  }
  double expected() const {
    switch (op) {
      case ReduceOp::SUM:
        return static_cast<double>(sum());
      case ReduceOp::AVG:
        return static_cast<double>(sum()) / static_cast<double>(members());
      case ReduceOp::MAX:
        return std::min(ranks, 8);
      case ReduceOp::MIN:
        return 1;
      case ReduceOp::PROD:
        return static_cast<double>(1 << std::min<std::int64_t>(members(), 3));
    }
    return 0;
  }
};

/// Integers up to this are exact.
double exact_up_to(DType dtype) {
  return dtype == DType::f16 ? 2048 : dtype == DType::bf16 ? 256 : dtype == DType::f32 ? 0x1p24 : 0x1p31;
}

/// f16 as long as every partial result is exact, f32 beyond.
DType dtype_for(const Options& options, const Problem& problem) {
  if (options.has("dtype")) return options.dtype("dtype");
  const bool fits = static_cast<double>(problem.sum()) <= exact_up_to(DType::f16);
  return fits ? DType::f16 : DType::f32;
}

/// This rank's tensor, a row for each member.
Tensor contribution(Torch& torch, const Problem& problem, int rank, DType dtype,
                    const std::optional<DPPolicy>& dp) {
  const double value = problem.op == ReduceOp::PROD ? 1 : Problem::value(rank);
  Tensor x = torch.full({problem.rows(), problem.n_elem}, value, dtype, dp, fmt::format("x{}", rank));
  for (std::int64_t row = 0; row < problem.rows() && problem.op == ReduceOp::PROD; ++row)
    if (problem.doubles(rank, row)) x[{tl::index(row)}].fill_(2);
  return x;
}

struct Comparison {
  std::int64_t wrong = 0;
  double mean = 0;
};

Comparison compare(const NdArray& got, double expected, double tolerance) {
  return runtime::with_type(got.dtype(), [&](auto type) {
    using T = decltype(type);
    const double wanted = runtime::number_of(static_cast<T>(static_cast<float>(expected)));
    Comparison result;
    for (const T element : got.view<T>()) {
      const double x = runtime::number_of(element);
      result.mean += x / static_cast<double>(got.elements());
      if (!(std::abs(x - wanted) <= tolerance * std::abs(wanted))) ++result.wrong;
    }
    return result;
  });
}

/// As nccl-tests has them: bytes of one member ÷ time, and that · 2 (n − 1) / n.
struct Figures {
  std::int64_t size = 0;
  Time time;
  double algbw = 0, busbw = 0;  // GB/s
};

Figures figures_of(const Problem& problem, DType dtype, Time time) {
  const std::int64_t size = problem.elements() * itemsize(dtype);
  const double n = static_cast<double>(problem.members()), algbw = static_cast<double>(size) / time.ns();
  return {size, time, algbw, algbw * 2 * (n - 1) / n};
}

/// The words of nccl-tests.
std::string columns(const Problem& problem, DType dtype, const Figures& figures, const std::string& wrong) {
  std::string op(to_string(problem.op));
  std::ranges::transform(op, op.begin(), [](unsigned char c) { return std::tolower(c); });
  return fmt::format(
      "#{:>11} {:>13} {:>7} {:>7} {:>5} {:>12} {:>8} {:>8} {:>7}\n"
      "#{:>11} {:>13} {:>7} {:>7} {:>5} {:>12} {:>8} {:>8} {:>7}\n"
      "{:>12} {:>13} {:>7} {:>7} {:>5} {:>12.3f} {:>8.3f} {:>8.3f} {:>7}",
      "size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong",  //
      "(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "",               //
      figures.size, problem.elements(), to_string(dtype), op, -1, figures.time.ns() / 1e3, figures.algbw,
      figures.busbw, wrong);
}

bool serves(const dist::ConfiguredAllReduce& algorithm, ccl::Group group) {
  return std::ranges::find(algorithm.serves, group) != algorithm.serves.end();
}

std::vector<std::string> names_of(const std::vector<dist::ConfiguredAllReduce>& algorithms) {
  std::vector<std::string> names;
  for (const auto& algorithm : algorithms) names.push_back(algorithm.name);
  return names;
}

void check_algorithm(const Torch& torch, const std::string& name) {
  const auto names = names_of(dist::known_all_reduces(torch));
  if (std::ranges::find(names, name) != names.end()) return;
  throw InputError({"bench.option", shown("algorithm=" + name),
                    fmt::format("{} is no all-reduce", quote(name)), suggest(name, names, "algorithms")});
}

void check_world_size(const Torch& torch, std::int64_t world_size) {
  const auto algorithm = dist::configured_all_reduce(torch);
  if (serves(algorithm, ccl::Group::pe)) return;
  auto others = dist::known_all_reduces(torch);
  std::erase_if(others, [](const auto& other) { return !serves(other, ccl::Group::pe); });
  throw InputError(
      {"bench.option", fmt::format("world_size={}", world_size),
       fmt::format("with a world_size every rank is one PE, and {} does not reduce over PEs", algorithm.name),
       fmt::format("these do: algorithm={}; for {} SIPs instead: --set system.sips.count={}",
                   join(names_of(others)), world_size, world_size)});
}

/// The options, as overrides of ccl.yaml.
void configure(Torch& torch, const Options& options) {
  if (options.has("algorithm")) {
    check_algorithm(torch, options.text("algorithm"));
    dist::configure_further(torch, {"defaults.algorithm=" + options.text("algorithm")});
  }
  const std::string entry = "algorithms." + dist::configured_all_reduce(torch).name;
  std::vector<std::string> overrides;
  if (options.has("world_size")) {
    check_world_size(torch, options.integer("world_size"));
    overrides.push_back(fmt::format("{}.world_size={}", entry, options.integer("world_size")));
  }
  if (options.has("buffer_kind"))
    overrides.push_back(fmt::format("{}.buffer_kind={}", entry, options.text("buffer_kind")));
  if (!overrides.empty()) dist::configure_further(torch, overrides);
}

/// What is reduced, how it lies, and over whom.
struct Setting {
  Problem problem;
  DType dtype;
  std::optional<DPPolicy> dp;
  dist::Group group;
};

/// How a rank's rows lie: one in each cube, or in each PE of every cube; of a cube's row its PEs may have a part each.
DPPolicy placement(const Problem& problem, const dist::ConfiguredAllReduce& algorithm, int pes) {
  const bool split = problem.pes == 1 && algorithm.every_pe;
  return {.cube = Split::row_wise,
          .pe = problem.pes > 1 ? Split::row_wise
                : split         ? Split::column_wise
                                : Split::replicate,
          .num_pes = split ? pes : problem.pes};
}

dist::Group group_of(const Torch& torch, ccl::Group group) {
  return group == ccl::Group::cube ? dist::Group(torch.ahbm.cubes)
         : group == ccl::Group::pe ? dist::Group(torch.ahbm.pes)
                                   : dist::Group::of_all_sips();
}

Setting setting_of(Torch& torch, const Options& options) {
  const auto algorithm = dist::configured_all_reduce(torch);
  const bool by_pe = dist::ranks_are_pes(torch);
  const bool over_pes = !by_pe && algorithm.group == ccl::Group::pe;
  const Problem problem{
      .ranks = dist::get_world_size(torch),
      .cubes = by_pe ? 1 : torch.machine().cubes(),
      .pes = over_pes && algorithm.every_pe ? torch.machine().pes() : 1,
      .n_elem = options.has("n_elem") ? options.integer("n_elem") : algorithm.n_elem.value_or(1024),
      .op = ccl::parse_reduce_op(options.text("op")),
      .over_rows = !by_pe && algorithm.group != ccl::Group::sip};
  const DType dtype = dtype_for(options, problem);
  if (by_pe) return {problem, dtype, {}, {}};
  return {problem, dtype, placement(problem, algorithm, torch.machine().pes()),
          group_of(torch, algorithm.group)};
}

/// Each rank's tensor, all in place: then all ranks can call the all-reduce at the same instant.
std::vector<Tensor> make_tensors(Torch& torch, const Setting& setting) {
  std::vector<Tensor> tensors(static_cast<std::size_t>(setting.problem.ranks));
  const auto make = [&](int rank) {
    torch.ahbm.set_device(rank);
    tensors[static_cast<std::size_t>(rank)] =
        contribution(torch, setting.problem, rank, setting.dtype, setting.dp);
  };
  spawn(torch, make, setting.problem.ranks);
  torch.synchronize();
  return tensors;
}

/// The one that ran, how long the slowest rank's PEs were at it, and from when to when the host saw it.
struct Reduction {
  std::string algorithm;
  Time time;
  Time launched = Time::never(), completed;
};

Reduction reduce(Torch& torch, const Setting& setting, const std::vector<Tensor>& tensors) {
  Reduction done;
  const auto call = [&](int rank) {
    torch.ahbm.set_device(rank);
    const dist::Work work =
        dist::all_reduce(tensors[static_cast<std::size_t>(rank)], setting.problem.op, setting.group);
    const runtime::Trace trace = work.trace();
    done.time = std::max(done.time, trace.pe_exec);
    done.launched = std::min(done.launched, trace.submitted + trace.queued);
    done.completed = std::max(done.completed, trace.submitted + trace.queued + trace.total);
    done.algorithm = work.algorithm();
  };
  spawn(torch, call, setting.problem.ranks);
  return done;
}

/// Elements that are not as they should be.
std::int64_t verify(const Setting& setting, const Reduction& done, const std::vector<Tensor>& tensors,
                    BenchReport& report) {
  const Problem& problem = setting.problem;
  const bool exact = static_cast<double>(problem.sum()) <= exact_up_to(setting.dtype);
  const double tolerance = exact ? 0 : static_cast<double>(problem.members()) / exact_up_to(setting.dtype);
  std::int64_t wrong = 0;
  for (std::size_t rank = 0; rank < tensors.size(); ++rank) {
    const Comparison found = compare(tensors[rank].numpy(), problem.expected(), tolerance);
    wrong += found.wrong;
    report.verified(found.wrong == 0,
                    fmt::format("{} (ws={}): rank {}: got mean={}, expected={}", done.algorithm,
                                problem.ranks, rank, found.mean, problem.expected()));
  }
  return wrong;
}

/// Over all ranks: what a PE holds of a tensor is one.
std::int64_t shards_of(const std::vector<Tensor>& tensors) {
  std::int64_t shards = 0;
  for (const Tensor& tensor : tensors) shards += static_cast<std::int64_t>(tensor.shards().size());
  return shards;
}

/// What the number in the bench's line counts: `# 32 shards compared: 2 SIPs × 16 cubes, 1024 elements each`.
std::string explanation(const Problem& problem, bool by_pe, std::int64_t shards, bool compared) {
  const auto counted = [](std::int64_t n, const char* what) {
    return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
  };
  const std::int64_t lanes = shards / (problem.ranks * problem.rows());
  std::string who = counted(problem.ranks, by_pe ? "PE" : "SIP");
  if (!by_pe) who += " × " + counted(problem.cubes, "cube");
  if (lanes * problem.pes > 1) who += fmt::format(" × {} PEs", lanes * problem.pes);
  return fmt::format("# {}{}: {}, {} each", counted(shards, "shard"), compared ? " compared" : "", who,
                     counted(problem.n_elem / lanes, "element"));
}

/// The PEs that hold a part of a member: the same part of every member forms a lane.
std::vector<std::vector<PeCoord>> lanes_of(const Setting& setting, const std::vector<Tensor>& tensors) {
  const bool by_pe = !setting.dp;
  std::map<std::pair<int, int>, std::vector<PeCoord>> lanes;
  for (const Tensor& tensor : tensors)
    for (const ShardSpec& s : tensor.shards()) {
      const bool one_row = by_pe || setting.problem.over_rows, one_pe = by_pe || setting.problem.pes > 1;
      const std::pair part(one_row ? 0 : s.cube, one_pe ? 0 : s.pe);
      lanes[part].push_back({s.sip, s.cube, s.pe});
    }
  std::vector<std::vector<PeCoord>> out;
  for (auto& [part, lane] : lanes) out.push_back(std::move(lane));
  return out;
}

/// What no all-reduce of these tensors can beat; if this one has, the models are wrong.
ccl::AllReduceBound bound_of(Torch& torch, const Setting& setting, const std::vector<Tensor>& tensors,
                             Time time) {
  auto bound = ccl::all_reduce_bound(torch.engine().device().graph(), lanes_of(setting, tensors),
                                     tensors.front().shards().front().nbytes);
  KB_ASSERT(time >= bound.time, "an all-reduce in {} beats its lower bound {}: {}", to_string(time),
            to_string(bound.time), bound.why);
  return bound;
}

std::string bound_text(const ccl::AllReduceBound& bound) {
  if (bound.why.empty()) return "# a single member has nothing to do";
  return fmt::format("# no all-reduce takes less than {:.3f} us: {}", bound.time.ns() / 1e3, bound.why);
}

/// What a PE holds, and a SIP.
void add_sizes(BenchReport& report, const std::vector<Tensor>& tensors) {
  std::int64_t in_first_sip = 0;
  const int sip = tensors.front().shards().front().sip;
  for (const Tensor& tensor : tensors)
    for (const ShardSpec& shard : tensor.shards())
      if (shard.sip == sip) in_first_sip += shard.nbytes.count();
  report.result("bytes_per_pe", tensors.front().shards().front().nbytes.count());
  report.result("bytes_per_sip", in_first_sip);
}

void add_results(BenchReport& report, const Setting& setting, const Reduction& done, const Figures& figures) {
  report.result("algorithm", done.algorithm);
  report.result("world_size", std::int64_t{setting.problem.ranks});
  report.result("members", setting.problem.members());
  report.result("dtype", std::string(to_string(setting.dtype)));
  report.result("size_bytes", figures.size);
  report.result("time_ns", figures.time.ns());
  report.result("latency_ns", (done.completed - done.launched).ns());
  report.result("algbw_gbs", figures.algbw);
  report.result("busbw_gbs", figures.busbw);
}

void run_ccl_allreduce(Torch& torch, const Options& options, BenchReport& report) {
  configure(torch, options);
  const Setting setting = setting_of(torch, options);
  dist::init_process_group(torch);
  const std::vector<Tensor> tensors = make_tensors(torch, setting);
  const Reduction done = reduce(torch, setting, tensors);
  const Figures figures = figures_of(setting.problem, setting.dtype, done.time);
  const std::int64_t shards = shards_of(tensors);
  const std::string wrong = report.verify() ? std::to_string(verify(setting, done, tensors, report)) : "N/A";
  add_results(report, setting, done, figures);
  add_sizes(report, tensors);
  const auto bound = bound_of(torch, setting, tensors, done.time);
  report.result("lower_bound_ns", bound.time.ns());
  report.line(fmt::format("{} (ws={}): {} {}\n{}\n{}\n{}", done.algorithm, setting.problem.ranks, shards,
                          report.verdict(),
                          explanation(setting.problem, !setting.dp, shards, report.verify()),
                          columns(setting.problem, setting.dtype, figures, wrong), bound_text(bound)));
}

}  // namespace

Bench ccl_allreduce() {
  return {
      "ccl-allreduce",
      "Runs the all-reduce that ccl.yaml names. Members are cubes, SIPs or PEs, as the algorithm wants; with "
      "world_size, every rank is one PE. Timed as nccl-tests does; its line ends with the number of shards "
      "(what a PE holds of a rank's tensor) and whether all are right",
      {Param::text("algorithm", "", "which one of ccl.yaml; left out: the one it configures").optional(),
       Param::integer("world_size", 1, {1, 1 << 20},
                      "ranks, each a PE; left out: as ccl.yaml says, else SIPs")
           .optional(),
       Param::integer("n_elem", 1, ccl::kElementRange, "elements of each member; left out: as ccl.yaml says")
           .optional(),
       Param::choice("op", "SUM", {"SUM", "MAX", "MIN", "PROD", "AVG"}, "how they are combined"),
       Param::choice("buffer_kind", "", {"tcm", "hbm", "sram"},
                     "where the queues lie; left out: as ccl.yaml says")
           .optional(),
       Param::choice("dtype", "", {"f16", "bf16", "f32", "i32"},
                     "of the elements; left out: f16, or f32 where sums are not exact in f16")
           .optional()},
      run_ccl_allreduce,
      {},
      {"algorithm", "world_size", "members", "dtype", "size_bytes", "time_ns", "latency_ns", "algbw_gbs",
       "busbw_gbs", "bytes_per_pe", "bytes_per_sip", "lower_bound_ns"}};
}

}  // namespace kernbench::bench
