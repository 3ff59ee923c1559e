// What an all-reduce takes: the kinds of buffers against each other, the bandwidth of links, and what no algorithm can beat.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/run.hpp"
#include "ccl/bound.hpp"
#include "ccl/config.hpp"
#include "ccl/plan.hpp"
#include "runtime/memory_layout.hpp"

namespace kernbench::bench::ccl_times_test {
namespace {

using ::testing::HasSubstr;
using Words = std::vector<std::string>;

struct Figures {
  double time_ns = 0;
  double lower_bound_ns = 0;
};

Figures all_reduce(const Words& words, const Words& machine = {}, const Words& ccl = {}) {
  const Registry registry = builtin_registry();
  const Bench& bench = registry.benches.at("ccl_allreduce");
  const RunResult result =
      run(bench, bench.read_options(words),
          topology::load_machine("default", machine, topology::builtin_registry()), {.ccl_overrides = ccl});
  EXPECT_TRUE(result.ok());
  Figures figures;
  for (const auto& [name, value] : result.report.results()) {
    if (name == "time_ns") figures.time_ns = std::get<double>(value);
    if (name == "lower_bound_ns") figures.lower_bound_ns = std::get<double>(value);
  }
  EXPECT_GT(figures.time_ns, 0);
  return figures;
}

/// `router_ns` 0: what is compared are the memories, not how many routers lie before them.
double with_buffers(const char* kind, int ranks, int elements, double router_ns = 0) {
  return all_reduce({"algorithm=ring_allreduce", "dtype=f16", fmt::format("buffer_kind={}", kind),
                     fmt::format("world_size={}", ranks), fmt::format("n_elem={}", elements)},
                    {fmt::format("cube.routers.overhead_ns={}", router_ns)})
      .time_ns;
}

// A message into SRAM goes further than one into the TCM and is read again; one into HBM is also written and read in
// bursts. Large ones are a matter of bandwidth: a PE's slice has 256 GB/s for itself, the SRAM one port for all.
TEST(BuffersOfQueues, SmallMessagesAreFastestInTcmThenSramThenHbm) {
  for (const int ranks : {2, 8, 16}) {
    EXPECT_LT(with_buffers("tcm", ranks, 128), with_buffers("sram", ranks, 128)) << ranks;
    EXPECT_LT(with_buffers("sram", ranks, 128), with_buffers("hbm", ranks, 128)) << ranks;
  }
}

// A cube has one SRAM, at router r3c0: four routers from PE 0 and twelve from PE 7. Each PE has its slice of HBM at its own
// router. Routers of 2.5 ns cost a small message more on the way to the SRAM than the HBM's burst of 8 ns does.
TEST(BuffersOfQueues, SmallMessagesAreFasterInHbmThanBehindManyRouters) {
  for (const int ranks : {2, 8, 16}) {
    EXPECT_LT(with_buffers("tcm", ranks, 128, 2.5), with_buffers("hbm", ranks, 128, 2.5)) << ranks;
    EXPECT_LT(with_buffers("hbm", ranks, 128, 2.5), with_buffers("sram", ranks, 128, 2.5)) << ranks;
  }
}

TEST(BuffersOfQueues, FromSixteenKiBOnHbmIsFasterThanSram) {
  for (const int ranks : {2, 8, 16})
    for (const int elements : {8192, 32768}) {
      EXPECT_LT(with_buffers("tcm", ranks, elements), with_buffers("hbm", ranks, elements)) << ranks;
      EXPECT_LT(with_buffers("hbm", ranks, elements), with_buffers("sram", ranks, elements)) << ranks;
    }
}

// ── windows ──

/// Two SIPs of one cube: the ring between them.
const Words kTwoSips = {"sip.cube_mesh.w=1", "sip.cube_mesh.h=1"};

std::vector<ccl::LinkWindow> planned_windows(const Words& ccl_overrides, std::vector<std::string>& warnings) {
  const auto registry = ccl::builtin_registry();
  const auto machine = topology::load_machine("default", kTwoSips, topology::builtin_registry());
  const auto config = ccl::load_config("default", ccl_overrides, registry);
  address::MemoryPools pools(runtime::memory_layout(machine));
  const auto plan = ccl::make_plan(registry, config.settings("ring_allreduce_rs"), machine, pools);
  auto windows = ccl::link_windows(plan, machine, topology::Graph(machine));
  warnings = ccl::warnings(plan, windows);
  return windows;
}

// A slot is taken for 151.3 ns of round trip, 25 of them in five routers each way, and 40 ns of adding: n slots of 4096 B
// let n · 4096 / 191.3 GB/s through, of the link's 128. The ring loses a little more where it begins and ends. The plan is an
// estimate, and a little low.
TEST(WindowsOfQueues, LetThroughWhatThePlanWarnsOf) {
  for (const int slots : {2, 3, 4}) {
    std::vector<std::string> warnings;
    const Words few = {fmt::format("defaults.n_slots={}", slots)};
    const double reachable = planned_windows(few, warnings).front().reachable_gbs();
    EXPECT_NEAR(reachable, slots * 4096 / 191.3, 0.1);
    EXPECT_EQ(warnings.size(), 1) << "of E: the ring sends nowhere else";
    const double size = 1 << 20;  // bytes; of two members busbw is algbw
    const double gbs =
        size /
        all_reduce({"algorithm=ring_allreduce_rs", "n_elem=524288", "dtype=f16"}, kTwoSips, few).time_ns;
    EXPECT_LT(gbs, 1.02 * reachable) << slots;
    EXPECT_GT(gbs, 0.85 * reachable) << slots;
  }
  std::vector<std::string> warnings;
  planned_windows({"defaults.n_slots=8"}, warnings);
  EXPECT_TRUE(warnings.empty());
}

// 4096 B are 32 ns of the link. Meanwhile the TCM's read port gives 8 ns to the message and 16 to the fetch of an add, in
// turns, so that no packet waits for more than half a nanosecond; the vector unit takes 16, and the slice of HBM 32 for
// two tiles: nothing is slower than the link. What is lost is where phases begin and end.
TEST(WindowsOfQueues, OfEightSlotsLetThroughNineTenthsOfTheLink) {
  const double size = 16 << 20;  // bytes
  const auto it = all_reduce({"algorithm=ring_allreduce_rs", "n_elem=8388608", "dtype=f16"}, kTwoSips,
                             {"defaults.n_slots=8"});
  EXPECT_GT(size / it.time_ns, 0.9 * 128);
  EXPECT_LT(size / it.time_ns, 128);
}

// Each of n SIPs sends and receives 2 (n − 1) / n of the tensor over its one link to the switch, 128 GB/s each way: with
// 16 SIPs and 1 MiB that is 1.875 · 2²⁰ B / 128 GB/s = 15,360 ns. Every rank of a ring or a torus does no more than that.
TEST(TorusAllReduce, TakesAtMostAFifthMoreThanItsBandwidthBound) {
  const Words one_cube = {"sip.cube_mesh.w=1", "sip.cube_mesh.h=1", "system.sips.topology=torus_2d"};
  struct Shape {
    int w, h;
  };
  for (const auto& [w, h] : {Shape{4, 4}, Shape{3, 5}, Shape{8, 2}})
    for (const char* algorithm : {"mesh_allreduce", "intersip_allreduce"}) {
      Words machine = one_cube;
      for (const auto& word : {fmt::format("system.sips.count={}", w * h), fmt::format("system.sips.w={}", w),
                               fmt::format("system.sips.h={}", h)})
        machine.push_back(word);
      const double n = w * h, bound = 2 * (n - 1) / n * (1 << 20) / 128;
      const auto it =
          all_reduce({fmt::format("algorithm={}", algorithm), "n_elem=524288", "dtype=f16"}, machine);
      EXPECT_LE(it.time_ns, 1.2 * bound) << algorithm << ' ' << w << " × " << h;
      EXPECT_GE(it.time_ns, bound) << algorithm << ' ' << w << " × " << h;
    }
}

// ── lower bounds ──

// On a line of SIPs a copy of a result must not hold up the sums of the pieces behind it: 4 slots are then near 16, which need no copies. It
// took 13.9 µs instead of 5.8, a round trip for each of the 16 pieces, and twice as long as through the SRAM.
TEST(AllReduceOverLinesOfSips, OfFewSlotsDoesNotWaitForEachPieceToComeBack) {
  const auto time = [](const char* kind, int slots) {
    return all_reduce(
               {"algorithm=intercube_allreduce", "n_elem=32768"},
               {"system.sips.count=6", "system.sips.topology=mesh_2d_no_wrap", "system.sips.w=3",
                "system.sips.h=2"},
               {fmt::format("defaults.n_slots={}", slots), fmt::format("defaults.buffer_kind={}", kind)})
        .time_ns;
  };
  EXPECT_LT(time("tcm", 4), 1.5 * time("tcm", 16));
  EXPECT_LT(time("tcm", 4), 1.1 * time("sram", 4));
}

TEST(AllReduceBound, IsWhatMustComeOverTheSlowestSharedLink) {
  const auto machine = topology::load_machine("default", {}, topology::builtin_registry());
  const topology::Graph graph(machine);
  const PeCoord a{0, 0, 0}, b{1, 0, 0}, neighbour{0, 0, 1};
  const auto latency = [&](PeCoord from, PeCoord to) {
    return graph.latency(
        graph.route(graph.pe(from, topology::NodeKind::pe_tcm), graph.pe(to, topology::NodeKind::pe_tcm)));
  };
  // Two SIPs: 1 MiB at 128 GB/s is 8192 ns, behind the way of the first byte.
  EXPECT_EQ(ccl::all_reduce_bound(graph, {{a, b}}, 1_MiB).time,
            8192_ns + std::min(latency(a, b), latency(b, a)));
  // Two lanes share the link to the SIP: twice as much.
  EXPECT_EQ(ccl::all_reduce_bound(graph, {{a, b}, {neighbour, {1, 0, 1}}}, 1_MiB).time, 16384_ns);
  // Nothing to send: word must come all the same.
  EXPECT_EQ(ccl::all_reduce_bound(graph, {{a, b}}, 0_B).time, std::min(latency(a, b), latency(b, a)));
  // From the farthest, not the nearest.
  const PeCoord far{0, 15, 0};
  EXPECT_EQ(ccl::all_reduce_bound(graph, {{a, neighbour, far}}, 0_B).time, latency(far, a));
  // One alone is done.
  EXPECT_EQ(ccl::all_reduce_bound(graph, {{a}}, 1_MiB).time, Time());
  EXPECT_THAT(ccl::all_reduce_bound(graph, {{a, b}}, 1_MiB).why, HasSubstr("at 128 GB/s"));
}

TEST(AllReduceBound, IsBeatenByNoAlgorithm) {
  for (const char* algorithm :
       {"ring_allreduce", "ring_allreduce_rs", "mesh_allreduce", "tree_allreduce", "hierarchical_allreduce"})
    for (const int ranks : {2, 16, 130})
      for (const int elements : {1, 128, 8192}) {
        if (std::string_view(algorithm) != "tree_allreduce" && ranks == 130) continue;  // not on a grid
        const auto it = all_reduce({fmt::format("algorithm={}", algorithm),
                                    fmt::format("world_size={}", ranks), fmt::format("n_elem={}", elements)});
        EXPECT_GE(it.time_ns, it.lower_bound_ns) << algorithm << ' ' << ranks << ' ' << elements;
        EXPECT_GT(it.lower_bound_ns, 0) << algorithm << ' ' << ranks << ' ' << elements;
      }
  for (const char* algorithm :
       {"intersip_allreduce", "intercube_allreduce", "intercube_allreduce_allpe", "ring_allreduce_rs"})
    for (const int elements : {8, 1024, 65536}) {
      const auto it =
          all_reduce({fmt::format("algorithm={}", algorithm), fmt::format("n_elem={}", elements)});
      EXPECT_GE(it.time_ns, it.lower_bound_ns) << algorithm << ' ' << elements;
      EXPECT_GT(it.lower_bound_ns, 0) << algorithm << ' ' << elements;
    }
}

// The host goes on at the instant at which its launches have ended, however far a SIP is ahead of that in its window.
TEST(RingAllReduce, OfAnySizeIsTheSameWithAndWithoutShortcuts) {
  const Registry registry = builtin_registry();
  const Bench& bench = registry.benches.at("ccl_allreduce");
  const auto machine = topology::load_machine("small", {}, topology::builtin_registry());
  for (int ranks = 2; ranks <= 32; ++ranks)
    for (const int elements : {64, 100}) {
      const auto options =
          bench.read_options(Words{"algorithm=ring_allreduce_rs", fmt::format("world_size={}", ranks),
                                   fmt::format("n_elem={}", elements)});
      const RunResult shortcuts = run(bench, options, machine),
                      packets = run(bench, options, machine, {.packets = true});
      EXPECT_EQ(shortcuts.total, packets.total) << ranks << ' ' << elements;
      EXPECT_EQ(shortcuts.hash, packets.hash) << ranks << ' ' << elements;
    }
}

}  // namespace
}  // namespace kernbench::bench::ccl_times_test
