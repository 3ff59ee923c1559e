// Collectives that cannot be: members that do not join, calls that do not fit, deadlocks. Never a hang, and afterwards the
// context works.
#include "dist/dist_world.hpp"
#include "kernbench/ccl_steps.hpp"
#include "kernbench/deadlock.hpp"

namespace kernbench::dist::failure_test {
namespace {

void expect_works(Torch& torch) {
  on_all_ranks(torch, [&](int rank) {
    Tensor x = torch.from_numpy(numbers({8, 64}, rank), kColumns, "again");
    all_reduce(x);
    std::vector<int> ranks(static_cast<std::size_t>(get_world_size(torch)));
    std::iota(ranks.begin(), ranks.end(), 0);
    EXPECT_EQ(x.numpy(), sum_of({8, 64}, ranks));
  });
}

Tensor small_tensor(Torch& torch, const char* name = "x") { return torch.zeros({64}, i32, {}, name); }

TEST(Failures, AMemberThatEndsWithoutJoiningIsNamedWithWhatTheOthersCalled) {
  Torch torch(machine(3));
  const auto causes = failures([&] {
    on_all_ranks(torch, [&](int rank) {
      if (rank != 1) all_reduce(small_tensor(torch));
    });
  });
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_THAT(causes.begin()->second, HasSubstr("rank 0 called all_reduce(SUM) of 'x' i32[64]"));
  EXPECT_THAT(causes.begin()->second, HasSubstr("rank 1 has ended"));
  expect_works(torch);
}

// The others wait already: the end of the last one is the failure, not the stall of all that would follow.
TEST(Failures, TheEndOfARankThatOthersWaitForIsItsFailure) {
  Torch torch(machine(3));
  const auto causes = failures([&] {
    on_all_ranks(torch, [&](int rank) {
      if (rank != 2) all_reduce(small_tensor(torch));
    });
  });
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_THAT(causes.at(2), HasSubstr("rank 2 has ended"));
}

// Rank 1 has joined the first and ends before the second, when rank 2 has joined neither.
TEST(Failures, TheCollectiveThatLacksTheRankThatEndsIsListed) {
  Torch torch(machine(3));
  const auto causes = failures([&] {
    on_all_ranks(torch, [&](int rank) {
      Tensor x = small_tensor(torch), y = small_tensor(torch, "y");
      all_reduce(x, ReduceOp::SUM, {}, true);
      if (rank != 1) all_reduce(y, ReduceOp::MAX, {}, true).wait();
    });
  });
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_THAT(causes.at(1), HasSubstr("collective 2 of ranks 0, 1, 2: a member has ended and will not join"));
  EXPECT_THAT(causes.at(1), HasSubstr("rank 0 called all_reduce(MAX) of 'y'"));
  EXPECT_THAT(causes.at(1), HasSubstr("rank 1 has ended"));
  EXPECT_THAT(causes.at(1), HasSubstr("rank 2 has not called it yet"));
}

TEST(Failures, AMemberThatHadEndedBeforeIsFoundAtOnce) {
  Torch torch(machine(2));
  const auto causes = failures([&] {
    on_all_ranks(torch, [&](int rank) {
      Tensor x = small_tensor(torch);
      if (rank == 1) return;
      x.numpy();  // rank 1 ends meanwhile
      all_reduce(x);
    });
  });
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_THAT(causes.at(0), HasSubstr("a member has ended and will not join"));
  EXPECT_THAT(causes.at(0), HasSubstr("rank 1 has ended"));
  expect_works(torch);
}

TEST(Failures, AMemberThatWaitsForSomethingElseForEverIsNamed) {
  Torch torch(machine(2));
  const auto causes = failures([&] {
    on_all_ranks(torch, [&](int rank) {
      Tensor x = small_tensor(torch), y = small_tensor(torch, "y");
      if (rank == 0) all_reduce(x);
      if (rank == 1) recv(y, 0);
    });
  });
  ASSERT_EQ(causes.size(), 2u);  // each waits for the other
  EXPECT_THAT(causes.at(0), HasSubstr("rank 0 called all_reduce(SUM) of 'x'"));
  EXPECT_THAT(causes.at(0), HasSubstr("rank 1 waits for launch 'send_recv'"));
  expect_works(torch);
}

TEST(Failures, CallsThatDoNotFitAreListed) {
  const auto mismatch = [&](const std::function<void(Torch&, int)>& fn) {
    Torch torch(machine(2));
    const auto causes = failures([&] { on_all_ranks(torch, [&](int rank) { fn(torch, rank); }); });
    expect_works(torch);
    EXPECT_EQ(causes.size(), 1u);
    return causes.empty() ? "" : causes.begin()->second;
  };
  const auto other_collective = mismatch([](Torch& torch, int rank) {
    rank == 0 ? all_reduce(small_tensor(torch)) : broadcast(small_tensor(torch, "y"), 0);
  });
  EXPECT_THAT(other_collective, HasSubstr("rank 0 called all_reduce(SUM) of 'x' i32[64]"));
  EXPECT_THAT(other_collective, HasSubstr("rank 1 called broadcast(root 0) of 'y' i32[64]"));
  EXPECT_THAT(mismatch([](Torch& torch, int rank) { all_reduce(torch.zeros({64 + rank}, i32)); }),
              HasSubstr("i32[65]"));
  EXPECT_THAT(mismatch([](Torch& torch, int rank) { all_reduce(torch.zeros({64}, rank == 0 ? i32 : f16)); }),
              HasSubstr("f16[64]"));
  EXPECT_THAT(mismatch([](Torch& torch, int rank) {
                all_reduce(small_tensor(torch), rank == 0 ? ReduceOp::SUM : ReduceOp::MAX);
              }),
              HasSubstr("all_reduce(MAX)"));
  EXPECT_THAT(mismatch([](Torch& torch, int rank) {
                all_reduce(torch.zeros({64}, i32, rank == 0 ? DPPolicy::whole() : kColumns));
              }),
              HasSubstr("column_wise over all cubes, column_wise over all PEs, 32 shards"));
}

TEST(Failures, OutsideOfSpawnNobodyElseJoins) {
  Torch torch(machine(2));
  init_process_group(torch);
  EXPECT_THAT(complaint([&] { all_reduce(small_tensor(torch)); }), HasSubstr("rank 1 does not run"));
  on_all_ranks(torch,
               [&](int rank) {  // what was refused was not joined: rank 1 comes first now, with another call
                 if (rank == 0) small_tensor(torch).numpy();
                 barrier(torch);
               });
  expect_works(torch);
}

TEST(Failures, FewerRanksThanMembersAreFound) {
  Torch torch(machine(3));
  init_process_group(torch);
  const auto causes = failures([&] {
    spawn(
        torch,
        [&](int rank) {
          torch.ahbm.set_device(rank);
          all_reduce(small_tensor(torch));
        },
        2);
  });
  EXPECT_THAT(causes.at(0), HasSubstr("rank 2 was not spawned"));
}

/// An all-reduce of the user's whose ranks all receive first.
void circular(tl::Context& tl, const ccl::Call& call) {
  const auto piece = ccl::held(tl, call.input);
  const auto came = ccl::recv(tl, "W", piece);
  tl.send("E", came);
}

ccl::Registry with_circular() {
  auto registry = ccl::builtin_registry();
  registry.add(ccl::Algorithm{.name = "circular",
                              .description = "blocks itself",
                              .topology = "ring_1d",
                              .validator = "single_shard_per_rank",
                              .kernel = circular});
  return registry;
}

TEST(Failures, ADeadlockReachesTheRanksThatWaitAndNamesTheKernelsLine) {
  for (const char* backpressure : {"sleep", "poll"}) {
    Torch torch(machine(2));
    configure(torch, "default",
              {"defaults.algorithm=circular", std::string("defaults.backpressure=") + backpressure},
              with_circular());
    const auto causes = failures([&] { on_all_ranks(torch, [&](int) { all_reduce(small_tensor(torch)); }); });
    ASSERT_EQ(causes.size(), 2u);
    EXPECT_THAT(causes.at(0), HasSubstr("failure_test.cpp:"));
    EXPECT_THAT(causes.at(0), HasSubstr("sip0.cube0.pe0"));
    expect_works(torch);  // over another wiring
  }
}

TEST(Failures, AfterADeadlockQueuesAreInstalledAgainBeforeTheirNextUse) {
  Torch torch(machine(2));
  const auto fail_on = [&](bool wrong) {
    return [&torch, wrong](int rank) {
      Tensor x = torch.from_numpy(numbers({64}, rank), {}, "x");
      if (wrong && rank == 1) return;
      all_reduce(x);
      EXPECT_EQ(x.numpy(), sum_of({64}, {0, 1}));
    };
  };
  for (const bool wrong : {false, true, false, true, false})
    EXPECT_EQ(failures([&] { on_all_ranks(torch, fail_on(wrong)); }).size(), wrong ? 1u : 0u);
  std::size_t installs = 0;
  for (const auto& trace : torch.traces())
    installs += trace.phase == runtime::Phase::install && trace.name == "intersip_allreduce";
  EXPECT_EQ(installs, 3u * 2u);  // at first and after each failure, on both SIPs
}

TEST(Failures, ADeadlockCanBeCaughtInARank) {
  Torch torch(machine(2));
  configure(torch, "default", {"defaults.algorithm=circular"}, with_circular());
  on_all_ranks(torch, [&](int rank) {
    EXPECT_THROW(all_reduce(small_tensor(torch)), IpcqDeadlock);
    Tensor x = torch.from_numpy(numbers({8, 64}, rank), kColumns);
    all_reduce(x);
    EXPECT_EQ(x.numpy(), sum_of({8, 64}, {0, 1}));
  });
}

TEST(Failures, AFailedRankLeavesNoMessagesBehind) {
  Torch torch(machine(2));
  const auto causes = failures([&] {
    on_all_ranks(torch, [&](int rank) {
      Tensor x = torch.from_numpy(numbers({64}, rank), {}, "x");
      all_reduce(x, ReduceOp::SUM, {}, true);
      if (rank == 0) throw std::runtime_error("enough");
      all_reduce(x);
    });
  });
  EXPECT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes.at(0), "enough");
  expect_works(torch);
}

// Rank 0 has sent, which is over when the bytes have left; rank 1 fails before it receives.
TEST(Failures, AMessageThatAFailedRankDidNotReceiveIsNotReceivedLater) {
  Torch torch(machine(2));
  const auto exchange = [&](int value, bool fails) {
    return failures([&] {
      on_all_ranks(torch, [&](int rank) {
        Tensor x = torch.from_numpy(filled({64}, rank == 0 ? value : 0), {}, "x");
        if (rank == 1 && fails) throw std::runtime_error("enough");
        rank == 0 ? send(x, 1) : recv(x, 0);
        EXPECT_EQ(x.numpy(), filled({64}, value));
      });
    });
  };
  EXPECT_TRUE(exchange(1, false).empty());
  EXPECT_EQ(exchange(2, true).size(), 1u);
  EXPECT_TRUE(exchange(3, false).empty());
}

TEST(Failures, AFaultThatShowsOnlyWhenARankHasFailedIsNoCause) {
  Torch torch(machine(2));
  const auto stray = [](tl::Context& tl, tl::Ptr x) { tl.store(x, tl.load(x + (1 << 20), {64}, i32)); };
  const auto causes = failures([&] {
    on_all_ranks(torch, [&](int rank) {
      Tensor x = small_tensor(torch);
      if (rank == 0) torch.launch("stray", stray, x);  // its fault is still to come
      if (rank == 1) throw std::runtime_error("enough");
      all_reduce(x);
    });
  });
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes.at(1), "enough");
  expect_works(torch);
}

