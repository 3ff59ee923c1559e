// Kernels that block each other, through process groups: each kind ends with a report that says where, whether senders
// sleep or poll, and afterwards the same collective works over the same queues.
#include <set>

#include "dist/dist_world.hpp"
#include "kernbench/ccl_steps.hpp"
#include "kernbench/deadlock.hpp"

namespace kernbench::dist::deadlock_test {
namespace {

using ::testing::AllOf;

/// What rank 0 and the others of a ring do to each other.
enum class Fault { none, receive_without_sender, circle, send_without_receiver, other_size };

int faulty_line = 0;  // of the command that will block

/// Hands everybody's tensor to the next rank, or not. 64 elements of i32.
void hand_on(tl::Context& tl, const ccl::Call& call, Fault fault) {
  const auto piece = ccl::held(tl, call.input);
  const auto mine = ccl::load(tl, piece);
  const bool first = call.rank == 0;
  if (fault == Fault::receive_without_sender) {
    if (first) faulty_line = __LINE__, tl.recv("W", {64}, i32);
  } else if (fault == Fault::circle) {
    faulty_line = __LINE__, tl.send("E", tl.recv("W", {64}, i32));
  } else if (fault == Fault::send_without_receiver) {
    for (int i = 0; first && i < 5; ++i) faulty_line = __LINE__, tl.send("E", mine);
  } else if (fault == Fault::other_size) {
    if (first) faulty_line = __LINE__, tl.recv("W", {32}, i32);
    if (!first) tl.send("E", mine);
  } else {
    tl.send("E", mine);
    ccl::store(tl, piece, ccl::recv(tl, "W", piece));
  }
}

struct How {
  const char* backpressure;
  bool pes;  // ranks are PEs
  // NOLINTNEXTLINE(readability-identifier-naming): GoogleTest looks for it
  friend void PrintTo(const How& how, std::ostream* out) {
    *out << how.backpressure << (how.pes ? ", PEs" : ", SIPs");
  }
};

class Deadlocks : public ::testing::TestWithParam<How> {
 protected:
  Deadlocks() {
    auto registry = ccl::builtin_registry();
    registry.add(ccl::Algorithm{
        .name = "hand_on",
        .description = "of this test",
        .topology = "ring_1d",
        .validator = "single_shard_per_rank",
        .kernel = [this](tl::Context& tl, const ccl::Call& call) { hand_on(tl, call, fault); }});
    std::vector<std::string> overrides = {"defaults.algorithm=hand_on",
                                          std::string("defaults.backpressure=") + GetParam().backpressure};
    configure(torch, "default", overrides, std::move(registry));
    if (GetParam().pes)
      configure_further(torch, {"algorithms.hand_on.module=hand_on", "algorithms.hand_on.world_size=3"});
  }

  /// What all ranks together fail with, each kind of failure once.
  std::set<std::string> failures_with(Fault what) {
    fault = what;
    std::set<std::string> texts;
    for (const auto& [rank, text] :
         failures([&] { on_all_ranks(torch, [&](int) { all_reduce(torch.zeros({64}, i32)); }); }))
      texts.insert(text);
    return texts;
  }
  std::string failure_with(Fault what) {
    const auto texts = failures_with(what);
    EXPECT_EQ(texts.size(), 1u);
    return texts.empty() ? "" : *texts.begin();
  }
  void expect_works() {
    fault = Fault::none;
    on_all_ranks(torch, [&](int rank) {
      Tensor x = torch.from_numpy(numbers({64}, rank));
      EXPECT_EQ(all_reduce(x).algorithm(), "hand_on");
      EXPECT_EQ(x.numpy(), numbers({64}, (rank + 2) % 3));
    });
  }
  std::string pe(int rank) const {
    return GetParam().pes ? fmt::format("sip0.cube0.pe{}", rank) : fmt::format("sip{}.cube0.pe0", rank);
  }

