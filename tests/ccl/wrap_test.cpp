// Rings whose slots are used again and again.
#include <gmock/gmock.h>

#include "ccl/like_functional.hpp"
#include "kernbench/ccl_steps.hpp"

namespace kernbench::ccl::wrap_test {
namespace {

using enum DType;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Everybody's tensor goes round in tiles of many shapes, each passed on from slot to slot and added up.
void mixed_ring(tl::Context& tl, const Call& call) {
  const auto whole = held(tl, call.input);
  std::int64_t at = 0;
  for (int i = 0; at < whole.elements; ++i) {
    const auto left = whole.elements - at;
    const auto n = std::min<std::int64_t>(1 + i * 7 % 16, left);
    const auto shape = i % 3 == 0 && 2 * n <= left ? tl::Dims({2, n}) : tl::Dims({n});
    const auto ptr = whole.part(at, 0).ptr;
    auto sum = tl.load(ptr, shape, whole.dtype), passing = sum;
    for (int round = 1; round < call.world_size; ++round) {
      tl.send("E", passing);
      passing = tl.recv("W", shape, whole.dtype);
      sum = sum + passing;
    }
    tl.store(ptr, sum);
    at += sum.shape().elements();
  }
}

/// Rank 0 sends its tensor to rank 1, which takes as many tiles as there are slots and stores them much later.
void keep_all(tl::Context& tl, const Call& call) {
  const auto all = pieces(tl, held(tl, call.input));
  for (const auto batch : batches(all, call.slots)) {
    Tiles kept;
    for (const auto& piece : batch)
      call.rank == 0 ? static_cast<void>(tl.send("E", load(tl, piece)))
                     : kept.push_back(recv(tl, "W", piece));
    if (call.rank == 0) continue;
    auto work = tl.zeros({1024}, f32);
    for (int i = 0; i < 100; ++i) work = tl.exp(work);
    tl.fence();
    for (std::size_t i = 0; i < kept.size(); ++i) store(tl, batch[i], kept[i]);
  }
}

Registry with(const char* name, Kernel kernel) {
  auto registry = builtin_registry();
  registry.add(Algorithm{
      .name = name, .description = "of this test", .topology = "ring_1d", .kernel = std::move(kernel)});
  return registry;
}

struct World {
  World(const char* name, Kernel kernel, int ranks, int slots, const char* credit)
      : registry(with(name, std::move(kernel))),
        simulated(registry, settings(name, ranks, slots, credit), machine_of({.sips = 2, .cubes = {2, 1}}),
                  {.group = Group::pe}) {}

  Settings settings(const std::string& name, int ranks, int slots, const char* credit) const {
    const std::vector<std::string> set = {fmt::format("ccl.defaults.n_slots={}", slots),
                                          fmt::format("ccl.defaults.credit_policy={}", credit),
                                          "ccl.defaults.slot_size=64", "ccl.defaults.algorithm=" + name};
    auto chosen = load_config("default", set, registry).settings(name);
    chosen.world_size = ranks;
    return chosen;
  }

  Registry registry;
  SimulatedCollective simulated;
};

// 16 sizes of 1 to 16 elements, every third twice as many: 11.33 on average. 3400 elements are some 300 tiles; each
// goes through every ring 7 times: more than 2,100 messages, or 260 times around 8 slots.
TEST(SlotWrap, TilesOfManyShapesArePassedOnRightly) {
  constexpr int kRanks = 8;
  for (const int slots : {2, 4, 8}) {
    SCOPED_TRACE(slots);
    World world("mixed_ring", mixed_ring, kRanks, slots, "on_last_use");
    const auto inputs = RandomArrays(23).small(kRanks, f16, 3400, -9, 9);
    PeArrays tensors;
    for (const auto& input : inputs) tensors.push_back({input});
    const auto sum = reduced(inputs, ReduceOp::SUM);
    for (const auto& result : world.simulated.run(tensors)) ASSERT_EQ(result[0], sum);
    EXPECT_GT(world.simulated.messages() / kRanks, 260 * 8);
    EXPECT_THAT(world.simulated.hazards(), IsEmpty());
  }
}

// A sender with credits on receipt writes the next tiles while those before are still to be stored; with credits on the
// last use it waits. The numbers are right in both: the hazard is what the hardware would not forgive.
TEST(SlotWrap, TilesThatAreKeptAreOverwrittenWithCreditsOnReceiptOnly) {
  for (const int slots : {1, 2, 4, 8})
    for (const char* credit : {"on_last_use", "on_recv"}) {
      SCOPED_TRACE(fmt::format("{} {}", slots, credit));
      World world("keep_all", keep_all, 2, slots, credit);
      const auto inputs = RandomArrays(29).wild(2, f16, 32 * 4 * slots);  // four times around
      const auto results = world.simulated.run({{inputs[0]}, {inputs[1]}});
      EXPECT_EQ(results[1][0], inputs[0]);
      if (credit == std::string("on_last_use"))
        EXPECT_THAT(world.simulated.hazards(), IsEmpty());
      else
        EXPECT_THAT(world.simulated.hazards(),
                    Contains(AllOf(HasSubstr("slot overwritten"), HasSubstr("wrap_test.cpp:"))));
    }
}

}  // namespace
}  // namespace kernbench::ccl::wrap_test
