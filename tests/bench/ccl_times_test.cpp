// What an all-reduce takes: the kinds of buffers against each other, the bandwidth of links, and what no algorithm can beat.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/run.hpp"
#include "ccl/bound.hpp"

namespace kernbench::bench {
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

double with_buffers(const char* kind, int ranks, int elements) {
  return all_reduce({"algorithm=ring_allreduce", "dtype=f16", fmt::format("buffer_kind={}", kind),
                     fmt::format("world_size={}", ranks), fmt::format("n_elem={}", elements)})
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

TEST(BuffersOfQueues, FromSixteenKiBOnHbmIsFasterThanSram) {
  for (const int ranks : {2, 8, 16})
    for (const int elements : {8192, 32768}) {
      EXPECT_LT(with_buffers("tcm", ranks, elements), with_buffers("hbm", ranks, elements)) << ranks;
      EXPECT_LT(with_buffers("hbm", ranks, elements), with_buffers("sram", ranks, elements)) << ranks;
    }
}

// ── lower bounds ──

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

}  // namespace
}  // namespace kernbench::bench