  Fault fault = Fault::none;
  std::unique_ptr<Torch> owned = std::make_unique<Torch>(machine(3));
  Torch& torch = *owned;
};
INSTANTIATE_TEST_SUITE_P(With, Deadlocks,
                         ::testing::Values(How{"sleep", false}, How{"poll", false}, How{"sleep", true},
                                           How{"poll", true}),
                         [](const auto& made) {
                           return std::string(made.param.backpressure) +
                                  (made.param.pes ? "BetweenPes" : "BetweenSips");
                         });

TEST_P(Deadlocks, AReceiveWithoutASenderIsReported) {
  const auto text = failure_with(Fault::receive_without_sender);
  EXPECT_THAT(text, HasSubstr("1 program cannot go on"));
  EXPECT_THAT(
      text, HasSubstr(fmt::format("recv W at deadlock_test.cpp:{}: no message from {}", faulty_line, pe(2))));
  EXPECT_THAT(text, HasSubstr("W: sent 0, consumed 0; announced 0, received 0; 4 slots"));
  expect_works();
}

TEST_P(Deadlocks, ACircleIsReported) {
  const auto text = failure_with(Fault::circle);
  EXPECT_THAT(text, HasSubstr("3 programs cannot go on"));
  EXPECT_THAT(text, HasSubstr(fmt::format("deadlock_test.cpp:{}", faulty_line)));
  EXPECT_THAT(text, HasSubstr(fmt::format("circle: {0} → {2} → {1} → {0}", pe(0), pe(1), pe(2))));
  expect_works();
}

// Four messages fill the slots; the fifth waits for ever.
TEST_P(Deadlocks, ASendWithoutAReceiverIsReported) {
  const auto text = failure_with(Fault::send_without_receiver);
  EXPECT_THAT(
      text, HasSubstr(fmt::format("send E at deadlock_test.cpp:{}: no credit from {}", faulty_line, pe(1))));
  EXPECT_THAT(text, HasSubstr("E: sent 4, consumed 0;"));
  expect_works();
}

TEST_P(Deadlocks, AMessageOfAnotherSizeIsReported) {
  const auto text = failure_with(Fault::other_size);
  EXPECT_THAT(text, HasSubstr(fmt::format(
                        "{} at deadlock_test.cpp:{}: receives a tile of 128 B from W, but 256 B was sent",
                        pe(0), faulty_line)));
  expect_works();
}

TEST_P(Deadlocks, OneAfterTheOtherAllAreReported) {
  for (const auto what : {Fault::circle, Fault::send_without_receiver, Fault::circle, Fault::other_size,
                          Fault::receive_without_sender}) {
    EXPECT_EQ(failures_with(what).size(), 1u);
    expect_works();
  }
}

TEST_P(Deadlocks, CanBeCaughtAndTheSameQueuesUsedAgain) {
  fault = Fault::circle;
  on_all_ranks(torch, [&](int rank) {
    Tensor x = torch.from_numpy(numbers({64}, rank));
    EXPECT_THROW(all_reduce(x), IpcqDeadlock);
    fault = Fault::none;
    all_reduce(x);
    EXPECT_EQ(x.numpy(), numbers({64}, (rank + 2) % 3));
  });
}

TEST_P(Deadlocks, AMissingRankIsReported) {
  const auto causes = failures([&] {
    on_all_ranks(torch, [&](int rank) {
      if (rank != 1) all_reduce(torch.zeros({64}, i32));
    });
  });
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_THAT(causes.begin()->second,
              AllOf(HasSubstr("rank 0 called all_reduce(SUM)"), HasSubstr("rank 1 has ended")));
  expect_works();
}

TEST_P(Deadlocks, CallsThatDoNotFitAreReported) {
  const auto causes = failures([&] {
    on_all_ranks(torch, [&](int rank) {
      Tensor x = torch.zeros({64}, i32);
      rank == 2 ? barrier(torch) : all_reduce(x);
    });
  });
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_THAT(causes.begin()->second,
              AllOf(HasSubstr("rank 0 called all_reduce(SUM)"), HasSubstr("rank 2 called barrier")));
  expect_works();
  const auto sizes = failures(
      [&] { on_all_ranks(torch, [&](int rank) { all_reduce(torch.zeros({rank == 1 ? 32 : 64}, i32)); }); });
  ASSERT_EQ(sizes.size(), 1u);
  EXPECT_THAT(sizes.begin()->second, AllOf(HasSubstr("i32[64]"), HasSubstr("i32[32]")));
  expect_works();
}

// ── the shipped ring with one slot ──

Torch& with_one_slot(Torch& torch, const char* backpressure, const char* credit) {
  configure(torch, "default",
            {"defaults.algorithm=ring_allreduce", "defaults.n_slots=1",
             std::string("defaults.backpressure=") + backpressure,
             std::string("defaults.credit_policy=") + credit});
  return torch;
}

// A tile that came holds its slot until it has been sent on, for which the next rank's slot must be free.
TEST(OneSlot, OfAForwardingRingIsHeldByLiveTilesWhichTheReportNames) {
  for (const char* backpressure : {"sleep", "poll"}) {
    Torch torch(machine(3));
    with_one_slot(torch, backpressure, "on_last_use");
    const auto causes =
        failures([&] { on_all_ranks(torch, [&](int) { all_reduce(torch.zeros({64}, i32)); }); });
    ASSERT_EQ(causes.size(), 3u);
    EXPECT_THAT(causes.at(0), AllOf(HasSubstr("send E at ring_allreduce.cpp:"),
                                    HasSubstr("no credit from sip1.cube0.pe0")));
    EXPECT_THAT(causes.at(0), HasSubstr("slot 0 of W holds the tile received at ring_allreduce.cpp:"));
    EXPECT_THAT(causes.at(0), HasSubstr("until send E at ring_allreduce.cpp:"));
    EXPECT_THAT(causes.at(0), HasSubstr("live tiles hold the credits of their slots"));
    on_all_ranks(torch, [&](int) { barrier(torch); });
  }
}

TEST(OneSlot, WithCreditsOnReceiptGoesOnWithAHazard) {
  Torch torch(machine(3));
  with_one_slot(torch, "sleep", "on_recv");
  on_all_ranks(torch, [&](int rank) {
    Tensor x = torch.from_numpy(numbers({16384}, rank));
    all_reduce(x);
    EXPECT_EQ(x.numpy(), sum_of({16384}, {0, 1, 2}));
  });
  const auto hazards = torch.hazards();
  ASSERT_FALSE(hazards.empty());
  EXPECT_EQ(hazards[0].kind, "slot overwritten");
  EXPECT_THAT(hazards[0].text, HasSubstr("ring_allreduce.cpp:"));
}

}  // namespace
}  // namespace kernbench::dist::deadlock_test
