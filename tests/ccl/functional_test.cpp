#include "kernbench/functional.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <source_location>

#include "data/numerics/gemm.hpp"
#include "kernbench/error.hpp"

namespace kernbench::ccl::functional_test {
namespace {

using enum DType;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Rank r's array is all r + 1.
std::vector<NdArray> ranks_plus_one(int ranks, std::int64_t n = 4) {
  std::vector<NdArray> out;
  for (int r = 0; r < ranks; ++r) {
    out.emplace_back(f32, Shape{n});
    for (auto& x : out.back().view<float>()) x = static_cast<float>(r + 1);
  }
  return out;
}

template <class E, class F>
E error_of(F run) {
  try {
    run();
  } catch (const E& e) {
    return e;
  }
  ADD_FAILURE() << "nothing was thrown";
  return E({.id = "none", .where = "", .what = "", .hint = ""});
}

int line_of(std::source_location at = std::source_location::current()) { return static_cast<int>(at.line()); }

void ring_sum(tl::Context& tl, tl::Ptr x, int, int world_size, int n) {
  auto sum = tl.load(x, {n}, f32);
  auto passing = sum;
  for (int round = 1; round < world_size; ++round) {
    tl.send("E", passing);
    passing = tl.recv("W", {n}, f32);
    sum += passing;
  }
  tl.store(x, sum);
}

TEST(FunctionalRunner, ComputesAKernelOnAllRanks) {
  const auto result = run_functional(ring_sum, 3, "ring_1d", ranks_plus_one(3), 4);
  for (const auto& tensors : result.tensors) EXPECT_THAT(tensors[0].view<float>(), ElementsAre(6, 6, 6, 6));
  EXPECT_EQ(result.messages, 6);  // 3 ranks × 2 rounds
  EXPECT_EQ(result.bytes, 96_B);  // of 16 bytes
  EXPECT_EQ(result.busiest_link, 32_B);
  EXPECT_EQ(result.rounds, 2);
  EXPECT_THAT(result.unread, IsEmpty());
  EXPECT_EQ(result.programs.size(), 3u);
}

TEST(FunctionalRunner, CallsKernelsThatDoNotAskForTheirRank) {
  const auto doubled = [](tl::Context& tl, tl::Ptr x, int n) { tl.store(x, tl.load(x, {n}, f32) * 2); };
  const auto result = run_functional(doubled, 2, "none", ranks_plus_one(2), 4);
  EXPECT_THAT(result.tensors[1][0].view<float>(), ElementsAre(4, 4, 4, 4));
  EXPECT_EQ(result.messages, 0);
}

TEST(FunctionalRunner, TellsProgramIdsAndShards) {
  const auto kernel = [](tl::Context& tl, const FunctionalRank& me) {
    const auto& shard = tl.shard(me.tensors[1]);
    EXPECT_EQ(shard.shape, (Shape{2, 2}));
    tl.store(shard.ptr,
             tl.full({2, 2}, 100 * tl.program_id(2) + 10 * tl.program_id(1) + tl.program_id(0), f32));
    EXPECT_EQ(tl.num_programs(1), 6);
  };
  const FunctionalWorld world{
      .ranks = {{0, 5, 3}, {1, 0, 2}},
      .links = {},
      .tensors = {{NdArray(i8, {3}), NdArray(f32, {2, 2})}, {NdArray(i8, {3}), NdArray(f32, {2, 2})}}};
  const auto result = run_functional(kernel, world);
  EXPECT_THAT(result.tensors[0][1].view<float>(), ElementsAre(53, 53, 53, 53));
  EXPECT_THAT(result.tensors[1][1].view<float>(), ElementsAre(102, 102, 102, 102));
}

TEST(FunctionalRunner, DoesMasksScalarsProductsAndPlacedReceives) {
  const auto kernel = [](tl::Context& tl, const FunctionalRank& me) {
    const auto x = me.tensors[0];
    const int n = tl.load_scalar<std::int32_t>(me.tensors[1]);
    EXPECT_EQ(n, 3);
    const auto some = tl.load(x, {4}, f32, {.mask = tl.arange(0, 4) < n, .other = 9});
    tl.send("E", some);
    tl.recv("W", {4}, f32, {.dst_addr = x});
    tl.composite("gemm", tl.ref(x, {2, 2}, f32), tl.ref(x, {2, 2}, f32), tl.ref(me.tensors[2], {2, 2}, f32));
    tl.fence();
  };
  FunctionalWorld world{.ranks = first_pes(2), .links = ring_1d(first_pes(2)), .tensors = {}};
  for (int r = 0; r < 2; ++r)
    world.tensors.push_back(
        {NdArray::of<float>({4}, {1, 2, 3, 4}), NdArray::of<std::int32_t>({1}, {3}), NdArray(f32, {2, 2})});
  const auto result = run_functional(kernel, world);
  EXPECT_THAT(result.tensors[1][0].view<float>(), ElementsAre(1, 2, 3, 9));
  EXPECT_THAT(result.tensors[1][2].view<float>(), ElementsAre(7, 20, 30, 87));  // ((1 2)(3 9))²
}

TEST(FunctionalRunner, SendsWhatAReferenceHoldsAtThatCommand) {
  const auto kernel = [](tl::Context& tl, const FunctionalRank& me) {
    const auto x = me.tensors[0];
    tl.send("E", tl.ref(x, {2, 1}, f32, {2, 1}));
    tl.store(x, tl.full({4}, 7.0, f32));
    tl.store(x, tl.recv("W", {2, 1}, f32));
  };
  FunctionalWorld world{.ranks = first_pes(2), .links = ring_1d(first_pes(2)), .tensors = {}};
  for (int r = 0; r < 2; ++r)
    world.tensors.push_back({NdArray::of<float>({4}, {1.0F + 10.0F * static_cast<float>(r), 2, 3, 4})});
  const auto result = run_functional(kernel, world);
  EXPECT_THAT(result.tensors[0][0].view<float>(), ElementsAre(11, 3, 7, 7));
  EXPECT_THAT(result.tensors[1][0].view<float>(), ElementsAre(1, 3, 7, 7));
}

TEST(FunctionalRunner, CountsRoundsByWhatMessagesCarry) {
  // Two messages of each rank that have nothing to do with each other: one round.
  const auto independent = [](tl::Context& tl, tl::Ptr x) {
    for (int i = 0; i < 2; ++i) {
      tl.send("E", tl.load(x, {4}, f32));
      tl.recv("W", {4}, f32);
    }
  };
  EXPECT_EQ(run_functional(independent, 2, "ring_1d", ranks_plus_one(2)).rounds, 1);
  const auto through_math = [](tl::Context& tl, tl::Ptr x) {
    tl.send("E", tl.load(x, {4}, f32));
    const auto other = tl.recv("W", {4}, f32);
    tl.send("E", other.slice({{0, 2}}) * 2);
    tl.recv("W", {2}, f32);
  };
  EXPECT_EQ(run_functional(through_math, 2, "ring_1d", ranks_plus_one(2)).rounds, 2);
}

TEST(FunctionalRunner, NamesWhoWaitsForWhomInACycle) {
  int line = 0;
  const auto kernel = [&](tl::Context& tl, tl::Ptr) { tl.recv("W", {4}, f32), line = line_of(); };
  const auto error =
      error_of<SimulationError>([&] { run_functional(kernel, 3, "ring_1d", ranks_plus_one(3)); });
  EXPECT_EQ(error.id(), "functional.deadlock");
  EXPECT_THAT(
      error.what(),
      AllOf(HasSubstr(fmt::format("rank 0 (sip0.cube0.pe0) waits at functional_test.cpp:{}: recv W for a "
                                  "message of rank 2",
                                  line)),
            HasSubstr("in a cycle: ranks 0 → 2 → 1")));
}

TEST(FunctionalRunner, SaysWhenTheAwaitedRankHasEnded) {
  const auto kernel = [](tl::Context& tl, tl::Ptr, int rank, int) {
    if (rank == 1) tl.recv("W", {4}, f32);
  };
  const auto error =
      error_of<SimulationError>([&] { run_functional(kernel, 2, "ring_1d", ranks_plus_one(2)); });
  EXPECT_THAT(error.what(), AllOf(HasSubstr("rank 1 (sip0.cube0.pe1) waits"),
                                  HasSubstr("rank 0 (sip0.cube0.pe0) has ended")));
  EXPECT_THAT(error.what(), ::testing::Not(HasSubstr("cycle")));
}

TEST(FunctionalRunner, NamesOneOfManyThatWaitAlike) {
  int line = 0, odd_line = 0;
  const auto kernel = [&](tl::Context& tl, tl::Ptr, int rank, int) {
    if (rank == 40)
      tl.recv("E", {4}, f32), odd_line = line_of();
    else
      tl.recv("W", {4}, f32), line = line_of();
  };
  const auto error =
      error_of<SimulationError>([&] { run_functional(kernel, 64, "ring_1d", ranks_plus_one(64)); });
  EXPECT_EQ(
      error.message(),
      fmt::format(
          "no rank can go on\n"
          "  rank 0 (sip0.cube0.pe0) waits at functional_test.cpp:{}: recv W for a message of rank 63; "
          "there wait 62 more: 1-39, 41-63\n"
          "  rank 40 (sip0.cube5.pe0) waits at functional_test.cpp:{}: recv E for a message of rank 41\n"
          "  in a cycle: ranks 41 → 40",
          line, odd_line));
}

TEST(FunctionalRunner, CutsALongCycleAndTheListOfThoseThatHaveEnded) {
  const auto circle = [](tl::Context& tl, tl::Ptr) { tl.recv("E", {4}, f32); };
  const auto error =
      error_of<SimulationError>([&] { run_functional(circle, 64, "ring_1d", ranks_plus_one(64)); });
  EXPECT_THAT(error.message(),
              ::testing::EndsWith("in a cycle: ranks 0 → 1 → 2 → 3 → 4 → 5 → 6 → 7 → 8 → 9 → 10 → 11 "
                                  "→ 12 → 13 → 14 → 15 → … (64 ranks)"));
  const auto odd_ends = [](tl::Context& tl, tl::Ptr, int rank, int) {
    if (rank % 2 == 0) tl.recv("E", {4}, f32);
  };
  const auto ended =
      error_of<SimulationError>([&] { run_functional(odd_ends, 64, "ring_1d", ranks_plus_one(64)); });
  EXPECT_THAT(ended.message(), HasSubstr("there wait 31 more: 2, 4, 6, 8, 10, 12, 14, 16, … (31 in all)"));
  EXPECT_THAT(ended.message(), HasSubstr("\n  ranks 1, 3, 5, 7, 9, 11, 13, 15, … (32 in all) have ended"));
}

FunctionalResult forwarding_ring(int slots, bool in_slot) {
  const int ranks = 4;
  FunctionalWorld world{.ranks = first_pes(ranks), .links = ring_1d(first_pes(ranks)), .tensors = {}};
  for (auto& input : ranks_plus_one(ranks)) world.tensors.push_back({input});
  const auto kernel = [](tl::Context& tl, const FunctionalRank& me) {
    ring_sum(tl, me.tensors[0], me.rank, me.world_size, 4);
  };
  return run_functional(kernel, world, {.kernel = "ring_sum", .slots = slots, .in_slot = in_slot});
}

TEST(FunctionalRunner, CountsSlotsThatLiveTilesHold) {
  EXPECT_EQ(forwarding_ring(2, true).tensors[0][0].view<float>()[0], 10);
  EXPECT_EQ(forwarding_ring(1, false).tensors[0][0].view<float>()[0], 10);
  // With one slot every rank's slot holds the tile it is about to forward.
  const auto error = error_of<SimulationError>([] { forwarding_ring(1, true); });
  EXPECT_THAT(error.what(),
              AllOf(HasSubstr("kernel 'ring_sum'"),
                    HasSubstr("send E for a free slot at rank 1 (0 unread, 1 held by live tiles)"),
                    HasSubstr("in a cycle: ranks 0 → 1 → 2 → 3")));
}

// The second of two slots is free and the first is held: the third message would go into the first.
TEST(FunctionalRunner, FillsSlotsInTurn) {
  FunctionalWorld world{.ranks = first_pes(2), .links = ring_1d(first_pes(2)), .tensors = {}};
  for (auto& input : ranks_plus_one(2)) world.tensors.push_back({input});
  const auto run = [&](bool in_turn) {
    const auto kernel = [in_turn](tl::Context& tl, const FunctionalRank& me) {
      const auto mine = me.tensors[0];
      if (me.rank == 0)
        for (int i = 0; i < 3; ++i) tl.send("E", tl.load(mine, {4}, f32));
      if (me.rank == 0) return;
      const auto first = tl.recv("W", {4}, f32), second = tl.recv("W", {4}, f32);
      tl.store(mine, in_turn ? first : second);
      const auto third = tl.recv("W", {4}, f32);
      tl.store(mine, third + (in_turn ? second : first));
    };
    return run_functional(kernel, world, {.slots = 2, .in_slot = true});
  };
  EXPECT_EQ(run(true).tensors[1][0].view<float>()[0], 2);
  EXPECT_THAT(error_of<SimulationError>([&] { run(false); }).what(),
              HasSubstr("send E for a free slot at rank 1 (0 unread, 2 held by live tiles)"));
}

TEST(FunctionalRunner, RecvAnyTakesDirectionsInTurnUnlessItsOrderIsGiven) {
  const auto kernel = [](tl::Context& tl, const FunctionalRank& me) {
    if (me.rank > 0) return void(tl.send("parent", tl.load(me.tensors[0], {4}, f32)));
    const auto first = tl.recv_any({4}, f32);
    const auto second = tl.recv_any({4}, f32);
    tl.store(me.tensors[0], first - second);
  };
  FunctionalWorld world{.ranks = first_pes(3), .links = tree_binary(first_pes(3)), .tensors = {}};
  for (auto& input : ranks_plus_one(3)) world.tensors.push_back({input});
  const auto in_turn = run_functional(kernel, world);
  EXPECT_EQ(in_turn.tensors[0][0].view<float>()[0], -1);  // child_left: 2, then child_right: 3
  const auto error = error_of<InputError>([&] {
    run_functional(kernel, world, {.any_order = {{0, {"child_left"}}}});
  });
  EXPECT_EQ(error.id(), "functional.any-order");
  EXPECT_THAT(error.hint(), HasSubstr("any_order[0]"));
  const auto left_first = run_functional(kernel, world, {.any_order = {{0, {"child_left", "child_right"}}}});
  EXPECT_EQ(left_first.tensors[0][0].view<float>()[0], -1);  // 2 − 3
  const auto right_first = run_functional(kernel, world, {.any_order = {{0, {"child_right", "child_left"}}}});
  EXPECT_EQ(right_first.tensors[0][0].view<float>()[0], 1);
  EXPECT_EQ(error_of<InputError>([&] {
              run_functional(kernel, world, {.any_order = {{0, {"up"}}}});
            }).id(),
            "functional.any-order");
}

// Everybody asks first and sends then: with `recv` nobody would go on.
TEST(FunctionalRunner, AnAsyncReceiveLetsTheRankGoOnToItsSend) {
  const auto kernel = [](tl::Context& tl, tl::Ptr x) {
    const auto came = tl.recv_async("W", {4}, f32);
    tl.send("E", tl.load(x, {4}, f32));
    tl.store(x, tl.wait(came));
  };
  const auto result = run_functional(kernel, 3, "ring_1d", ranks_plus_one(3));
  for (std::size_t r = 0; r < 3; ++r)
    EXPECT_EQ(result.tensors[r][0].view<float>()[0], static_cast<float>((r + 2) % 3 + 1));
}

TEST(FunctionalRunner, ATileReceivedAsyncIsWaitedForWhereItIsUsed) {
  const auto kernel = [](tl::Context& tl, tl::Ptr x) {
    const auto came = tl.recv_async("W", {4}, f32);
    tl.send("E", tl.load(x, {4}, f32));
    tl.store(x, came + 10);
  };
  const auto result = run_functional(kernel, 2, "ring_1d", ranks_plus_one(2));
  EXPECT_EQ(result.tensors[0][0].view<float>()[0], 12);
  EXPECT_EQ(result.tensors[1][0].view<float>()[0], 11);
}

// Two async receives and a plain one from one direction take its messages in program order, whichever tile is used first.
TEST(FunctionalRunner, AsyncReceivesOfADirectionTakeMessagesInOrder) {
  const auto kernel = [](tl::Context& tl, tl::Ptr x, int rank, int) {
    if (rank == 1) {
      for (int i = 1; i <= 3; ++i) tl.send("W", tl.full({4}, i, f32));
      return;
    }
    const auto first = tl.recv_async("E", {4}, f32), second = tl.recv_async("E", {4}, f32);
    const auto third = tl.recv("E", {4}, f32);
    tl.store(x, third * 100 + second * 10 + first);
  };
  const auto result = run_functional(kernel, 2, "ring_1d", ranks_plus_one(2));
  EXPECT_EQ(result.tensors[0][0].view<float>()[0], 321);
}

// The load of the bytes to which the tile goes, a fence and the end of the program wait for it.
TEST(FunctionalRunner, WhatNeedsAnAsyncReceiveWaitsForIt) {
  const auto kernel = [](tl::Context& tl, const FunctionalRank& me) {
    const auto x = me.tensors[0], y = me.tensors[1], z = me.tensors[2];
    if (me.rank == 1) {
      tl.recv("W", {4}, f32);
      for (int i = 1; i <= 3; ++i) tl.send("W", tl.full({4}, i, f32));
      return;
    }
    tl.recv_async("E", {4}, f32, {.dst_addr = x});
    tl.send("E", tl.zeros({4}, f32));
    tl.store(y, tl.load(x, {4}, f32));
    tl.recv_async("E", {4}, f32, {.dst_addr = z});
    tl.fence();
    tl.recv_async("E", {4}, f32, {.dst_addr = x});
  };
  FunctionalWorld world{.ranks = first_pes(2), .links = ring_1d(first_pes(2)), .tensors = {}};
  for (int r = 0; r < 2; ++r)
    world.tensors.push_back({NdArray(f32, {4}), NdArray(f32, {4}), NdArray(f32, {4})});
  const auto result = run_functional(kernel, world);
  EXPECT_EQ(result.tensors[0][0].view<float>()[0], 3);
  EXPECT_EQ(result.tensors[0][1].view<float>()[0], 1);
  EXPECT_EQ(result.tensors[0][2].view<float>()[0], 2);
}

// With one slot, rank 0's second message can go when rank 1 has taken the first into memory, while that waits itself.
TEST(FunctionalRunner, AnAsyncReceiveFreesItsSlotWhileTheRankWaits) {
  const auto kernel = [](tl::Context& tl, const FunctionalRank& me) {
    if (me.rank == 0) {
      tl.send("E", tl.zeros({4}, f32));
      tl.send("E", tl.zeros({4}, f32));
      tl.send("E", tl.zeros({4}, f32));
      return;
    }
    const auto first = tl.recv_async("W", {4}, f32, {.dst_addr = me.tensors[0]});
    tl.recv_async("W", {4}, f32, {.dst_addr = me.tensors[0]});
    tl.recv("W", {4}, f32);
    tl.wait(first);
  };
  FunctionalWorld world{.ranks = first_pes(2), .links = ring_1d(first_pes(2)), .tensors = {}};
  for (int r = 0; r < 2; ++r) world.tensors.push_back({NdArray(f32, {4})});
  EXPECT_EQ(run_functional(kernel, world, {.slots = 1}).messages, 3);
}

TEST(FunctionalRunner, NamesTheAsyncReceiveThatIsWaitedForInVain) {
  int line = 0;
  const auto kernel = [&](tl::Context& tl, tl::Ptr x) {
    const auto came = tl.recv_async("W", {4}, f32);
    line = line_of() - 1;
    tl.send("E", came);
    tl.store(x, came);
  };
  const auto error =
      error_of<SimulationError>([&] { run_functional(kernel, 2, "ring_1d", ranks_plus_one(2)); });
  EXPECT_EQ(error.id(), "functional.deadlock");
  EXPECT_THAT(error.what(),
              HasSubstr(fmt::format("functional_test.cpp:{}: recv_async W for a message of rank 1", line)));
}

TEST(FunctionalRunner, RefusesMessagesThatDoNotFit) {
  const auto kernel = [](tl::Context& tl, tl::Ptr x) {
    tl.send("E", tl.load(x, {4}, f32));
    tl.recv("W", {2}, f32);
  };
  const auto error =
      error_of<SimulationError>([&] { run_functional(kernel, 2, "ring_1d", ranks_plus_one(2)); });
  EXPECT_EQ(error.id(), "functional.message");
  EXPECT_THAT(error.what(), AllOf(HasSubstr("receives a tile of 8 B, but 16 B was sent by kernel"),
                                  HasSubstr("functional_test.cpp:")));
}

TEST(FunctionalRunner, ListsMessagesNobodyReceived) {
  int line = 0;
  const auto kernel = [&](tl::Context& tl, tl::Ptr x, int rank, int) {
    if (rank == 0) tl.send("E", tl.load(x, {4}, f32)), line = line_of();
  };
  const auto result = run_functional(kernel, 2, "ring_1d", ranks_plus_one(2));
  ASSERT_EQ(result.unread.size(), 1u);
  EXPECT_THAT(result.unread[0], AllOf(HasSubstr("rank 1 never received from W"),
                                      HasSubstr(fmt::format("functional_test.cpp:{}", line))));
}

// As a program finds them that passes one pointer to all ranks.
TEST(FunctionalRunner, HasTheTensorsOfTheRanksEndToEnd) {
  const auto kernel = [](tl::Context& tl, const FunctionalRank& me) {
    const auto mine = me.tensors[0] + me.rank * 16;
    EXPECT_EQ(tl.shard(me.tensors[0]).ptr, mine);
    tl.store(mine, tl.load(mine, {4}, f32) * 10);
    tl.store(me.tensors[1] + me.rank * 3, tl.full({3}, me.rank, i8));
  };
  FunctionalWorld world{.ranks = first_pes(3), .links = {}, .tensors = {}, .common_pointers = true};
  for (auto& input : ranks_plus_one(3)) world.tensors.push_back({input, NdArray(i8, {3})});
  const auto result = run_functional(kernel, world);
  for (std::size_t r = 0; r < 3; ++r) {
    const auto number = static_cast<float>(10 * (r + 1));
    EXPECT_THAT(result.tensors[r][0].view<float>(), ElementsAre(number, number, number, number));
    EXPECT_EQ(result.tensors[r][1].view<std::int8_t>()[2], static_cast<std::int8_t>(r));
  }
  world.common_pointers = false;  // each its own
  const auto own = [](tl::Context& tl, const FunctionalRank& me) {
    EXPECT_EQ(tl.shard(me.tensors[0]).ptr, me.tensors[0]);
    tl.store(me.tensors[0], tl.full({4}, me.rank, f32));
  };
  EXPECT_EQ(run_functional(own, world).tensors[2][0].view<float>()[0], 2);
}

TEST(FunctionalRunner, KeepsRanksToTheirOwnTensors) {
  const auto beyond = [](tl::Context& tl, tl::Ptr x) { tl.load(x + 4, {4}, f32); };
  const auto error = error_of<SimulationError>([&] { run_functional(beyond, 2, "none", ranks_plus_one(2)); });
  EXPECT_EQ(error.id(), "functional.memory");
  EXPECT_THAT(error.what(), HasSubstr("lie in no tensor of rank 0"));
  const auto wild = [](tl::Context& tl, tl::Ptr) { tl.store(tl::Ptr(1ull << 60), tl.zeros({4}, f32)); };
  EXPECT_EQ(error_of<SimulationError>([&] { run_functional(wild, 2, "none", ranks_plus_one(2)); }).id(),
            "functional.memory");
}

TEST(FunctionalRunner, RefusesDirectionsAndSizesThatAreNotThere) {
  const auto kernel = [](tl::Context& tl, const FunctionalRank& me) {
    tl.send("E", tl.load(me.tensors[0], {4}, f32));
  };
  FunctionalWorld world{
      .ranks = first_pes(2), .links = {}, .tensors = {{NdArray(f32, {4})}, {NdArray(f32, {4})}}};
  EXPECT_EQ(error_of<tl::KernelError>([&] { run_functional(kernel, world); }).id(), "tl.direction");
  world.links = ring_1d(world.ranks);
  EXPECT_EQ(error_of<tl::KernelError>([&] { run_functional(kernel, world, {.slot_size = 8_B}); }).id(),
            "tl.slot");
  world.links = ring_1d(first_pes(3));
  EXPECT_EQ(error_of<InputError>([&] { run_functional(kernel, world); }).id(), "functional.world");
  world.links = {};
  world.tensors.pop_back();
  EXPECT_EQ(error_of<InputError>([&] { run_functional(kernel, world); }).id(), "functional.world");
  world.tensors.push_back({});
  world.ranks[1] = world.ranks[0];
  EXPECT_EQ(error_of<InputError>([&] { run_functional(kernel, world); }).id(), "functional.world");
}

}  // namespace
}  // namespace kernbench::ccl::functional_test
