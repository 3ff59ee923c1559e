#include <cerrno>
#include <chrono>
#include <new>
#include <random>
#include <set>
#include <system_error>
#include <thread>

#include "dist/dist_world.hpp"
#include "dist/fiber.hpp"

namespace kernbench::dist::spawn_test {
namespace {

void add(tl::Context& tl, tl::Ptr x, int times) {
  auto tile = tl.load(x, {64}, i32);
  for (int i = 0; i < times; ++i) tile = tile + 1;
  tl.store(x, tile);
}

/// The instant at which a rank has made a tensor, launched a kernel and waited for it.
Time work(Torch& torch, int rank, int times) {
  torch.ahbm.set_device(rank);
  Tensor x = torch.empty({64}, i32, {}, "x");
  torch.wait(torch.launch("add", add, x, times));
  return torch.now();
}

TEST(Spawn, TwoRanksThatDoTheSameEndAtTheInstantOfOneAlone) {
  Torch alone(load());
  const Time end = work(alone, 0, 3);
  EXPECT_GT(end, 0_ps);
  Torch torch(load());
  std::vector<Time> ends(2);
  spawn(
      torch, [&](int rank) { ends[static_cast<std::size_t>(rank)] = work(torch, rank, 3); }, 2);
  EXPECT_THAT(ends, ElementsAre(end, end));
  EXPECT_EQ(torch.now(), end);
}

TEST(Spawn, EachRankGoesOnAtTheInstantItsOwnWaitIsOver) {
  Torch one(load()), other(load());
  const Time early = work(one, 0, 1), late = work(other, 0, 200);
  ASSERT_LT(early, late);
  Torch torch(load());
  std::vector<Time> ends(2);
  spawn(
      torch, [&](int rank) { ends[static_cast<std::size_t>(rank)] = work(torch, rank, rank == 0 ? 200 : 1); },
      2);
  EXPECT_THAT(ends, ElementsAre(late, early));
}

// No rank is to blame: whoever waits is stopped, and what `new` has thrown is what the caller gets.
TEST(Spawn, ARankThatFindsNoMemoryStopsAllAndIsNoFailureOfItsOwn) {
  Torch torch(load());
  bool went_on = false;
  const auto run = [&](int rank) {
    if (rank == 1) throw std::bad_alloc();
    work(torch, rank, 3);
    went_on = true;
  };
  EXPECT_THROW(spawn(torch, run, 2), std::bad_alloc);
  EXPECT_FALSE(went_on);
}

/// Has no room for more than so many strands.
class FewStrands final : public Strands {
 public:
  explicit FewStrands(int left) : left_(left) {}
  std::unique_ptr<Strand> of_caller() override { return fibers_.of_caller(); }
  std::unique_ptr<Strand> make(std::function<void()> body) override {
    if (left_-- == 0)
      throw std::system_error(ENOMEM, std::generic_category(), "no room for the stack of a rank");
    return fibers_.make(std::move(body));
  }