TEST(Failures, RanksThatFailOnTheirWayOutAreNoCauses) {
  Torch torch(machine(3));
  const auto causes = failures([&] {
    on_all_ranks(torch, [&](int rank) {
      Tensor x = small_tensor(torch);
      if (rank == 2) throw std::runtime_error("enough");
      try {
        all_reduce(x);
      } catch (...) {
        throw std::runtime_error("because of another one");
      }
    });
  });
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes.at(2), "enough");
  expect_works(torch);
}

TEST(ProcessGroup, IsInitializedOnceBeforeSpawnOrOnceByEveryRank) {
  Torch torch(machine(2));
  EXPECT_FALSE(is_initialized(torch));
  EXPECT_THAT(complaint([&] { all_reduce(small_tensor(torch)); }), HasSubstr("there is no process group"));
  EXPECT_THAT(complaint([&] { init_process_group(torch, "nccl"); }), HasSubstr("one backend: ahbm"));
  const auto twice = [&](int rank) {
    torch.ahbm.set_device(rank);
    init_process_group(torch);
    EXPECT_THAT(complaint([&] { init_process_group(torch); }), HasSubstr("initialized already"));
    all_reduce(small_tensor(torch));
  };
  spawn(torch, twice, 2);
  EXPECT_FALSE(is_initialized(torch));  // as processes would, ranks have taken it with them
  spawn(torch, twice, 2);
  init_process_group(torch);
  EXPECT_THAT(complaint([&] { init_process_group(torch); }), HasSubstr("initialized already"));
  const auto causes = failures([&] {
    spawn(
        torch, [&](int) { init_process_group(torch); }, 2);
  });
  EXPECT_THAT(causes.at(0), HasSubstr("once before spawn, or once in every rank"));
}

