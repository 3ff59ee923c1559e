// Several machines in one process, each simulated on threads of its own, know nothing of each other.
#include <gtest/gtest.h>

#include <thread>

#include "dist/dist_world.hpp"

namespace kernbench::dist::side_by_side_test {
namespace {

constexpr int kHosts = 4;

/// What a run is known by: its records, and a number that it computed.
struct Seen {
  std::uint64_t hash = 0;
  std::int32_t number = 0;
  bool operator==(const Seen&) const = default;
  // NOLINTNEXTLINE(readability-identifier-naming): GoogleTest looks for it
  friend void PrintTo(const Seen& seen, std::ostream* out) {
    *out << fmt::format("{} in a run of hash {:x}", seen.number, seen.hash);
  }
};

/// Hosts have different machines and numbers. Rank r of host h holds h + r everywhere: two ranks have 2h + 1, three 3h + 3.
Seen run_host(int host) {
  const int sips = 2 + host % 2;
  Torch torch(machine(sips, "2x1"), {.threads = 2, .replay_threads = 2});
  Seen out;
  on_all_ranks(torch, [&](int rank) {
    const Tensor x = torch.from_numpy(filled({2, 256}, host + rank), kRowPerCube);
    all_reduce(x);
    if (rank == 0) out.number = x.numpy().view<std::int32_t>()[0];
  });
  torch.synchronize();
  out.hash = torch.log().hash();
  return out;
}

/// A rank waits for what never comes.
std::string run_stuck_host() {
  Torch torch(machine(2, "1x1"), {.threads = 2});
  const auto causes = failures([&] {
    on_all_ranks(torch, [&](int rank) {
      if (rank == 0) recv(torch.zeros({8}, i32), 1);
    });
  });
  return causes.empty() ? "nothing" : causes.begin()->second;
}

TEST(SideBySide, HostsOnThreadsOfTheirOwnSeeWhatTheySeeAlone) {
  std::vector<Seen> alone, together(kHosts);
  for (int h = 0; h < kHosts; ++h) alone.push_back(run_host(h));
  {
    std::vector<std::jthread> hosts;
    for (int h = 0; h < kHosts; ++h)
      hosts.emplace_back([&together, h] { together[static_cast<std::size_t>(h)] = run_host(h); });
  }
  EXPECT_EQ(together, alone);
  for (int h = 0; h < kHosts; ++h)
    EXPECT_EQ(together[static_cast<std::size_t>(h)].number, h % 2 == 0 ? 2 * h + 1 : 3 * h + 3)
        << "host " << h;
}

TEST(SideBySide, AHostThatCannotGoOnHoldsUpNoOther) {
  const std::string stuck_alone = run_stuck_host();
  const Seen alone = run_host(1);
  std::string stuck;
  Seen other;
  {
    std::jthread one([&] { stuck = run_stuck_host(); });
    std::jthread two([&] { other = run_host(1); });
  }
  EXPECT_EQ(stuck, stuck_alone);
  EXPECT_THAT(stuck, HasSubstr("recv"));
  EXPECT_EQ(other, alone);
}

}  // namespace
}  // namespace kernbench::dist::side_by_side_test
