// ccl-allreduce: the all-reduce of ccl.yaml, through process group and spawn, in the columns of nccl-tests.
//
// Every member contributes a small integer, so that all partial results are exact and the comparison is bit for bit
// whatever the order of additions. Members are the cubes of all SIPs, or PEs where a rank is one.
#include <fmt/format.h>

#include <algorithm>

#include "bench/shipped.hpp"
#include "kernbench/distributed.hpp"
#include "runtime/numbers.hpp"

namespace kernbench::bench {
namespace {

using ccl::ReduceOp;

/// What is reduced: `rows` members in each of `ranks` ranks.
struct Problem {
  int ranks = 1;
  std::int64_t rows = 1;
  std::int64_t n_elem = 1;
  ReduceOp op = ReduceOp::SUM;
  bool over_cubes = true;  // else each row is reduced over the ranks alone

  std::int64_t members() const { return over_cubes ? ranks * rows : ranks; }
  static int value(int rank) { return rank % 8 + 1; }
  /// Of PROD: 2 on the first three members, else 1.
  bool doubles(int rank, std::int64_t row) const { return (over_cubes ? rank * rows + row : rank) < 3; }

  std::int64_t sum() const {
    std::int64_t of_ranks = 0;
    for (int r = 0; r < ranks; ++r) of_ranks += value(r);
    return over_cubes ? rows * of_ranks : of_ranks;
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
  Tensor x = torch.full({problem.rows, problem.n_elem}, value, dtype, dp, fmt::format("x{}", rank));
  for (std::int64_t row = 0; row < problem.rows && problem.op == ReduceOp::PROD; ++row)
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

/// The words of nccl-tests.
std::string columns(const Problem& problem, DType dtype, double us, const std::string& wrong) {
  const auto size = problem.n_elem * itemsize(dtype);
  const double algbw = static_cast<double>(size) / us / 1e3, n = static_cast<double>(problem.members());
  std::string op(to_string(problem.op));
  std::ranges::transform(op, op.begin(), [](unsigned char c) { return std::tolower(c); });
  return fmt::format(
      "#{:>11} {:>13} {:>7} {:>7} {:>5} {:>12} {:>8} {:>8} {:>7}\n"
      "#{:>11} {:>13} {:>7} {:>7} {:>5} {:>12} {:>8} {:>8} {:>7}\n"
      "{:>12} {:>13} {:>7} {:>7} {:>5} {:>12.3f} {:>8.3f} {:>8.3f} {:>7}",
      "size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong",  //
      "(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "",               //
      size, problem.n_elem, to_string(dtype), op, -1, us, algbw, algbw * 2 * (n - 1) / n, wrong);
}

/// The options, as overrides of ccl.yaml.
void configure(Torch& torch, const Options& options) {
  std::vector<std::string> overrides;
  if (options.has("algorithm")) overrides.push_back("defaults.algorithm=" + options.text("algorithm"));
  if (!overrides.empty()) dist::configure_further(torch, overrides);
  const std::string entry = "algorithms." + dist::configured_all_reduce(torch).name;
  overrides.clear();
  if (options.has("world_size"))
    overrides.push_back(fmt::format("{}.world_size={}", entry, options.integer("world_size")));
  if (options.has("buffer_kind"))
    overrides.push_back(fmt::format("{}.buffer_kind={}", entry, options.text("buffer_kind")));
  if (!overrides.empty()) dist::configure_further(torch, overrides);
}

bool serves(const dist::ConfiguredAllReduce& algorithm, ccl::Group group) {
  return std::ranges::find(algorithm.serves, group) != algorithm.serves.end();
}

void run(Torch& torch, const Options& options, BenchReport& report) {
  configure(torch, options);
  const auto algorithm = dist::configured_all_reduce(torch);
  const bool by_pe = dist::ranks_are_pes(torch);
  Problem problem{
      .ranks = dist::get_world_size(torch),
      .rows = by_pe ? 1 : torch.machine().cubes(),
      .n_elem = options.has("n_elem") ? options.integer("n_elem") : algorithm.n_elem.value_or(1024),
      .op = ccl::parse_reduce_op(options.text("op")),
      .over_cubes = !by_pe && serves(algorithm, ccl::Group::cube)};
  const DType dtype = dtype_for(options, problem);
  const DPPolicy row_per_cube{.cube = Split::row_wise,
                              .pe = algorithm.every_pe ? Split::column_wise : Split::replicate,
                              .num_pes = algorithm.every_pe ? torch.machine().pes() : 1};
  const auto dp = by_pe ? std::optional<DPPolicy>() : row_per_cube;
  const dist::Group group = problem.over_cubes ? dist::Group(torch.ahbm.cubes) : dist::Group();

  // First the tensors, and everything is waited for: then all ranks call the all-reduce at the same instant.
  dist::init_process_group(torch);
  std::vector<Tensor> tensors(static_cast<std::size_t>(problem.ranks));
  const auto tensor_of = [&](int rank) -> Tensor& { return tensors[static_cast<std::size_t>(rank)]; };
  spawn(
      torch,
      [&](int rank) {
        torch.ahbm.set_device(rank);
        tensor_of(rank) = contribution(torch, problem, rank, dtype, dp);
      },
      problem.ranks);
  torch.synchronize();

  Time time;
  std::string name;
  std::int64_t shards = 0, wrong = 0;
  spawn(
      torch,
      [&](int rank) {
        torch.ahbm.set_device(rank);
        const dist::Work work = dist::all_reduce(tensor_of(rank), problem.op, group);
        time = std::max(time, work.trace().pe_exec);
        name = work.algorithm();
      },
      problem.ranks);

  const bool exact = static_cast<double>(problem.sum()) <= exact_up_to(dtype);
  const double tolerance = exact ? 0 : static_cast<double>(problem.members()) / exact_up_to(dtype);
  for (int rank = 0; rank < problem.ranks; ++rank) {
    shards += static_cast<std::int64_t>(tensor_of(rank).shards().size());
    if (!report.verify()) continue;
    const Comparison found = compare(tensor_of(rank).numpy(), problem.expected(), tolerance);
    wrong += found.wrong;
    report.verified(found.wrong == 0, fmt::format("{} (ws={}): rank {}: got mean={}, expected={}", name,
                                                  problem.ranks, rank, found.mean, problem.expected()));
  }
  const double us = time.ns() / 1e3;
  report.line(fmt::format("{} (ws={}): {} {}\n{}", name, problem.ranks, shards, report.verdict(),
                          columns(problem, dtype, us, report.verify() ? std::to_string(wrong) : "N/A")));
}

}  // namespace

Bench ccl_allreduce() {
  return {"ccl-allreduce",
          "the all-reduce of ccl.yaml over all cubes (or PEs, where a rank is one), timed as nccl-tests does",
          {Param::text("algorithm", "", "which one of ccl.yaml; left out: the one it configures").optional(),
           Param::integer("world_size", 1, {1, 1 << 20},
                          "ranks, each a PE; left out: as ccl.yaml says, else SIPs")
               .optional(),
           Param::integer("n_elem", 1, {1, 1 << 28}, "elements of each member; left out: as ccl.yaml says")
               .optional(),
           Param::choice("op", "SUM", {"SUM", "MAX", "MIN", "PROD", "AVG"}, "how they are combined"),
           Param::choice("buffer_kind", "", {"tcm", "hbm", "sram"},
                         "where the queues lie; left out: as ccl.yaml says")
               .optional(),
           Param::choice("dtype", "", {"f16", "bf16", "f32", "i32"},
                         "of the elements; left out: f16, or f32 where sums are not exact in f16")
               .optional()},
          run};
}

}  // namespace kernbench::bench
