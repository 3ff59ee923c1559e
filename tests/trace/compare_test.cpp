#include "trace/random_run.hpp"

namespace kernbench::trace::compare_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> shown(const std::vector<Change>& changes) {
  std::vector<std::string> texts;
  for (const auto& c : changes) texts.push_back(fmt::format("{} {:+}", c.name, c.by.ps()));
  return texts;
}

/// A load whose bursts take `memory`, and a gemm that needs it.
RunLog load_and_gemm(std::int64_t memory, bool with_store = false) {
  RunMaker run;
  const auto k = run.program({0, 1, 2});
  const auto load = run.add({.kind = OpKind::dma_read,
                             .start = 0,
                             .end = 30 + memory,
                             .origin = k,
                             .command = 0,
                             .phases = {20, static_cast<std::uint32_t>(memory)}});
  run.add({.kind = OpKind::gemm,
           .start = 30 + memory,
           .end = 130 + memory,
           .origin = k,
           .command = 1,
           .cause = load,
           .cause_instant = 30 + memory,
           .reason = Reason::operand,
           .phases = {0, 0, 100}});
  if (with_store)
    run.add({.kind = OpKind::dma_write, .start = 130, .end = 130 + memory, .origin = k, .command = 2});
  return run.finish();
}

TEST(Compare, SaysWhichOperationsMovedAndWhoseFaultItWas) {
  const auto before = load_and_gemm(50), after = load_and_gemm(90);
  const auto c = compare(before, after);
  EXPECT_EQ(c.matched, 2u);
  EXPECT_EQ(c.moved, 2u);
  EXPECT_EQ(c.length_by, ps(40));
  ASSERT_EQ(c.largest.size(), 2u);
  // The load starts as before and ends 40 later, on memory; the gemm is only carried along.
  EXPECT_EQ(c.largest[0].start_by, ps(0));
  EXPECT_EQ(c.largest[0].end_by, ps(40));
  EXPECT_EQ(c.largest[0].resource, "memory");
  EXPECT_EQ(c.largest[0].resource_by, ps(40));
  EXPECT_EQ(c.largest[1].start_by, ps(40));
  EXPECT_EQ(c.largest[1].resource, "");
  EXPECT_THAT(shown(c.by_resource), ElementsAre("memory +40"));
  EXPECT_THAT(shown(c.critical_path), ElementsAre("memory +40"));
  EXPECT_THAT(to_text(c, after),
              HasSubstr("sip0.cube1.pe2 dma_read kernel #0 kernel.cpp:10 (memory +0.040)"));
  EXPECT_THAT(to_json(c, after), HasSubstr("\"length_by_ns\": 0.04"));
}

TEST(Compare, OperationsOfOneRunAloneAreCounted) {
  const auto c = compare(load_and_gemm(50), load_and_gemm(50, true));
  EXPECT_EQ(c.matched, 2u);
  EXPECT_EQ(c.moved, 0u);
  EXPECT_EQ(c.only_before, 0u);
  EXPECT_EQ(c.only_after, 1u);
  EXPECT_EQ(compare(load_and_gemm(50, true), load_and_gemm(50)).only_before, 1u);
}

// Tile steps of one command are matched in their order, not by when they ended.
TEST(Compare, TileStepsAreMatchedInOrder) {
  const auto tiles = [](std::int64_t second) {
    RunMaker run;
    const auto k = run.program({0, 0, 0});
    const auto a = run.reserve(k), b = run.reserve(k);
    const RecordSpec first{.kind = OpKind::tile_dma_in, .end = 50, .origin = k, .command = 0, .phases = {10}};
    RecordSpec other = first;
    other.end = second;
    if (second < 50) run.add(other, b);
    run.add(first, a);
    if (second >= 50) run.add(other, b);
    return run.finish();
  };
  const auto c = compare(tiles(40), tiles(60));
  EXPECT_EQ(c.matched, 2u);
  EXPECT_EQ(c.moved, 1u);
  EXPECT_EQ(c.largest.at(0).end_by, ps(20));
}

TEST(Compare, ChangesOfTheCriticalPathAddUpToThatOfTheRun) {
  for (std::uint32_t seed = 1; seed < 20; ++seed) {
    RandomRun a({.seed = seed}), b({.seed = seed + 100});
    const auto before = a.finish(), after = b.finish();
    const auto c = compare(before, after, 5);
    Time change;
    for (const auto& one : c.critical_path) change += one.by;
    EXPECT_EQ(change, c.length_by);
    EXPECT_EQ(c.matched + c.only_before, before.size());
    EXPECT_EQ(c.matched + c.only_after, after.size());
    EXPECT_LE(c.largest.size(), 5u);
  }
}

}  // namespace
}  // namespace kernbench::trace::compare_test
