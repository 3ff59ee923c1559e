// The first kernels, as plain functions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ccl/algorithms/algorithms.hpp"
#include "ccl/arrays.hpp"
#include "kernbench/error.hpp"
#include "kernbench/functional.hpp"

namespace kernbench::ccl::ring_test {
namespace {

using enum DType;
using ::testing::HasSubstr;

struct Case {
  void (*kernel)(tl::Context&, const Call&);
  int ranks = 4;
  ReduceOp op = ReduceOp::SUM;
  int slots = 4;
  Bytes slot_size = 64_B;
  bool in_slot = true;
};

FunctionalResult run(const Case& what, const Arrays& inputs) {
  FunctionalWorld world{
      .ranks = first_pes(what.ranks), .links = ring_1d(first_pes(what.ranks)), .tensors = {}};
  for (const auto& input : inputs) world.tensors.push_back({input});
  const auto kernel = [&](tl::Context& tl, const FunctionalRank& me) {
    what.kernel(tl, {.input = me.tensors[0],
                     .op = what.op,
                     .rank = me.rank,
                     .world_size = me.world_size,
                     .slots = what.slots});
  };
  return run_functional(kernel, world,
                        {.slot_size = what.slot_size, .slots = what.slots, .in_slot = what.in_slot});
}

TEST(HelloSend, HandsEveryTensorToTheNextRank) {
  for (const int ranks : {1, 2, 3, 7}) {
    const auto inputs = RandomArrays(1).wild(ranks, f16, 100);  // 4 pieces of at most 32 elements
    const auto result = run({.kernel = hello_send, .ranks = ranks}, inputs);
    for (int r = 0; r < ranks; ++r)
      EXPECT_EQ(result.tensors[static_cast<std::size_t>((r + 1) % ranks)][0],
                inputs[static_cast<std::size_t>(r)]);
    EXPECT_EQ(result.messages, ranks == 1 ? 0 : 4 * ranks);
    EXPECT_EQ(result.rounds, ranks == 1 ? 0 : 1);
  }
}

TEST(RingAllreduce, CombinesEverybodysTensors) {
  for (const int ranks : {1, 2, 3, 7, 64}) {
    for (const auto op : {ReduceOp::SUM, ReduceOp::MAX, ReduceOp::MIN, ReduceOp::AVG}) {
      const auto inputs = RandomArrays(2).small(ranks, f16, 100, -3, 3);
      const auto result = run({.kernel = ring_allreduce, .ranks = ranks, .op = op}, inputs);
      for (const auto& tensors : result.tensors) ASSERT_EQ(tensors[0], reduced(inputs, op)) << ranks;
      EXPECT_EQ(result.messages, 4 * ranks * (ranks - 1));  // 4 pieces
      EXPECT_EQ(result.rounds, ranks - 1);
      EXPECT_TRUE(result.unread.empty());
    }
  }
}

TEST(RingAllreduce, NeedsTwoSlotsBecauseItForwards) {
  const auto inputs = RandomArrays(3).small(5, f32, 200);
  for (const int slots : {2, 3, 8}) {
    const auto result = run({.kernel = ring_allreduce, .ranks = 5, .slots = slots}, inputs);
    EXPECT_EQ(result.tensors[3][0], reduced(inputs, ReduceOp::SUM));
  }
  EXPECT_EQ(run({.kernel = ring_allreduce, .ranks = 5, .slots = 1, .in_slot = false}, inputs).tensors[0][0],
            reduced(inputs, ReduceOp::SUM));
  try {
    run({.kernel = ring_allreduce, .ranks = 5, .slots = 1}, inputs);
    FAIL() << "one slot cannot be enough";
  } catch (const SimulationError& e) {
    EXPECT_THAT(e.what(), HasSubstr("ring_allreduce.cpp:"));
    EXPECT_THAT(e.what(), HasSubstr("1 held by live tiles"));
  }
}

TEST(RingAllreduce, CountsInOneDtypeOnly) {
  const auto truths = RandomArrays(4).small(3, i1, 8, 0, 1);
  EXPECT_EQ(run({.kernel = ring_allreduce, .ranks = 3, .op = ReduceOp::MAX}, truths).tensors[1][0],
            reduced(truths, ReduceOp::MAX));
  for (const auto& [dtype, op] : {std::pair(i1, ReduceOp::SUM), std::pair(i32, ReduceOp::AVG)}) {
    const auto inputs = RandomArrays(5).small(3, dtype, 8, 0, 1);
    try {
      run({.kernel = ring_allreduce, .ranks = 3, .op = op}, inputs);
      FAIL() << "this cannot be";
    } catch (const tl::KernelError& e) {
      EXPECT_EQ(e.id(), "tl.dtype");
      EXPECT_THAT(e.where(), HasSubstr("ring_allreduce.cpp:"));
      EXPECT_THAT(e.hint(), HasSubstr("cast"));
    }
  }
}

TEST(ReduceOps, AreFoundByName) {
  for (const auto op : {ReduceOp::SUM, ReduceOp::MAX, ReduceOp::MIN, ReduceOp::PROD, ReduceOp::AVG})
    EXPECT_EQ(parse_reduce_op(to_string(op)), op);
  EXPECT_THROW(parse_reduce_op("XOR"), InputError);
}

TEST(Average, DividesByCountsThatTheDtypeCannotHold) {
  // 257 is no bf16; the nearest that is, 256, would give 2400 / 256 = 9.375 and 150 / 256 = 0.5859375.
  const auto kernel = [](tl::Context& tl, tl::Ptr x) {
    tl.store(x, finished(tl, ReduceOp::AVG, tl.load(x, {2}, bf16), 257));
  };
  const auto sum = array_of(bf16, {2}, std::vector<double>{2400, 150});
  const auto result = run_functional(kernel, 1, "none", {sum});
  EXPECT_EQ(numbers(result.tensors[0][0]), (std::vector<double>{9.3125, 0.58203125}));  // of 9.338…, 0.5836…
}

}  // namespace
}  // namespace kernbench::ccl::ring_test
