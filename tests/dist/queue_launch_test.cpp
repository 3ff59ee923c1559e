// Kernels that talk through queues without being a collective.
#include "dist/dist_world.hpp"
#include "kernbench/deadlock.hpp"

namespace kernbench::dist::queue_launch_test {
namespace {

/// Everybody hands what it holds to `to` and takes what comes from `from`.
void hand_on(tl::Context& tl, tl::Ptr x, const std::string& to, const std::string& from) {
  const auto mine = tl.shard(x);
  tl.send(to, tl.load(mine.ptr, mine.shape, i32));
  tl.store(mine.ptr, tl.recv(from, mine.shape, i32));
}

/// Columns of `a`, each `n` wide, moved by one place.
NdArray moved(const NdArray& a, std::int64_t n) {
  NdArray out(i32, a.shape());
  const auto from = a.view<std::int32_t>();
  const auto to = out.view<std::int32_t>();
  for (std::size_t i = 0; i < from.size(); ++i) to[(i + static_cast<std::size_t>(n)) % from.size()] = from[i];
  return out;
}

TEST(QueueLaunches, JoinThePesOfACube) {
  Torch torch(machine(1));
  Tensor x = torch.from_numpy(counting({64}), DPPolicy{.pe = Split::column_wise, .num_cubes = 1}, "x");
  torch.wait(launch(torch, {.name = "hand_on", .topology = "intracube_ring"}, hand_on, x, std::string("E"),
                    std::string("W")));
  EXPECT_EQ(x.numpy(), moved(counting({64}), 8));
  EXPECT_TRUE(torch.hazards().empty());
}

// The PEs of the first row of cubes: 0 and 1 of a mesh of 2 × 2.
TEST(QueueLaunches, JoinCubesAndSips) {
  Torch torch(machine(2));
  spawn(
      torch,
      [&](int rank) {
        torch.ahbm.set_device(rank);
        const DPPolicy two_cubes{
            .cube = Split::column_wise, .pe = Split::replicate, .num_cubes = 2, .num_pes = 1};
        Tensor x = torch.from_numpy(numbers({16}, rank), two_cubes, "x");
        const QueueLaunch options{
            .topology = "intercube_intersip", .mapper = "pe0_per_cube", .group = torch.ahbm.cubes};
        launch(torch, options, hand_on, x, std::string("global_E"), std::string("global_W"));
        EXPECT_EQ(x.numpy(), numbers({16}, 1 - rank));
        const auto swap = [](tl::Context& tl, tl::Ptr p) {
          hand_on(tl, p, tl.program_id(1) == 0 ? "E" : "W", tl.program_id(1) == 0 ? "E" : "W");
        };
        launch(torch, options, swap, x);
        EXPECT_EQ(x.numpy(), moved(numbers({16}, 1 - rank), 8));
      },
      2);
  EXPECT_TRUE(torch.hazards().empty());
}

TEST(QueueLaunches, JoinRanksThatArePes) {
  Torch torch(machine(2));
  use_pes(torch, 5);
  spawn(
      torch,
      [&](int rank) {
        torch.ahbm.set_device(rank);
        Tensor x = torch.from_numpy(numbers({16}, rank));
        launch(torch, {.topology = "ring_1d"}, hand_on, x, std::string("E"), std::string("W"));
        EXPECT_EQ(x.numpy(), numbers({16}, (rank + 4) % 5));
      },
      5);
}

TEST(QueueLaunches, KeepMessagesForTheNextOne) {
  Torch torch(machine(1));
  const QueueLaunch ring{.topology = "intracube_ring"};
  const auto send = [](tl::Context& tl, tl::Ptr p) { tl.send("E", tl.load(p, {8}, i32)); };
  const auto receive = [](tl::Context& tl, tl::Ptr p) {
    if (tl.program_id(0) == 1) tl.store(tl.shard(p).ptr, tl.recv("W", {8}, i32));
  };
  Tensor x = torch.from_numpy(counting({8}), {}, "x");
  Tensor y = torch.zeros({16}, i32, DPPolicy{.pe = Split::column_wise, .num_cubes = 1, .num_pes = 2}, "y");
  launch(torch, ring, send, x);  // on PE 0
  launch(torch, ring, receive, y);
  NdArray expected = filled({16}, 0);
  std::iota(expected.view<std::int32_t>().begin() + 8, expected.view<std::int32_t>().end(), 0);
  EXPECT_EQ(y.numpy(), expected);
}

TEST(QueueLaunches, SayWhatIsMissing) {
  Torch torch(machine(2));
  Tensor x = torch.zeros({8}, i32);
  const auto hand = [](tl::Context& tl, tl::Ptr p) { hand_on(tl, p, "E", "W"); };
  EXPECT_THAT(complaint([&] { launch(torch, {.topology = "ringlet"}, hand, x); }), HasSubstr("ring_1d"));
  EXPECT_THAT(complaint([&] { launch(torch, {.topology = "ring_1d", .mapper = "some"}, hand, x); }),
              HasSubstr("all_pes"));
  EXPECT_THAT(complaint([&] { launch(torch, {.topology = "tree_binary"}, hand, x); }),
              HasSubstr("this PE has child_left"));
  EXPECT_THAT(complaint([&] { torch.launch("alone", hand, x); }), HasSubstr("this PE is not wired"));
  // Nobody launches the part of the other SIP.
  EXPECT_THROW(torch.wait(launch(torch, {.topology = "ring_1d"}, hand, x)), IpcqDeadlock);
  EXPECT_EQ(x.numpy(), filled({8}, 0));
}

}  // namespace
}  // namespace kernbench::dist::queue_launch_test
