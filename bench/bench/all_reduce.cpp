// ccl-allreduce from its options to its verdict, numbers computed and compared: ranks are PEs. The unit is a message
// between PEs. Wall time, on as many threads as a user would have: one per core, where they pay.
//
// `all_reduce_ring` is the flat ring over all PEs, eight elements each: over 256 PEs 65,280 messages, set beside SimPy's
// ring of as many messages over three hops, which models nothing else; over 2,048 PEs 4.2 million, which shows how the
// cost of a message grows with the machine. The binary tree of 64 tiles has 2 · (ranks − 1) · 64 messages, of a packet
// each, between PEs that lie as far apart as the machine is large: 86 and 98 events a message, where the ring has 20.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "bench/run.hpp"
#include "kernbench/error.hpp"
#include "workload.hpp"

namespace kernbench::bench {
namespace {

struct Case {
  const char* algorithm;
  int sips;
  int ranks;
  const char* dtype;
  std::int64_t elements;
  std::int64_t slot_bytes;
  std::int64_t messages;
};

Result all_reduce(const Case& c) {
  const Registry registry = builtin_registry();
  const Bench& bench = registry.benches.at("ccl-allreduce");
  const std::vector<std::string> overrides{fmt::format("system.sips.count={}", c.sips)};
  const auto machine = topology::load_machine("default", overrides, registry.components);
  const std::vector<std::string> words{
      fmt::format("algorithm={}", c.algorithm), fmt::format("world_size={}", c.ranks),
      fmt::format("n_elem={}", c.elements), fmt::format("dtype={}", c.dtype)};
  const Options options = bench.read_options(words);
  std::uint64_t hash = 0;
  const double seconds = wall_seconds_of([&] {
    const RunResult result =
        run(bench, options, machine,
            {.ccl_overrides = {fmt::format("defaults.slot_size={}", c.slot_bytes)}, .verify = true});
    KB_ASSERT(result.ok(), "{} over {} PEs gives wrong numbers", c.algorithm, c.ranks);
    hash = result.hash;
  });
  return {c.messages, hash, seconds};
}

}  // namespace

Result all_reduce_ring(int sips) {
  const int ranks = 128 * sips;
  const char* dtype = ranks <= 256 ? "f16" : "f32";  // sums of more ranks need it
  return all_reduce({"ring_allreduce_tcm", sips, ranks, dtype, 8, 4096, std::int64_t{ranks} * (ranks - 1)});
}

Result all_reduce_tree(int sips) {
  constexpr std::int64_t kTiles = 64;
  constexpr std::int64_t kElements = 16;  // of a tile; f32, as sums of 2,048 ranks need it: slots of 64 bytes
  const int ranks = 128 * sips;
  return all_reduce(
      {"tree_allreduce", sips, ranks, "f32", kTiles * kElements, kElements * 4, 2 * (ranks - 1) * kTiles});
}

}  // namespace kernbench::bench
