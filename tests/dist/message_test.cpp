// Sends and receives between ranks, in every order and of any size.
#include "dist_world.hpp"

namespace kernbench::dist::message_test {
namespace {

/// With 4 slots of 4096 bytes, 64 KiB on one PE are 16 messages: far more than a queue holds.
constexpr std::int64_t kLarge = 16 * 1024;

enum class Order { send_first, receive_first };

struct Ring {
  const char* name;
  int ranks;
  Order order;
  std::int64_t elements;
  bool pes = false;
  // NOLINTNEXTLINE(readability-identifier-naming): GoogleTest looks for it
  friend void PrintTo(const Ring& ring, std::ostream* out) { *out << ring.name; }
};

class RingOfRanks : public ::testing::TestWithParam<Ring> {};

TEST_P(RingOfRanks, PassesItsTensorsOn) {
  const Ring ring = GetParam();
  Torch torch(machine(ring.pes ? 2 : ring.ranks, "1x1"));
  if (ring.pes) use_pes(torch, ring.ranks);
  on_all_ranks(torch, [&](int rank) {
    const int next = (rank + 1) % ring.ranks, previous = (rank + ring.ranks - 1) % ring.ranks;
    const Tensor mine = torch.from_numpy(numbers({ring.elements}, rank));
    const Tensor came = torch.zeros({ring.elements}, i32);
    if (ring.order == Order::send_first) {
      const Work sent = isend(mine, next);
      recv(came, previous);
      sent.wait();
    } else {
      const Work coming = irecv(came, previous);
      send(mine, next);
      coming.wait();
    }
    EXPECT_EQ(came.numpy(), numbers({ring.elements}, previous)) << rank;
  });
}

INSTANTIATE_TEST_SUITE_P(Rings, RingOfRanks,
                         ::testing::Values(Ring{"two_small", 2, Order::send_first, 8},
                                           Ring{"two_large", 2, Order::send_first, kLarge},
                                           Ring{"two_large_receive_first", 2, Order::receive_first, kLarge},
                                           Ring{"five_large", 5, Order::send_first, kLarge},
                                           Ring{"five_large_receive_first", 5, Order::receive_first, kLarge},
                                           Ring{"twelve_pes_large", 12, Order::send_first, kLarge, true},
                                           Ring{"twelve_pes_receive_first", 12, Order::receive_first, kLarge,
                                                true}),
                         [](const auto& of) { return std::string(of.param.name); });

TEST(Messages, GoToSeveralRanksAtOnceAndInTheirOrder) {
  Torch torch(machine(3, "1x1"));
  on_all_ranks(torch, [&](int rank) {
    std::vector<Tensor> mine, came;
    std::vector<Work> works;
    for (int peer = 0; peer < 3; ++peer) {
      if (peer == rank) continue;
      for (const std::int64_t n : {kLarge, std::int64_t{5}}) {  // two messages each way
        mine.push_back(torch.from_numpy(numbers({n}, 10 * rank + peer)));
        came.push_back(torch.zeros({n}, i32));
        works.push_back(isend(mine.back(), peer));
        works.push_back(irecv(came.back(), peer));
      }
    }
    for (const Work& work : works) work.wait();
    std::size_t i = 0;
    for (int peer = 0; peer < 3; ++peer) {
      if (peer == rank) continue;
      EXPECT_EQ(came[i++].numpy(), numbers({kLarge}, 10 * peer + rank));
      EXPECT_EQ(came[i++].numpy(), numbers({5}, 10 * peer + rank));
    }
  });
}

TEST(Messages, OfTensorsOverAllPesTravelSideBySide) {
  Torch torch(machine(2));
  on_all_ranks(torch, [&](int rank) {
    const Tensor mine = torch.from_numpy(numbers({64, 4096}, rank), kColumns);
    const Tensor came = torch.zeros({64, 4096}, i32, kColumns);
    const Work sent = isend(mine, 1 - rank);
    recv(came, 1 - rank);
    sent.wait();
    EXPECT_EQ(came.numpy(), numbers({64, 4096}, 1 - rank));
  });
}

/// What was sent is what the tensor held when it was sent.
TEST(Messages, ComeBeforeALaterWriteToTheirTensor) {
  Torch torch(machine(2, "1x1"));
  on_all_ranks(torch, [&](int rank) {
    Tensor x = torch.from_numpy(numbers({8}, rank));
    if (rank == 1) {
      recv(x, 0);
      EXPECT_EQ(x.numpy(), numbers({8}, 0));
      return;
    }
    isend(x, 1);
    x.copy_(numbers({8}, 7));
    EXPECT_EQ(x.numpy(), numbers({8}, 7));
  });
}

TEST(Messages, ThatNobodyWaitsForAreSentWhenTheRankEnds) {
  Torch torch(machine(2, "1x1"));
  Tensor got;
  on_all_ranks(torch, [&](int rank) {
    const Tensor x = torch.from_numpy(numbers({8}, rank));
    if (rank == 0) isend(x, 1);
    if (rank == 1) recv(got = x, 0);
  });
  EXPECT_EQ(got.numpy(), numbers({8}, 0));
}

void nothing(tl::Context& tl, tl::Ptr x) { tl.load(tl.shard(x).ptr, {1}, i32); }

// The launch lets the isend go alone. Its program holds the PE until the peer receives, which that one will do after its own
// isend: the machine cannot go on, and the error says what to call first.
TEST(Messages, ALargeOneThatALaunchSeparatesFromItsReceiveIsExplained) {
  Torch torch(machine(2, "1x1"));
  const auto exchange = [&](bool receives_first) {
    on_all_ranks(torch, [&](int rank) {
      const Tensor mine = torch.from_numpy(numbers({kLarge}, rank));
      const Tensor came = torch.zeros({kLarge}, i32), other = torch.zeros({1}, i32);
      const Work sent = isend(mine, 1 - rank);
      const Work received = receives_first ? irecv(came, 1 - rank) : sent;
      torch.launch("nothing", nothing, other);
      if (!receives_first) recv(came, 1 - rank);
      received.wait();
      sent.wait();
      EXPECT_EQ(came.numpy(), numbers({kLarge}, 1 - rank));
    });
  };
  EXPECT_THAT(
      complaint([&] { exchange(false); }),
      ::testing::AllOf(HasSubstr("nobody receives"), HasSubstr("call recv or irecv before the launch")));
  exchange(true);
}

/// A large message that is waited for in a collective: the receiver takes it before it joins.
TEST(Messages, GoOutBeforeACollective) {
  Torch torch(machine(2, "1x1"));
  on_all_ranks(torch, [&](int rank) {
    const Tensor x = torch.from_numpy(numbers({kLarge}, rank));
    if (rank == 0) isend(x, 1);
    if (rank == 1) recv(x, 0);
    barrier(torch);
    EXPECT_EQ(x.numpy(), numbers({kLarge}, 0));
  });
}

}  // namespace
}  // namespace kernbench::dist::message_test
