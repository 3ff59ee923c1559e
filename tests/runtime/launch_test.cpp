#include <set>

#include "kernbench/program.hpp"
#include "runtime/engine.hpp"
#include "runtime/host_world.hpp"

namespace kernbench::runtime::launch_test {
namespace {

const DPPolicy kColumns{.cube = Split::column_wise, .pe = Split::column_wise};

/// What each instance of a kernel saw.
struct Seen {
  int id[3], count[3];
  friend bool operator==(const Seen&, const Seen&) = default;
};
using Sightings = std::vector<Seen>;
void look(tl::Context& tl, tl::Ptr, Sightings* seen) {
  seen->push_back({{tl.program_id(0), tl.program_id(1), tl.program_id(2)},
                   {tl.num_programs(0), tl.num_programs(1), tl.num_programs(2)}});
}

TEST(Launches, RunOnThePesThatHoldAShard) {
  Torch torch(load());
  torch.ahbm.set_device(1);
  Tensor x = torch.empty(
      {24}, f16, DPPolicy{.cube = Split::row_wise, .pe = Split::row_wise, .num_cubes = 3, .num_pes = 4});
  Sightings seen;
  torch.launch("look", look, x, &seen);
  ASSERT_EQ(seen.size(), 12u);
  for (int i = 0; i < 12; ++i)
    EXPECT_EQ(seen[static_cast<std::size_t>(i)],
              (Seen{{i % 4, i / 4, 1}, {4, 3, 2}}));  // 2 SIPs in the machine
}

TEST(Launches, AGridChoosesOtherPes) {
  Torch torch(load());
  Tensor x = torch.empty({24}, f16);
  Sightings seen;
  torch.launch({"look", Grid{2, 5}}, look, x, &seen);
  ASSERT_EQ(seen.size(), 10u);
  EXPECT_EQ(seen.back(), (Seen{{1, 4, 0}, {2, 5, 2}}));
  seen.clear();
  torch.launch("look", look, x, &seen);  // whole, on cube 0, PE 0
  EXPECT_EQ(seen, (Sightings{{{0, 0, 0}, {1, 1, 2}}}));
}

TEST(Launches, AGridMayBeginAnywhereAndPesMayBeListed) {
  Torch torch(load());
  Tensor x =
      torch.empty({24}, f16, DPPolicy{.cube = Split::row_wise, .pe = Split::row_wise}.on({3, 5}, {2, 6}));
  Sightings seen;
  torch.launch("look", look, x, &seen);  // where its shards are: cubes 3 and 4, PEs 2 to 5
  ASSERT_EQ(seen.size(), 8u);
  EXPECT_EQ(seen.front(), (Seen{{2, 3, 0}, {4, 2, 2}}));
  EXPECT_EQ(seen.back(), (Seen{{5, 4, 0}, {4, 2, 2}}));
  seen.clear();
  torch.launch({"look", Grid{2, 1, {15, 6}}}, look, x, &seen);
  EXPECT_EQ(seen, (Sightings{{{6, 15, 0}, {2, 1, 2}}, {{7, 15, 0}, {2, 1, 2}}}));
  seen.clear();
  torch.launch({"look", {}, {{9, 1}, {2, 7}, {9, 0}}}, look, x, &seen);  // one PE of cube 2, two of cube 9
  EXPECT_EQ(seen, (Sightings{{{7, 2, 0}, {1, 2, 2}}, {{0, 9, 0}, {2, 2, 2}}, {{1, 9, 0}, {2, 2, 2}}}));
}

TEST(Launches, PesThatDoNotExistOrAreNamedTwiceAreRefused) {
  Torch torch(small());
  Tensor x = torch.empty({24}, f16);
  Sightings seen;
  const auto refusal = [&](LaunchOptions options) {
    return complaint([&] { torch.launch(options, look, x, &seen); });
  };
  EXPECT_THAT(refusal({"look", Grid{2, 2, {3, 0}}}), HasSubstr("2 PEs × 2 cubes from cube 3 PE 0 on"));
  EXPECT_THAT(refusal({"look", Grid{1, 1, {0, -1}}}), HasSubstr("from cube 0 PE -1 on"));
  EXPECT_THAT(refusal({"look", {}, {{0, 8}}}), HasSubstr("from cube 0 PE 8 on"));
  EXPECT_THAT(refusal({"look", {}, {{1, 2}, {1, 2}}}), HasSubstr("cube 1 PE 2 is in the list of PEs twice"));
  EXPECT_THAT(refusal({"look", Grid{1, 1}, {{1, 2}}}), HasSubstr("a grid and a list of PEs"));
  EXPECT_TRUE(seen.empty());
}

TEST(Launches, EveryGridAndEverySubsetHasItsOwnNumbers) {
  Torch torch(small());
  for (int pes = 1; pes <= 8; ++pes)
    for (int cubes = 1; cubes <= 4; ++cubes) {
      Sightings expected, by_grid, by_shards;
      for (int cube = 0; cube < cubes; ++cube)
        for (int pe = 0; pe < pes; ++pe) expected.push_back({{pe, cube, 0}, {pes, cubes, 1}});
      Tensor whole = torch.empty({1}, f16);
      Tensor spread = torch.empty({cubes, pes}, f16,
                                  DPPolicy{.cube = Split::row_wise,
                                           .pe = Split::column_wise,
                                           .num_cubes = cubes,
                                           .num_pes = pes,
                                           .tile = {}});
      torch.launch({"look", Grid{pes, cubes}}, look, whole, &by_grid);
      torch.launch("look", look, spread, &by_shards);
      EXPECT_EQ(by_grid, expected);
      EXPECT_EQ(by_shards, expected);
    }
}

TEST(Launches, SeveralTensorsRunOnTheUnionOfTheirPes) {
  Torch torch(small());
  Tensor x = torch.empty({8}, f16, DPPolicy{.pe = Split::row_wise, .num_cubes = 1}, "x");
  Tensor y = torch.empty({4}, f16, DPPolicy{.cube = Split::row_wise, .num_pes = 1}, "y");
  Sightings seen;
  const auto two = [](tl::Context& tl, tl::Ptr a, tl::Ptr, Sightings* s) { look(tl, a, s); };
  EXPECT_THAT(complaint([&] { torch.launch("two", two, x, y, &seen); }),
              HasSubstr("launch 'two': the PEs that hold shards reach from cube 0 PE 0 to cube 3 PE 7, but "
                        "cube 1 PE 1 holds none"));
  EXPECT_THAT(complaint([&] { torch.launch("two", two, x, y, &seen); }), HasSubstr("grid"));
  EXPECT_TRUE(seen.empty());
  torch.launch({"two", Grid{8, 4}}, two, x, y, &seen);
  EXPECT_EQ(seen.size(), 32u);
}

TEST(Launches, WhatCannotRunIsRefused) {
  Torch torch(load());
  Tensor here = torch.empty({8}, f16, {}, "here");
  torch.ahbm.set_device(1);
  Tensor there = torch.empty({8}, f16, {}, "there");
  const auto two = [](tl::Context&, tl::Ptr, tl::Ptr) {};
  EXPECT_THAT(complaint([&] { torch.launch("two", two, here, there); }),
              HasSubstr("the current device is 1, but there are tensors elsewhere: 'here' on sip0"));
  const auto none = [](tl::Context&) {};
  EXPECT_THAT(complaint([&] { torch.launch("none", none); }), HasSubstr("no argument is a tensor"));
  EXPECT_THAT(complaint([&] {
                torch.launch({"none", Grid{9, 1}}, none);
              }),
              HasSubstr("a grid of 9 PEs × 1 cubes"));
  EXPECT_THAT(complaint([&] { torch.launch({"none", Grid{1, 0}}, none); }), HasSubstr("8 PEs × 16 cubes"));
  const auto send = [](tl::Context& tl, tl::Ptr x) { tl.send("E", tl.load(x, {8}, f16)); };
  EXPECT_THAT(complaint([&] { torch.launch("send", send, there); }), HasSubstr("not wired to any queue"));
  EXPECT_THAT(complaint([&] { torch.launch("two", two, there, Tensor()); }),
              HasSubstr("tensor.none launch 'two': a tensor argument is none"));
  EXPECT_TRUE(torch.traces().empty());
  torch.launch({"none", Grid{8, 16}}, none);
  torch.synchronize();
}

void keep_numbers(tl::Context&, tl::Ptr, std::int64_t a, int b, float c, const std::string& d,
                  std::vector<double>* kept) {
  *kept = {static_cast<double>(a), static_cast<double>(b), c, static_cast<double>(d.size())};
}

// A number that equals an extent of a tensor, split over PEs or not, is still that number.
TEST(Launches, NumbersEqualToAnExtentArePassedUnchanged) {
  Torch torch(small());
  Tensor x = torch.empty({32, 64}, f16, kColumns);
  std::vector<double> kept;
  torch.launch("keep", keep_numbers, x, 64, 32, 2.5f, std::string("word"), &kept);
  EXPECT_EQ(kept, (std::vector<double>{64, 32, 2.5, 4}));
}

TEST(Launches, AKernelThatFailsLeavesNothingBehind) {
  Torch torch(small());
  Tensor x = torch.zeros({32}, f16, kColumns);
  const auto fails = [](tl::Context& tl, tl::Ptr p) {
    tl.load(p, {1}, f16);
    if (tl.program_id(0) == 5) tl.load(p, {-1}, f16);
  };
  EXPECT_THROW(torch.launch("fails", fails, x), tl::KernelError);
  torch.synchronize();
  EXPECT_EQ(torch.traces().size(), 2u);  // map and write
  EXPECT_EQ(torch.log().summary().total.dma_read.count, 0u);
}

TEST(Launches, ATensorGivenTwiceHasItsShardsOnce) {
  Torch torch(small());
  Tensor x = torch.from_numpy(counting({32}), kColumns);
  torch.launch(
      "twice",
      [](tl::Context& tl, tl::Ptr a, tl::Ptr b) {
        EXPECT_EQ(a, b);
        tl.store(tl.shard(a).ptr, tl.load(tl.shard(b).ptr, {1}, i32) * 3);
      },
      x, x);
  NdArray expected = counting({32});
  for (auto& v : expected.view<std::int32_t>()) v *= 3;
  EXPECT_EQ(x.numpy(), expected);
}

// ── load_scalar ──

void repeat(tl::Context& tl, tl::Ptr x, tl::Ptr times) {
  auto tile = tl.load(x, {16}, i32);
  for (int i = tl.load_scalar<std::int32_t>(times + 4); i > 0; --i) tile = tile * 2;
  tl.store(x, tile);
}

void write_scalar(tl::Context& tl, tl::Ptr times, int value) { tl.store(times, tl.full({2}, value, i32)); }

TEST(Launches, AScalarIsWhatTheHostWroteLastAndNobodyWaits) {
  for (const bool data : {true, false}) {
    Torch torch(small(), {.data = data});
    Tensor x = torch.from_numpy(filled({16}, 1)), times = torch.from_numpy(filled({2}, 3));
    torch.launch("repeat", repeat, x, times);
    times[{{1, 2}}].fill_(1);
    const Handle second = torch.launch("repeat", repeat, x, times);
    EXPECT_EQ(torch.now(), 0_ps);
    torch.wait(second);
    EXPECT_EQ(torch.log().summary().total.math.count, 4u);
    if (!data) continue;
    EXPECT_EQ(x.numpy(), filled({16}, 16));  // 2³ · 2
  }
}

TEST(Launches, AScalarThatALaunchWroteIsWaitedFor) {
  Torch torch(small());
  Tensor x = torch.from_numpy(filled({16}, 1)), times = torch.from_numpy(filled({2}, 3));
  const Handle writer = torch.launch("write", write_scalar, times, 2);
  torch.launch("repeat", repeat, x, times);
  EXPECT_TRUE(writer.done());
  EXPECT_EQ(torch.now(), writer.trace().submitted + writer.trace().queued + writer.trace().total);
  EXPECT_EQ(x.numpy(), filled({16}, 4));
  EXPECT_TRUE(torch.hazards().empty());
}

TEST(Launches, AScalarOfALargeTensorIsRead) {
  Torch torch(small());
  Tensor x = torch.from_numpy(filled({16}, 1)), times = torch.full({1 << 20}, 2, i32);  // 4 MiB
  torch.launch("repeat", repeat, x, times);
  EXPECT_EQ(x.numpy(), filled({16}, 4));
}

TEST(Launches, AScalarNobodyCanKnowIsRefusedAtItsLine) {
  Torch torch(small(), {.data = false});
  Tensor x = torch.from_numpy(filled({16}, 1)), times = torch.from_numpy(filled({2}, 3), {}, "times");
  torch.launch("write", write_scalar, times, 2);
  const std::string text = complaint([&] { torch.launch("repeat", repeat, x, times); });
  EXPECT_THAT(text, HasSubstr("kernel 'repeat' on sip0.cube0.pe0, launch_test.cpp:"));
  EXPECT_THAT(text, HasSubstr("tensor 'times'"));
  EXPECT_THAT(text, HasSubstr("data is off"));
  const auto beyond = [](tl::Context& tl, tl::Ptr p) { tl.load_scalar<std::int32_t>(p + 4096); };
  EXPECT_THAT(complaint([&] { torch.launch("beyond", beyond, x); }), HasSubstr("no tensor of its SIP is at"));
}

TEST(Launches, AScalarNobodyWroteIsRefused) {
  Torch torch(small());
  Tensor x = torch.empty({2}, i32, {}, "blank");
  const auto read = [](tl::Context& tl, tl::Ptr p) { tl.load_scalar<std::int32_t>(p); };
  EXPECT_THAT(complaint([&] { torch.launch("read", read, x); }), HasSubstr("blank"));
}

}  // namespace
}  // namespace kernbench::runtime::launch_test