TEST(ProcessGroup, InstallsTheConfiguredAllReduceInSimulatedTimeAndOthersOnFirstUse) {
  Torch torch(machine(2));
  const auto installed = [&] {
    std::vector<std::string> names;
    for (const auto& t : torch.traces())
      if (t.phase == runtime::Phase::install) names.push_back(fmt::format("{} {}", t.name, t.sip));
    return names;
  };
  init_process_group(torch);
  EXPECT_GT(torch.now(), 0_ps);
  EXPECT_THAT(installed(), ElementsAre("intercube_allreduce 0", "intercube_allreduce 1"));
  on_all_ranks(torch, [&](int) { all_reduce(small_tensor(torch)), all_reduce(small_tensor(torch)); });
  EXPECT_THAT(installed(), ElementsAre("intercube_allreduce 0", "intercube_allreduce 1",
                                       "intersip_allreduce 0", "intersip_allreduce 1"));
}

TEST(ProcessGroup, ARankWorksOnItsOwnDevice) {
  Torch torch(machine(2));
  init_process_group(torch);
  const auto causes = failures([&] {
    spawn(
        torch, [&](int) { all_reduce(small_tensor(torch)); }, 2);
  });
  EXPECT_THAT(causes.at(1), HasSubstr("call torch.ahbm.set_device(rank) first"));
  Tensor elsewhere = small_tensor(torch, "elsewhere");
  const auto others = failures([&] { on_all_ranks(torch, [&](int) { all_reduce(elsewhere); }); });
  EXPECT_THAT(others.at(1), HasSubstr("tensor 'elsewhere' lies on device 0, but this is rank 1"));
}

