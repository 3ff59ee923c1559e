// ccl-neighbour: every PE of the machine sends its block to the next one, all round: the most local traffic there is, and the
// least that all PEs can do with each other. What a large machine costs to simulate.
#include <fmt/format.h>

#include "bench/shipped.hpp"
#include "dist/state.hpp"
#include "kernbench/distributed.hpp"
#include "kernbench/error.hpp"
#include "kernbench/half.hpp"

namespace kernbench::bench {
namespace {

/// The kernel: a round hands on what lies in x, and keeps what comes.
void hand_on(tl::Context& tl, tl::Ptr x, int rounds) {
  const auto& mine = tl.shard(x);
  for (int i = 0; i < rounds; ++i) {
    tl.send("E", tl.load(mine.ptr, mine.shape, mine.dtype));
    tl.store(mine.ptr, tl.recv("W", mine.shape, mine.dtype));
  }
}

/// What the blocks of a rank hold when they have been handed on so often. Numbers that f16 has, different from one block to the
/// next.
NdArray blocks_of(int rank, int ranks, std::int64_t pes, std::int64_t n, std::int64_t rounds) {
  NdArray array(DType::f16, {pes * n});
  const std::int64_t all = ranks * pes;
  for (std::int64_t i = 0; i < pes * n; ++i) {
    const std::int64_t block = ((rank * pes + i / n - rounds) % all + all) % all;
    array.view<F16>()[static_cast<std::size_t>(i)] = F16(static_cast<float>((3 * block + i % n) % 1021));
  }
  return array;
}

/// A block is one message, which lies in one slot of a queue.
void check_block_fits(const Torch& torch, const dist::QueueLaunch& ring, std::int64_t n) {
  const Bytes block(n * itemsize(DType::f16));
  const Bytes slot =
      dist::State::of(torch.engine()).config().wiring(ring.topology, ring.mapper).rules.slot_size;
  if (block <= slot) return;
  throw InputError({"bench.option", fmt::format("n_elem={}", n),
                    fmt::format("a block of {} does not fit a slot of {}", to_string(block), to_string(slot)),
                    fmt::format("n_elem at most {}, or --set ccl.defaults.slot_size={}",
                                slot.count() / itemsize(DType::f16), block.count())});
}

void run_ccl_neighbour(Torch& torch, const Options& options, BenchReport& report) {
  const auto n = options.integer("n_elem"), rounds = options.integer("rounds");
  const int ranks = dist::get_world_size(torch);
  const std::int64_t pes = torch.machine().cubes() * torch.machine().pes();
  const DPPolicy one_block_each{.cube = Split::column_wise, .pe = Split::column_wise};
  const dist::QueueLaunch ring{
      .name = "hand_on", .topology = "ring_1d", .group = torch.ahbm.pes, .grid = {}, .pes = {}};
  check_block_fits(torch, ring, n);
  std::vector<runtime::Handle> launches(static_cast<std::size_t>(ranks));
  spawn(
      torch,
      [&](int rank) {
        torch.ahbm.set_device(rank);
        const Tensor x = report.verify()
                             ? torch.from_numpy(blocks_of(rank, ranks, pes, n, 0), one_block_each, "x")
                             : torch.empty({pes * n}, DType::f16, one_block_each, "x");
        auto& launch = launches[static_cast<std::size_t>(rank)];
        launch = dist::launch(torch, ring, hand_on, x, static_cast<int>(rounds));
        torch.wait(launch);
        if (report.verify())
          report.compare(fmt::format("rank {}", rank), x.numpy(), blocks_of(rank, ranks, pes, n, rounds));
      },
      ranks);
  Time longest;
  for (const auto& launch : launches) longest = std::max(longest, launch.trace().pe_exec);
  report.result("pes", ranks * pes);
  report.result("messages", ranks * pes * rounds);
  report.result("time_ns", longest.ns());
  report.line(fmt::format("ccl-neighbour {} PEs × {} × {} B: {:.3f} us: {}", ranks * pes, rounds, 2 * n,
                          longest.ns() / 1e3, report.verdict()));
}

}  // namespace

Bench ccl_neighbour() {
  return {"ccl-neighbour",
          "every PE of all SIPs sends its block to the next one, all round",
          {Param::integer("n_elem", 512, {1, 1 << 16}, "elements (f16) of a block: 512 are 1 KiB"),
           Param::integer("rounds", 1, {1, 1 << 16}, "how often, one after the other in one launch")},
          run_ccl_neighbour,
          {},
          {"pes", "messages", "time_ns"}};
}

}  // namespace kernbench::bench
