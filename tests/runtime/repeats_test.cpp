// What comes again in the same state is taken over: the run is the same to the last record.
#include <fmt/format.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "runtime/engine.hpp"
#include "runtime/host_world.hpp"
#include "seeds.hpp"

namespace kernbench::runtime::repeats_test {
namespace {

using address::MemorySpace;

const DPPolicy kColumns{.cube = Split::column_wise, .pe = Split::column_wise};

/// 1 + 3 · times commands on each of 32 PEs: more than a stretch has at least.
void add_often(tl::Context& tl, tl::Ptr x, int times) {
  const auto& mine = tl.shard(x);
  for (int i = 0; i < times; ++i) tl.store(mine.ptr, tl.load(mine.ptr, mine.shape, mine.dtype) + 1);
}

/// All that is to be the same.
std::string facts_of(Torch& torch) {
  torch.synchronize();
  std::string text = fmt::format("{:016x} at {} ps\n", torch.log_hash(), torch.now().ps());
  for (const Trace& t : torch.traces())
    text += fmt::format("{} {} {} {} {} {}\n", t.name, t.submitted.ps(), t.queued.ps(), t.total.ps(),
                        t.pe_exec.ps(), t.late_starts);
  for (const LinkQueue& link : torch.link_queues())
    text += fmt::format("{} {} {}\n", link.link, link.carried.count(), link.deepest_wait.ps());
  device::Device& device = torch.engine().device();
  for (int pe = 0; pe < device.machine().pes(); ++pe)
    text += fmt::format("{} ", device.hbm({0, 0, pe}).bytes_served().count());
  return text + fmt::format("{}", device.fabric().counters().messages);
}

using Program = std::function<void(Torch&)>;

struct Both {
  std::string skipped, simulated;
  std::uint64_t taken_over;
};
Both run_both(const Program& program, TorchOptions options = {}, std::vector<std::string> overrides = {}) {
  Both both;
  for (const bool skip : {true, false}) {
    options.skip = skip;
    Torch torch(small(overrides), options);
    program(torch);
    (skip ? both.skipped : both.simulated) = facts_of(torch);
    if (skip) {
      both.taken_over = torch.taken_over();
    } else {
      EXPECT_EQ(torch.taken_over(), 0u);
    }
  }
  return both;
}

// The first belongs to the stretch that made the tensor. The second begins with a request that was seen in it, and is kept; the
// third and all that follow are taken over.
TEST(Repeats, ALaunchThatComesAgainIsTakenOver) {
  const auto both = run_both([](Torch& torch) {
    Tensor x = torch.zeros({32, 64}, i32, kColumns);
    torch.synchronize();
    for (int i = 0; i < 10; ++i) torch.wait(torch.launch("add", add_often, x, 5));
    EXPECT_EQ(values(x.numpy())[7], 50);
  });
  EXPECT_EQ(both.skipped, both.simulated);
  EXPECT_EQ(both.taken_over, 8u);
}

TEST(Repeats, LaunchesThatWaitInTheirStreamAreTakenOverToo) {
  const auto both = run_both([](Torch& torch) {
    Tensor x = torch.zeros({32, 64}, i32, kColumns);
    torch.synchronize();
    for (int i = 0; i < 10; ++i) torch.launch("add", add_often, x, 5);
    EXPECT_EQ(values(x.numpy())[7], 50);
  });
  EXPECT_EQ(both.skipped, both.simulated);
  EXPECT_EQ(both.taken_over, 8u);
}

TEST(Repeats, AStepThatDiffersInOneParameterIsSimulated) {
  const auto both = run_both([](Torch& torch) {
    Tensor x = torch.zeros({32, 64}, i32, kColumns);
    torch.synchronize();
    for (int i = 0; i < 10; ++i) torch.wait(torch.launch("add", add_often, x, i == 6 ? 6 : 5));
    EXPECT_EQ(values(x.numpy())[7], 51);
  });
  EXPECT_EQ(both.skipped, both.simulated);
  EXPECT_EQ(both.taken_over, 7u);
}

// A launch too short for a stretch of its own, then a long one, which is another one in round 6: the short one had been
// taken over by then, and is simulated after all.
TEST(Repeats, WhatWasTakenOverIsSimulatedIfSomethingElseFollows) {
  const auto both = run_both([](Torch& torch) {
    Tensor x = torch.zeros({32, 64}, i32, kColumns);
    torch.wait(torch.launch("add", add_often, x, 7));
    for (int i = 0; i < 10; ++i) {
      torch.wait(torch.launch("short", add_often, x, 1));
      torch.wait(torch.launch("long", add_often, x, i == 6 ? 9 : 8));
    }
    EXPECT_EQ(values(x.numpy())[7], 7 + 10 * 9 + 1);
  });
  EXPECT_EQ(both.skipped, both.simulated);
  EXPECT_GE(both.taken_over, 8u);
}

// Tensors that are made and dropped in each round lie where those of the round before did.
// The third is taken over from the second, whose programs are kept; with a log, those of the first are there too.
TEST(Repeats, LaunchesWithEqualProgramsHaveThemInCommon) {
  for (const auto log : {LogStorage::memory, LogStorage::none}) {
    Torch torch(small(), {.data = false, .log = log});
    Tensor x = torch.empty({32, 64}, i32, kColumns), y = torch.empty({32, 64}, i32, kColumns);
    torch.synchronize();
    std::vector<ProgramSetPtr> sets;
    torch.engine().watch_launches([&](const LaunchRequest& launch) { sets.push_back(launch.program_set()); });
    for (int i = 0; i < 3; ++i) torch.wait(torch.launch("add", add_often, x, 5));
    torch.wait(torch.launch("add", add_often, y, 5));
    torch.wait(torch.launch("add", add_often, x, 6));
    ASSERT_EQ(sets.size(), 5u);
    EXPECT_EQ(sets[1], sets[2]);
    EXPECT_NE(sets[2], sets[3]);
    EXPECT_NE(sets[2], sets[4]);
    EXPECT_EQ(sets[0]->fingerprints(), sets[1]->fingerprints());
    EXPECT_EQ(sets[0]->fingerprint(31), sets[0]->programs()[31]->fingerprint());
    EXPECT_EQ(torch.taken_over(), 1u);
  }
}

TEST(Repeats, MapsAndUnmapsAreTakenOverAndMmusKnowWhatIsLeft) {
  const auto both = run_both([](Torch& torch) {
    Tensor x = torch.zeros({32, 64}, i32, kColumns);
    torch.synchronize();
    Tensor kept;
    for (int i = 0; i < 9; ++i) {
      {
        Tensor y = torch.zeros({32, 64}, i32, kColumns);
        torch.launch("add", add_often, y, 5);
        if (i == 8) kept = y;
      }
      torch.synchronize();
    }
    torch.launch("add", add_often, kept, 2);
    torch.launch("add", add_often, x, 2);
    EXPECT_EQ(values(kept.numpy())[0], 7);
  });
  EXPECT_EQ(both.skipped, both.simulated);
  EXPECT_GE(both.taken_over, 5u);
}

TEST(Repeats, WhoLooksInTheMiddleOfAStretchSeesWhatHasHappened) {
  const auto both = run_both([](Torch& torch) {
    Tensor x = torch.zeros({32, 64}, i32, kColumns);
    torch.wait(torch.launch("add", add_often, x, 7));
    for (int i = 0; i < 8; ++i) {
      torch.wait(torch.launch("short", add_often, x, 1));
      if (i % 3 == 2) torch.link_queues();
      torch.wait(torch.launch("long", add_often, x, 8));
    }
  });
  EXPECT_EQ(both.skipped, both.simulated);
  EXPECT_GE(both.taken_over, 4u);
}

// Row buffers and refresh: what came before makes a difference.
TEST(Repeats, MemoriesThatRememberAreSimulated) {
  const auto both = run_both(
      [](Torch& torch) {
        Tensor x = torch.zeros({32, 64}, i32, kColumns);
        torch.synchronize();
        for (int i = 0; i < 5; ++i) torch.wait(torch.launch("add", add_often, x, 5));
      },
      {}, {"cube.hbm.impl=builtin.hbm_rows"});
  EXPECT_EQ(both.skipped, both.simulated);
  EXPECT_EQ(both.taken_over, 0u);
}

TEST(Repeats, HazardsAndLogsOnDiskOrNowhereAreTheSame) {
  const Program program = [](Torch& torch) {
    Tensor x = torch.empty({32, 64}, i32, kColumns);
    for (int i = 0; i < 8; ++i) torch.wait(torch.launch("add", add_often, x, 5));
    if (torch.engine().options().log != LogStorage::none) {
      EXPECT_TRUE(torch.hazards().empty());
    }
  };
  for (const LogStorage log : {LogStorage::memory, LogStorage::disk, LogStorage::none}) {
    const auto both = run_both(
        program, {.data = false, .log = log, .log_folder = std::filesystem::temp_directory_path().string()});
    EXPECT_EQ(both.skipped, both.simulated);
    EXPECT_GE(both.taken_over, 5u);
  }
}

// ── queues ──

/// The PEs 0 … 7 of cube 0 in a ring, its slots in a memory.
device::WiringPtr ring_in(Engine& engine, MemorySpace memory, int slots) {
  constexpr int kPes = 8;
  device::QueueWiring wiring{.name = "ring", .rules = {.slots = slots, .memory = memory}, .pes = {}};
  const Bytes size = wiring.rules.slot_size * wiring.rules.slots;
  std::vector<address::PhysAddr> rings;
  for (int i = 0; i < kPes; ++i)
    rings.push_back(engine.space().pools().allocate(memory, {0, 0, i}, {.size = size, .owner = "ring"}));
  std::vector<address::PhysAddr> back;
  for (int i = 0; i < kPes; ++i)
    back.push_back(engine.space().pools().allocate(memory, {0, 0, i}, {.size = size, .owner = "ring"}));
  for (int i = 0; i < kPes; ++i) {
    const int east = (i + 1) % kPes, west = (i + kPes - 1) % kPes;
    const auto at = [](const auto& all, int pe) { return all[static_cast<std::size_t>(pe)]; };
    wiring.pes.push_back({{0, 0, i},
                          {{"E", {0, 0, east}, at(back, i), at(rings, east)},
                           {"W", {0, 0, west}, at(rings, i), at(back, west)}}});
  }
  return engine.processors().queues().add(wiring);
}

void pass(Torch& torch, const device::WiringPtr& wiring, const Tensor& x, int times) {
  LaunchSpec spec{.name = "pass", .targets = {}, .num_programs = {8, 1, 1}, .wiring = wiring};
  for (int pe = 0; pe < 8; ++pe) spec.targets.push_back({0, 0, pe});
  torch.engine().launch(spec, {x.state().get()}, [&](tl::Context& tl) {
    const auto& mine = tl.shard(x.ptr());
    for (int i = 0; i < times; ++i) {
      tl.send("E", tl.load(mine.ptr, mine.shape, mine.dtype));
      tl.store(mine.ptr, tl.recv("W", mine.shape, mine.dtype));
    }
  });
}

// Each launch sends 15 messages to a neighbour through rings of 4 slots: the next one begins a slot before. In TCM and SRAM
// that makes no difference to time; in HBM every fourth launch finds its rings as they were.
TEST(Repeats, RingsGoOnWhereTheyStand) {
  for (const auto& [memory, least] :
       {std::pair(MemorySpace::Tcm, 20u), {MemorySpace::Sram, 20u}, {MemorySpace::Hbm, 12u}}) {
    std::vector<std::uint64_t> sent;
    const auto both = run_both([&, memory = memory](Torch& torch) {
      Engine& engine = torch.engine();
      const auto wiring = ring_in(engine, memory, 4);
      Tensor x = torch.from_numpy(counting({16}), DPPolicy{.pe = Split::column_wise, .num_cubes = 1});
      engine.install(engine.current_stream(), wiring);
      for (int i = 0; i < 24; ++i) {
        pass(torch, wiring, x, 15);
        torch.synchronize();
      }
      // 24 · 15 steps of 2 elements around 16 are 45 rounds.
      EXPECT_EQ(values(x.numpy()), values(counting({16})));
      sent.push_back(engine.processors().pe({0, 0, 0}).ipcq().find(*wiring)->front()->sends.my_head());
    });
    EXPECT_EQ(both.skipped, both.simulated);
    EXPECT_GE(both.taken_over, least);
    EXPECT_EQ(sent, (std::vector<std::uint64_t>{360, 360}));
  }
}

// ── random host programs ──

struct Action {
  int kind, amount;
};

class Rounds {
 public:
  explicit Rounds(std::uint32_t seed) : random_(seed) {
    memory_ = pick({0, 1, 2});
    slots_ = pick({2, 4, 5});
    for (int i = 2 + pick({0, 1, 2, 3}); i > 0; --i) pattern_.push_back(action());
    for (int i = 8 + pick({0, 4, 8}); i > 0; --i) {
      rounds_.push_back(pattern_);
      if (pick({0, 0, 0, 0, 0, 1}) == 1)
        rounds_.back()[static_cast<std::size_t>(pick(static_cast<int>(pattern_.size())))] = action();
    }
  }

