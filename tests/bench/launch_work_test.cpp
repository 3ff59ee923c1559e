// What launches ask for is counted once for those that ask the same.
#include "bench/launch_work.hpp"

#include <gtest/gtest.h>

namespace kernbench::bench::launch_work_test {
namespace {

using namespace kernbench::dtypes;

/// 64 B there and back, by PE 0.
void add_one(tl::Context& tl, tl::Ptr x) { tl.store(x, tl.load(x, {16}, i32) + 1); }

struct Counted {
  Counted() {
    torch.engine().watch_launches(
        [this](const runtime::LaunchRequest& launch) { works.push_back(counter.count(launch)); });
  }
  /// A tensor at the address of the one before, which is gone.
  std::uint64_t launch_on(PePlace place) {
    torch.synchronize();  // until its memory is free
    const Tensor x = torch.empty({16}, i32, DPPolicy::whole_on(place));
    torch.wait(torch.launch({"add", Grid{1, 1}}, add_one, x));
    return x.ptr().address();
  }

  Torch torch{topology::load_machine("small", {}, topology::builtin_registry())};
  LaunchCounter counter{torch.engine()};
  std::vector<std::shared_ptr<const LaunchWork>> works;
};

TEST(LaunchWork, LaunchesThatAskTheSameHaveItInCommon) {
  Counted run;
  run.launch_on({0, 3});
  run.launch_on({0, 3});
  ASSERT_EQ(run.works.size(), 2u);
  EXPECT_EQ(run.works[0], run.works[1]);
  EXPECT_EQ(run.works[0]->work().slices().size(), 1u);
}

TEST(LaunchWork, TheSameProgramsWithOtherMemoryBehindTheirAddressesAskForSomethingElse) {
  Counted run;
  const auto at = run.launch_on({0, 0});
  ASSERT_EQ(run.launch_on({1, 3}), at);
  ASSERT_EQ(run.works.size(), 2u);
  const topology::Graph& graph = run.torch.engine().device().graph();
  EXPECT_TRUE(run.works[0]->work().slices().contains(graph.hbm_ctrl({0, 0, 0})));
  EXPECT_TRUE(run.works[1]->work().slices().contains(graph.hbm_ctrl({0, 1, 3})));
  EXPECT_GT(run.works[1]->bound().time, run.works[0]->bound().time);  // it is further away
}

TEST(LaunchWork, OtherAddressesAreOtherPrograms) {
  Counted run;
  const Tensor x = run.torch.empty({16}, i32, DPPolicy::whole()),
               y = run.torch.empty({16}, i32, DPPolicy::whole());
  run.torch.launch({"add", Grid{1, 1}}, add_one, x);
  run.torch.launch({"add", Grid{1, 1}}, add_one, y);
  ASSERT_EQ(run.works.size(), 2u);
  EXPECT_NE(run.works[0], run.works[1]);
  run.torch.synchronize();
}

}  // namespace
}  // namespace kernbench::bench::launch_work_test