TEST(ProcessGroup, WhereRanksArePesTensorsAndLaunchesStayOnTheirs) {
  Torch torch(machine(2));
  use_pes(torch, 4);
  EXPECT_EQ(torch.ahbm.device_count(), 4);
  const auto where = [](tl::Context& tl, tl::Ptr x) {
    const auto here = 100 * tl.program_id(1) + 10 * tl.program_id(0) + tl.num_programs(0);
    tl.store(x, tl.full({4}, here, i32));
  };
  on_all_ranks(torch, [&](int rank) {
    Tensor x = torch.zeros({4}, i32, {}, "x");
    torch.wait(torch.launch("where", where, x));
    EXPECT_EQ(x.numpy(), filled({4}, 10 * rank + 1));
    EXPECT_THAT(complaint([&] { torch.zeros({32}, i32, kColumns); }), HasSubstr("the device is one PE"));
    EXPECT_THAT(complaint([&] { all_reduce(x, ReduceOp::SUM, torch.ahbm.cubes); }),
                HasSubstr("ranks are PEs"));
  });
  EXPECT_THAT(complaint([&] { configure_further(torch, {"defaults.n_slots=8"}); }),
              HasSubstr("before anything else"));
}

}  // namespace
}  // namespace kernbench::dist::failure_test
