// ccl-allreduce from its options to its verdict, numbers computed and compared: ranks are PEs, each with eight elements.
// The unit is a message between PEs. CPU time of all threads.
//
// `all_reduce_ring` is the flat ring over 256 PEs, 65,280 messages, set beside SimPy's ring of as many messages over
// three hops, which models nothing else. How the cost of a message grows with the machine is asked of a collective
// whose messages grow with the ranks and not with their square: a flat ring over 2,048 PEs has four million. The binary
// tree of 64 tiles has 2 · (ranks − 1) · 64, between PEs that lie as far apart as the machine is large.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "bench/run.hpp"
#include "kernbench/error.hpp"
#include "workload.hpp"

namespace kernbench::bench {
namespace {

Result all_reduce(const char* algorithm, int sips, int ranks, std::int64_t elements, std::int64_t messages) {
  const Registry registry = builtin_registry();
  const Bench& bench = registry.benches.at("ccl-allreduce");
  const std::vector<std::string> overrides{fmt::format("system.sips.count={}", sips)};
  const auto machine = topology::load_machine("default", overrides, registry.components);
  const std::vector<std::string> words{fmt::format("algorithm={}", algorithm),
                                       fmt::format("world_size={}", ranks),
                                       fmt::format("n_elem={}", elements)};
  const Options options = bench.read_options(words);
  std::uint64_t hash = 0;
  const double seconds = seconds_of([&] {
    const RunResult result = run(bench, options, machine, {.verify = true});
    KB_ASSERT(result.ok(), "{} over {} PEs gives wrong numbers", algorithm, ranks);
    hash = result.hash;
  });
  return {messages, hash, seconds};
}

}  // namespace

Result all_reduce_ring() { return all_reduce("ring_allreduce_tcm", 2, 256, 8, std::int64_t{256} * 255); }

Result all_reduce_tree(int sips) {
  constexpr std::int64_t kTiles = 64, kElements = 4096 / 4;  // of a slot, f32: sums of many ranks need it
  const int ranks = 128 * sips;
  return all_reduce("tree_allreduce", sips, ranks, kTiles * kElements, 2 * (ranks - 1) * kTiles);
}

}  // namespace kernbench::bench