  TorchOptions options() {
    return {.data = pick({0, 1}) == 1, .threads = 1 + pick({0, 1}), .packets = pick({0, 0, 1}) == 1};
  }

  void run(Torch& torch) {
    Engine& engine = torch.engine();
    constexpr std::array kMemories = {MemorySpace::Tcm, MemorySpace::Sram, MemorySpace::Hbm};
    const auto wiring = ring_in(engine, kMemories[static_cast<std::size_t>(memory_)], slots_);
    Tensor ring = torch.from_numpy(counting({16}), DPPolicy{.pe = Split::column_wise, .num_cubes = 1});
    engine.install(engine.current_stream(), wiring);
    std::vector<Tensor> x;
    for (int sip = 0; sip < 2; ++sip) {
      torch.ahbm.set_device(sip);
      x.push_back(torch.zeros({32, 64}, i32, kColumns));
    }
    torch.ahbm.set_device(0);
    Handle last = torch.launch("add", add_often, x[0], 2);
    for (const auto& round : rounds_)
      for (const Action& a : round) act(torch, a, wiring, ring, x, last);
  }

 private:
  int pick(std::initializer_list<int> all) { return all.begin()[pick(static_cast<int>(all.size()))]; }
  int pick(int below) { return std::uniform_int_distribution(0, below - 1)(random_); }
  Action action() { return {pick(10), 1 + pick(8)}; }

