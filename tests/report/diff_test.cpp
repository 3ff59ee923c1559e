// Two runs compared: what changed, and what became of the time.
#include "report/diff.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "report/saved.hpp"
#include "temp_folder.hpp"

namespace kernbench::report::diff_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace kernbench::dtypes;

class Diff : public ::testing::Test, protected testing::TempFolder {
 protected:
  Difference difference(const std::string& a, const std::string& b) const {
    return find_difference(SavedRun::open(file(a)), SavedRun::open(file(b)), registry_);
  }
  const Registry registry_ = builtin_registry();
};

TEST_F(Diff, EqualRunsAreTheSame) {
  save_shipped("matmul-composite", {"M=64"}, file("a"));
  save_shipped("matmul-composite", {"M=64"}, file("b"));
  EXPECT_EQ(to_text(difference("a", "b")), "the same run\n");
  EXPECT_EQ(nlohmann::json::parse(to_json(difference("a", "b"))).at("same"), true);
}

TEST_F(Diff, SaysWhatBecameOfTheEnergy) {
  const std::vector<std::string> dear = {"energy.hbm_read_pj_per_byte=2"},
                                 cheap = {"energy.hbm_read_pj_per_byte=1"};
  save_shipped("matmul-composite", {"M=64", "K=64", "N=64"}, file("a"), machine("small", dear));
  save_shipped("matmul-composite", {"M=64", "K=64", "N=64"}, file("b"), machine("small", cheap));
  save_shipped("matmul-composite", {"M=64", "K=64", "N=64"}, file("c"));
  const Difference d = difference("a", "b");
  ASSERT_GE(d.energy.size(), 2u);
  EXPECT_EQ(d.energy[0].name, "total");
  EXPECT_EQ(d.energy[0].before, 2 * d.energy[0].after);
  EXPECT_EQ(d.energy[0].after, 4 * 8192);  // two tiles of 64 × 32 a side: each operand is read twice
  EXPECT_EQ(d.energy[1].name, "hbm");
  EXPECT_THAT(to_text(d), HasSubstr("energy                                       before"));
  EXPECT_TRUE(difference("a", "c").energy.empty());
}

TEST_F(Diff, NamesKeysOfTheMachineAndOptions) {
  save_shipped("matmul-composite", {"M=64"}, file("a"));
  save_shipped("matmul-composite", {"M=96"}, file("b"),
               machine("small", {"cube.hbm.hbm_to_router_bw_gbs=128"}));
  const Difference d = difference("a", "b");
  ASSERT_EQ(d.machine.size(), 1u);
  EXPECT_EQ(d.machine[0].key, "cube.hbm.hbm_to_router_bw_gbs");
  EXPECT_EQ(d.machine[0].before, "256");
  EXPECT_EQ(d.machine[0].after, "128");
  ASSERT_EQ(d.options.size(), 1u);
  EXPECT_EQ(d.options[0].key, "M");
  EXPECT_THAT(to_text(d), HasSubstr("cube.hbm.hbm_to_router_bw_gbs: 256 → 128"));
}

/// A kernel as it was, and with one line changed; the lines are as far apart as in two commits.
void before(tl::Context& tl, tl::Ptr p) {
  const auto x = tl.load(p, {64, 64}, f16);
  const auto y = x + x;
  tl.store(p, y);
}
void after(tl::Context& tl, tl::Ptr p) {
  const auto x = tl.load(p, {64, 64}, f16);
  const auto y = tl.exp(x);
  tl.store(p, y);
}

TEST_F(Diff, AChangeOfOneLineNamesThatLine) {
  const auto bench = [](auto kernel) {
    return bench_of([kernel](Torch& torch, const Options&, BenchReport&) {
      const Tensor x = torch.empty({64, 64}, f16, {}, "x");
      torch.launch("change", kernel, x);
    });
  };
  save_bench(bench(before), {}, file("a"));
  save_bench(bench(after), {}, file("b"));
  const Difference d = difference("a", "b");
  ASSERT_EQ(d.lines.size(), 2u) << to_text(d);
  EXPECT_EQ(d.lines[0].source, "const auto y = x + x;");
  EXPECT_EQ(d.lines[1].source, "const auto y = tl.exp(x);");
  EXPECT_THAT(d.lines[0].removed, ::testing::ElementsAre("add f16[64, 64] = f16[64, 64], f16[64, 64]"));
  EXPECT_THAT(d.lines[1].added, ::testing::ElementsAre("exp f16[64, 64] = f16[64, 64]"));
  // 4096 elements of 2 B: 32 cycles as an addition, 8 times as many as an exponential, which has one operand of 8192 B
  // less to fetch at 512 GB/s: 224 ns more, 16 less.
  ASSERT_FALSE(d.launches.empty());
  EXPECT_EQ(d.launches[0].by(), 208_ns);
  EXPECT_EQ(d.after - d.before, 208_ns);
  ASSERT_FALSE(d.moved.empty());
  const std::string text = to_text(d);
  EXPECT_THAT(text, HasSubstr("- diff_test.cpp:"));
  EXPECT_THAT(text, HasSubstr("+ diff_test.cpp:"));
  EXPECT_THAT(text, Not(HasSubstr("tl.load(p, {64, 64}, f16)")));
}

TEST_F(Diff, AnotherOrderOfTheSameCommandsIsSaid) {
  const auto bench = [](bool swapped) {
    return bench_of([swapped](Torch& torch, const Options&, BenchReport&) {
      const Tensor x = torch.empty({64, 64}, f16, {}, "x");
      torch.launch(
          "order",
          [swapped](tl::Context& tl, tl::Ptr p) {
            for (int i = 0; i < 2; ++i) {
              if ((i == 0) == swapped) tl.load(p, {64}, f16);
              if ((i == 1) == swapped) tl.load(p, {32}, f16);
            }
          },
          x);
    });
  };
  save_bench(bench(false), {}, file("a"));
  save_bench(bench(true), {}, file("b"));
  const Difference d = difference("a", "b");
  EXPECT_TRUE(d.lines.empty());
  EXPECT_TRUE(d.reordered);
}

}  // namespace
}  // namespace kernbench::report::diff_test
