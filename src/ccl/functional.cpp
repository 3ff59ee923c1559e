#include "kernbench/functional.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "ccl/functional_run.hpp"
#include "kernbench/error.hpp"

namespace kernbench::ccl {
namespace {

[[noreturn]] void refuse(std::string what, std::string hint) {
  throw InputError({"functional.world", "", std::move(what), std::move(hint)});
}

void check(const FunctionalWorld& world) {
  if (world.ranks.empty()) refuse("a world without ranks", "give at least one");
  if (world.tensors.size() != world.ranks.size())
    refuse(fmt::format("tensors for {} ranks, but there are {}", world.tensors.size(), world.ranks.size()),
           "give each rank its tensors; none is an empty list");
  std::set<PeCoord> seen;
  for (const auto pe : world.ranks)
    if (!seen.insert(pe).second)
      refuse(fmt::format("two ranks on {}", to_string(pe)), "one PE runs one rank");
}

std::array<int, 3> extents(const FunctionalWorld& world) {
  std::array<int, 3> most{};
  for (const auto pe : world.ranks)
    most = {std::max(most[0], pe.pe + 1), std::max(most[1], pe.cube + 1), std::max(most[2], pe.sip + 1)};
  return most;
}

class Recording {
 public:
  Recording(const FunctionalWorld& world, const FunctionalOptions& options, FunctionalMemory& memory)
      : world_(world), options_(options), memory_(memory), extents_(extents(world)) {
    const Bytes slot = options.slot_size.value_or(Bytes(INT64_MAX));
    for (const auto& link : world.links)
      queues_[link.pe].push_back({link.direction, slot, options.in_slot, link.sends, link.receives});
  }

  isa::Program record(const FunctionalKernel& kernel, int rank) {
    tl::Context tl(environment(rank));
    const FunctionalRank me{rank, static_cast<int>(world_.ranks.size()), memory_.pointers(rank)};
    try {
      run_kernel(kernel, tl, me);
    } catch (const StopRecording&) {  // what it has recorded so far is run
    }
    return tl.take_program();
  }

 private:
  tl::Environment environment(int rank) {
    const auto pe = world_.ranks[static_cast<std::size_t>(rank)];
    const auto where = [this, rank] { return fmt::format("kernel '{}', rank {}", options_.kernel, rank); };
    return {.kernel = options_.kernel,
            .pe = pe,
            .num_programs = extents_,
            .scratch = options_.scratch,
            .queues = queues_[pe],
            .shards = memory_.shards(rank),
            .tensors = memory_.pointers(rank),
            .scalars = [this, rank, where](std::uint64_t address, DType dtype) {
              return memory_.number(address, dtype, {rank, where});
            }};
  }

  const FunctionalWorld& world_;
  const FunctionalOptions& options_;
  FunctionalMemory& memory_;
  std::array<int, 3> extents_;
  std::map<PeCoord, std::vector<tl::Queue>> queues_;
};

}  // namespace

FunctionalResult run_functional(const FunctionalKernel& kernel, const FunctionalWorld& world,
                                const FunctionalOptions& options) {
  check(world);
  FunctionalMemory memory(world);
  const int ranks = static_cast<int>(world.ranks.size());
  FunctionalResult result;
  Recording recording(world, options, memory);
  for (int r = 0; r < ranks; ++r) result.programs.push_back(recording.record(kernel, r));
  FunctionalRun run(world, options, memory, result.programs);
  run.run();
  run.report(result);
  for (int r = 0; r < ranks; ++r) result.tensors.push_back(memory.tensors(r));
  return result;
}

FunctionalResult run_functional(const Registry& registry, std::string_view name, const Members& members,
                                std::vector<std::vector<NdArray>> tensors, const Call& call,
                                FunctionalOptions options) {
  const auto& algorithm = registry.algorithm(name);
  const FunctionalWorld world{.ranks = members.pes(),
                              .links = links_of(registry, algorithm, algorithm.topology, members),
                              .tensors = std::move(tensors)};
  const auto kernel = [&](tl::Context& tl, const FunctionalRank& me) {
    auto mine = members.call(world.ranks[static_cast<std::size_t>(me.rank)]);
    mine.op = call.op;
    mine.root = call.root;
    mine.slots = options.slots.value_or(call.slots);
    if (!me.tensors.empty()) mine.input = me.tensors.front();
    if (me.tensors.size() > 1) mine.output = me.tensors[1];
    algorithm.kernel(tl, mine);
  };
  options.kernel = algorithm.name;
  return run_functional(FunctionalKernel(kernel), world, options);
}

std::vector<PeCoord> first_pes(int n) {
  constexpr int kPes = 8, kCubes = 16;
  std::vector<PeCoord> out;
  for (int i = 0; i < n; ++i) out.push_back({i / kPes / kCubes, i / kPes % kCubes, i % kPes});
  return out;
}

}  // namespace kernbench::ccl