  static void act(Torch& torch, const Action& a, const device::WiringPtr& wiring, const Tensor& ring,
                  std::vector<Tensor>& x, Handle& last) {
    const auto add = [&](int sip, int times) {
      torch.ahbm.set_device(sip);
      last = torch.launch("add", add_often, x[static_cast<std::size_t>(sip)], times);
      torch.ahbm.set_device(0);
    };
    switch (a.kind) {
      case 0:
        return add(0, a.amount);
      case 1:
        return add(1, a.amount);
      case 2: {
        Tensor y = torch.zeros({32, 64}, i32, kColumns);
        torch.launch("temporary", add_often, y, a.amount);
        return;
      }
      case 3:
        return pass(torch, wiring, ring, a.amount);
      case 4:
        x[0].copy_(filled({32, 64}, a.amount));
        return;
      case 5:
        if (torch.has_data()) x[1].numpy();
        return;
      case 6:
        return torch.wait(last);
      case 7:
        torch.link_queues();
        return;
      default:
        return torch.synchronize();
    }
  }

  std::mt19937 random_;
  int memory_ = 0, slots_ = 4;
  std::vector<Action> pattern_;
  std::vector<std::vector<Action>> rounds_;
};

TEST(Repeats, RandomHostProgramsAreTheSameWithAndWithout) {
  std::uint64_t taken_over = 0;
  const auto [first, end] = testing::seeds(0, 100);
  for (std::uint32_t seed = first; seed < end; ++seed) {
    Rounds rounds(seed);
    const auto both =
        run_both([&](Torch& torch) { rounds.run(torch); }, rounds.options(), {"system.sips.count=2"});
    ASSERT_EQ(both.skipped, both.simulated) << "seed " << seed;
    taken_over += both.taken_over;
  }
  EXPECT_GE(taken_over, end - first);
}

}  // namespace
}  // namespace kernbench::runtime::repeats_test