 private:
  Fibers fibers_;
  int left_;
};

TEST(Spawn, WithoutRoomForAnotherStackSaysHowManyThereAreAndWhatHelps) {
  Torch torch(load());
  FewStrands strands(1);
  const auto causes = failures([&] {
    spawn(
        torch, [&](int rank) { work(torch, rank, 3); }, 2, strands);
  });
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_THAT(causes.at(1),
              HasSubstr("no room for the stack of a rank: Cannot allocate memory\n  hint: 1 of 2 ranks "
                        "have theirs, and each that waits keeps its own; use fewer ranks"));
  EXPECT_EQ(failures([&] {
              spawn(
                  torch, [&](int rank) { work(torch, rank, 3); }, 2);
            }).size(),
            0u);
}

TEST(Spawn, RanksRunOneAtATimeAndSwitchOnlyWhereTheyWait) {
  Torch torch(load());
  std::vector<std::string> order;
  spawn(
      torch,
      [&](int rank) {
        const auto note = [&](const char* what) { order.push_back(std::to_string(rank) + what); };
        torch.ahbm.set_device(rank);
        note(" begins");
        Tensor x = torch.empty({64}, i32);
        const auto launch = torch.launch("add", add, x, 1);
        note(" waits");
        torch.wait(launch);
        note(" goes on");
        torch.wait(launch);  // is over
        note(" ends");
      },
      2);
  EXPECT_THAT(order, ElementsAre("0 begins", "0 waits", "1 begins", "1 waits", "0 goes on", "0 ends",
                                 "1 goes on", "1 ends"));
}

TEST(Spawn, EveryRankHasItsOwnNumberAndDevice) {
  Torch torch(load());
  torch.ahbm.set_device(1);
  EXPECT_EQ(get_rank(torch), 0);
  std::vector<int> seen;
  spawn(
      torch,
      [&](int rank) {
        seen.push_back(torch.ahbm.current_device());
        torch.ahbm.set_device(rank);
        Tensor x = torch.from_numpy(filled({64}, 10 * rank));
        torch.launch("add", add, x, 1);
        EXPECT_EQ(x.numpy(), filled({64}, 10 * rank + 1));
        EXPECT_EQ(get_rank(torch), rank);
        EXPECT_EQ(torch.ahbm.current_device(), rank);
        EXPECT_EQ(x.sip(), rank);
      },
      2);
  EXPECT_THAT(seen, ElementsAre(1, 1));  // the caller's, until another one is set
  EXPECT_EQ(torch.ahbm.current_device(), 1);
  EXPECT_EQ(get_rank(torch), 0);
}

/// Ranks that write, launch, exchange and read, each at its own pace, and rest now and then for up to `most` µs.
std::uint64_t hash_of_a_busy_run(int most) {
  Torch torch(machine(3));
  std::mt19937 random(static_cast<unsigned>(most));
  const auto rest = [&] {
    if (most > 0)
      std::this_thread::sleep_for(std::chrono::microseconds(random() % static_cast<unsigned>(most)));
  };
  on_all_ranks(torch, [&](int rank) {
    Tensor x = torch.from_numpy(numbers({64}, rank));
    for (int i = 0; i < 5; ++i) {
      rest();
      const auto launch = torch.launch("add", add, x, 1 + (rank + i) % 3 * 20);
      if (rank == i % 3) torch.wait(launch);
      rest();
      all_reduce(x, ReduceOp::MAX);
      if (rank == 1) x.numpy();
    }
  });
  torch.synchronize();
  return torch.log().hash();
}

TEST(Spawn, AllRanksRunOnTheThreadOfTheCaller) {
  Torch torch(machine(3));
  std::vector<std::thread::id> threads;
  on_all_ranks(torch, [&](int) {
    Tensor x = torch.zeros({64}, i32);
    all_reduce(x);  // all wait
    threads.push_back(std::this_thread::get_id());
  });
  EXPECT_EQ(threads, std::vector(3, std::this_thread::get_id()));
}

TEST(Spawn, WhatHappensDoesNotDependOnHowLongRanksTake) {
  const auto hash = hash_of_a_busy_run(0);
  for (const int most : {1, 50, 300}) EXPECT_EQ(hash_of_a_busy_run(most), hash);
}

TEST(Spawn, AFailedRankStopsTheOthersAndIsTheOnlyCause) {
  Torch torch(load());
  bool went_on = false, unwound = false;
  const auto causes = failures([&] {
    spawn(
        torch,
        [&](int rank) {
          torch.ahbm.set_device(rank);
          Tensor x = torch.zeros({64}, i32);
          const auto launch = torch.launch("add", add, x, 1);
          if (rank == 1) throw std::runtime_error("enough");
          struct Unwinding {
            bool& flag;
            ~Unwinding() { flag = true; }
          } unwinding{unwound};
          try {
            torch.wait(launch);
          } catch (const std::exception&) {
            went_on = true;
          }
          torch.wait(launch);
          went_on = true;
        },
        2);
  });
  EXPECT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes.at(1), "enough");
  EXPECT_FALSE(went_on);
  EXPECT_TRUE(unwound);
}

TEST(Spawn, SaysWhichRankFailedWithWhat) {
  Torch torch(load());
  const auto fail = [&](int rank) {
    if (rank == 1) throw InputError({"test.id", "here", "no more paper", ""});
  };
  EXPECT_EQ(complaint([&] { spawn(torch, fail, 2); }),
            "dist.spawn-failed spawn: rank 1: here: no more paper");
}

TEST(Spawn, AfterAFailureTheContextWorks) {
  Torch torch(load());
  Tensor kept = torch.from_numpy(counting({64}), {}, "kept");
  torch.launch("add", add, kept, 2);
  const auto fail = [&](int rank) {
    torch.ahbm.set_device(rank);
    Tensor x = torch.zeros({64}, i32);
    torch.wait(torch.launch("add", add, x, 1));
    if (rank == 0) throw std::runtime_error("enough");
  };
  EXPECT_EQ(failures([&] { spawn(torch, fail, 2); }).size(), 1u);
  EXPECT_EQ(kept.numpy().view<std::int32_t>()[5], 7);
  std::vector<int> ran;
  spawn(
      torch, [&](int rank) { ran.push_back(rank); }, 2);
  EXPECT_THAT(ran, ElementsAre(0, 1));
}

TEST(Spawn, RanksThatHaveNotBegunWhenAnotherFailsNeverDo) {
  Torch torch(load());
  std::vector<int> began;
  const auto fail = [&](int rank) {
    began.push_back(rank);
    if (rank == 0) throw std::runtime_error("at once");
  };
  EXPECT_EQ(failures([&] { spawn(torch, fail, 2); }).size(), 1u);
  EXPECT_THAT(began, ElementsAre(0));
}

TEST(Spawn, ARankThatEndsLeavesItsStackToTheNext) {
  Torch torch(load());
  use_pes(torch, 64);
  std::set<const void*> stacks;
  const auto note = [&](int) {
    const char here = 0;
    stacks.insert(&here);
  };
  spawn(torch, note, 64);
  EXPECT_EQ(stacks.size(), 1u);
}

// Whatever it catches, it gets no further than its next wait, though what that waits for is there already.
TEST(Spawn, AStoppedRankCannotGoOn) {
  Torch torch(load());
  bool stopped = false, went_on = false;
  const auto fn = [&](int rank) {
    torch.ahbm.set_device(rank);
    if (rank == 1) work(torch, rank, 1000), throw std::runtime_error("enough");
    Tensor x = torch.zeros({64}, i32, {}, "x");
    const auto quick = torch.launch("add", add, x, 1);
    torch.wait(quick);
    try {
      for (int i = 0; i < 100; ++i) torch.wait(torch.launch("add", add, x, 1));
    } catch (...) {
      stopped = true;
      torch.wait(quick);
      went_on = true;
    }
  };
  const auto causes = failures([&] { spawn(torch, fn, 2); });
  EXPECT_EQ(causes.size(), 1u);
  EXPECT_TRUE(stopped);
  EXPECT_FALSE(went_on);
}

TEST(Spawn, AFaultOfTheSimulatedProgramReachesTheHostAndTheContextWorksOn) {
  Torch torch(load());
  const auto stray = [](tl::Context& tl, tl::Ptr x) { tl.store(x, tl.load(x + (1 << 20), {64}, i32)); };
  const auto fail = [&](int rank) {
    torch.ahbm.set_device(rank);
    if (rank == 0) return;
    Tensor x = torch.zeros({64}, i32);
    torch.wait(torch.launch("stray", stray, x));
  };
  const auto causes = failures([&] { spawn(torch, fail, 2); });
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_THAT(causes.at(1), HasSubstr("stray"));
  spawn(
      torch, [&](int rank) { EXPECT_GT(work(torch, rank, 1), 0_ps); }, 2);
}

TEST(Spawn, NeedsADeviceForEveryRankAndNoSpawnAroundIt) {
  Torch torch(load());
  const auto nothing = [](int) {};
  EXPECT_THAT(complaint([&] { spawn(torch, nothing, 3); }), HasSubstr("nprocs is 3"));
  EXPECT_THAT(complaint([&] { spawn(torch, nothing, 0); }), HasSubstr("1 to 2"));
  const auto causes = failures([&] {
    spawn(
        torch, [&](int) { spawn(torch, nothing, 1); }, 1);
  });
  EXPECT_THAT(causes.at(0), HasSubstr("a rank spawns ranks"));
}

TEST(Spawn, AnInterruptionIsNoFailureOfARank) {
  std::atomic<bool> interrupt = false;
  Torch torch(load(), {.interrupt = &interrupt});
  const auto stop = [&](int rank) {
    interrupt = true;
    work(torch, rank, 1);
  };
  EXPECT_THROW(spawn(torch, stop, 2), runtime::Interrupted);
  interrupt = false;
}

// The host's own program, after all ranks, knows what they waited for: its write to what a rank's kernel read is in order.
TEST(Spawn, WhatRanksWaitedForTheHostHasWaitedFor) {
  Torch torch(load());
  Tensor x = torch.zeros({64}, i32, {}, "x");
  const auto launch = [&](int rank) {
    torch.ahbm.set_device(rank);
    if (rank == 0) torch.wait(torch.launch("add", add, x, 1));
  };
  spawn(torch, launch, 2);
  x.copy_(filled({64}, 3));
  EXPECT_EQ(x.numpy(), filled({64}, 3));
  EXPECT_TRUE(torch.hazards().empty());
}

// Rank 1 works for longer than rank 0 takes to unmap its tensor (324 ns), then the host uses SIP 0: nothing but that work
// held it up, so the path goes through it.
TEST(Spawn, TheHostGoesOnBecauseOfTheRankThatEndedLast) {
  Torch torch(load());
  Tensor x = torch.zeros({64}, i32, {}, "x");
  x.numpy();
  const auto launch = [&](int rank) {
    torch.ahbm.set_device(rank);
    Tensor y = torch.zeros({64}, i32, {}, "y");
    torch.wait(torch.launch("add", add, y, rank == 0 ? 1 : 400));
  };
  spawn(torch, launch, 2);
  x.copy_(filled({64}, 3));
  x.numpy();
  const auto path = torch.log().critical_path();
  // 400 additions, each more than 1 ns: commands, and 64 elements through the vector unit.
  const auto added = std::ranges::find_if(
      path.by_line, [](const trace::Share& share) { return share.name.starts_with("spawn_test.cpp:"); });
  ASSERT_NE(added, path.by_line.end());
  EXPECT_GT(added->time, 400_ns);
  EXPECT_TRUE(std::ranges::none_of(path.by_resource, [](const trace::Share& share) {
    return share.name == "wait_start" && share.time > Time();
  }));
}

// PE 1 adds to a tensor of PE 0, through a pointer: what its rank has waited for is in another stream than the host's
// write afterwards, and still before it.
TEST(Spawn, WhatRanksWaitedForInTheirStreamsIsBeforeWhatTheHostDoesInOthers) {
  Torch torch(load());
  use_pes(torch, 2);
  Tensor x = torch.from_numpy(filled({64}, 1), {}, "x");
  x.numpy();
  const auto launch = [&](int rank) {
    torch.ahbm.set_device(rank);
    if (rank == 1) torch.wait(torch.launch("add", add, x.ptr(), 4));
  };
  spawn(torch, launch, 2);
  EXPECT_EQ(x.numpy(), filled({64}, 5));
  x.copy_(filled({64}, 3));
  EXPECT_EQ(x.numpy(), filled({64}, 3));
  EXPECT_TRUE(torch.hazards().empty());
}

}  // namespace
}  // namespace kernbench::dist::spawn_test
