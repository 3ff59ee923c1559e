// Models from outside the tree at work: those of docs/own-models.md, and one that says late what it knows early.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <utility>

#include "device/device_world.hpp"
#include "device/queue_world.hpp"
#include "device/traffic.hpp"
#include "own_models.hpp"

namespace kernbench::device::own_models_test {
namespace {

using models::MemoryBehaviour;
using testing::Transfer;
using testing::TransferStart;
using topology::NodeId;

/// The plain memory, but a burst is answered when it is through, by an event: as a model must that does not know earlier.
class LateAnswers : public models::MemoryModel, models::MemoryAnswers {
 public:
  LateAnswers(const MemoryBehaviour& plain, const ParamSet& hbm, const models::MemoryPlace& place)
      : place_(place), plain_(plain.make(hbm, {place.partition, *this})) {}
  void request(const models::MemoryRequest& request) override { plain_->request(request); }

 private:
  struct Answer : sim::Event {
    Answer(LateAnswers& o, std::uint64_t t, std::int64_t b) : Event(&fire), of(o), tag(t), burst(b) {}
    static void fire(sim::Event& e) {
      auto& answer = static_cast<Answer&>(e);
      const Time now = answer.time();
      answer.of.place_.answers.through(answer.tag, answer.burst, {&now, 1});
    }
    LateAnswers& of;
    std::uint64_t tag;
    std::int64_t burst;
  };
  void through(std::uint64_t tag, std::int64_t first, std::span<const Time> at) override {
    for (const Time time : at) place_.partition.schedule_at(answers_.emplace_back(*this, tag, first++), time);
  }

  const models::MemoryPlace place_;
  std::deque<Answer> answers_;
  std::unique_ptr<models::MemoryModel> plain_;
};

/// Waits until everybody of an instant has come, as the contract says, and counts who comes after all.
class Patient : public models::MemoryModel {
 public:
  static inline int late = 0;
  static inline std::size_t most = 0;  // of one instant

  Patient(const ParamSet&, const models::MemoryPlace& place) : place_(place), all_here_(*this) {}
  void request(const models::MemoryRequest& request) override {
    late += request.at == served_at_;
    waiting_.push_back(request);
    if (!all_here_.scheduled()) place_.partition.choose(all_here_, UINT64_MAX);
  }

 private:
  void serve() {
    served_at_ = place_.partition.now();
    most = std::max(most, waiting_.size());
    for (const models::MemoryRequest& r : std::exchange(waiting_, {})) {
      const std::vector<Time> through(static_cast<std::size_t>(r.count), served_at_ + 8_ns);
      place_.answers.through(r.tag, 0, through);
    }
  }
  const models::MemoryPlace place_;
  std::vector<models::MemoryRequest> waiting_;
  Time served_at_ = Time::never();
  sim::MemberEvent<&Patient::serve> all_here_;
};

/// The plain memory, but bursts are served as they come, whoever asks.
class FirstCome : public models::PromptMemory {
 public:
  FirstCome(const MemoryBehaviour& plain, const ParamSet& hbm, const models::MemoryPlace& place)
      : PromptMemory(place), plain_(plain.make(hbm, place)) {}
  Time serve(std::int64_t burst, Direction direction, Time at) override {
    return plain_->prompt()->serve(burst, direction, at);
  }

 private:
  std::unique_ptr<models::MemoryModel> plain_;
};

topology::Registry registry() {
  topology::Registry all = kernbench::testing::registry_with_own_models();
  const auto plain = std::get<MemoryBehaviour>(all.find("hbm")->impls.front().behaviour);
  const auto late = [plain](const ParamSet& hbm, const models::MemoryPlace& place) {
    return std::make_unique<LateAnswers>(plain, hbm, place);
  };
  const auto first_come = [plain](const ParamSet& hbm, const models::MemoryPlace& place) {
    return std::make_unique<FirstCome>(plain, hbm, place);
  };
  all.add_impl("hbm", {"test.first_come", "", {}, MemoryBehaviour{.make = first_come, .gathers = false}});
  all.add_impl("hbm", {"test.late_answers", "", {}, MemoryBehaviour{.make = late, .gathers = false}});
  all.add_impl("hbm", {"test.patient", "", {}, models::memory<Patient>()});
  return all;
}

topology::Machine machine(std::vector<std::string> overrides) {
  overrides.insert(overrides.begin(),
                   {"cube.routers.overhead_ns=0", "sip.cube_mesh.w=2", "sip.cube_mesh.h=1"});
  return topology::load_machine("default", overrides, registry());
}

/// Random reads and writes of some PEs, issued at random times: when each retired.
class RandomWork {
 public:
  RandomWork(std::uint32_t seed, const std::vector<std::string>& overrides, FabricOptions options)
      : device_(machine(overrides), options), random_(seed) {
    const int count = random_.pick(2, 40);
    const int spread = 1 << random_.pick(6, 16);
    for (int i = 0; i < count; ++i) add(Time::from_ps(random_.pick(0, spread)));
  }
  std::vector<std::int64_t> times(int threads = 1) {
    device_.simulation().run({.threads = threads});
    std::vector<std::int64_t> all;
    for (const auto& work : works_) all.push_back(work->retired.ps());
    return all;
  }

 private:
  PeCoord any_pe() { return {random_.pick(0, 1), random_.pick(0, 1), random_.pick(0, 3)}; }
  void add(Time at) {
    const PeCoord pe = any_pe();
    sim::Partition& here = device_.simulation().partition(pe.sip + 1);
    Transfer& work = *works_.emplace_back(std::make_unique<Transfer>(here));
    work.direction = random_.pick(0, 1) ? Direction::read : Direction::write;
    work.end = device_.graph().pe(pe, topology::NodeKind::pe_tcm);
    const std::int64_t row = random_.pick({64, 200, 256, 4096, 20000});
    const std::int64_t rows = random_.pick(0, 3) ? 1 : random_.pick(2, 6);
    work.pieces = {
        {&device_.hbm(any_pe()),
         {.offset = 64 * random_.pick(0, 1000), .row_bytes = row, .rows = rows, .stride = row + 512}}};
    here.schedule_at(*starts_.emplace_back(std::make_unique<TransferStart>(device_.dma(pe), work)), at);
  }

  Device device_;
  testing::Random random_;
  std::vector<std::unique_ptr<Transfer>> works_;
  std::vector<std::unique_ptr<TransferStart>> starts_;
};

TEST(OwnMemory, ThatAnswersLateGivesTheTimesOfOneThatAnswersEarly) {
  const auto [first, end] = testing::seeds(1, 60);
  for (std::uint32_t seed = first; seed < end; ++seed)
    for (const bool runs : {false, true})
      EXPECT_EQ(RandomWork(seed, {"cube.hbm.impl=test.late_answers"}, {.shortcuts = runs}).times(),
                RandomWork(seed, {"cube.hbm.impl=test.first_come"}, {.shortcuts = runs}).times())
          << "seed " << seed << (runs ? " in runs" : " by packets");
}

TEST(OwnMemory, CanWaitUntilEverybodyOfAnInstantHasCome) {
  Patient::late = 0, Patient::most = 0;
  for (std::uint32_t seed = 1; seed < 40; ++seed)
    for (const bool runs : {false, true})
      RandomWork(seed, {"cube.hbm.impl=test.patient"}, {.shortcuts = runs}).times();
  EXPECT_EQ(Patient::late, 0);
  EXPECT_GT(Patient::most, 2u);
}

TEST(OwnModels, GiveTheSameTimesWithAndWithoutRunsAndOnTwoThreads) {
  const std::vector<std::vector<std::string>> variants = {
      {"cube.routers.impl=acme.late_fee"},
      {"cube.routers.impl=acme.small_first"},
      {"cube.hbm.impl=acme.first_ready"},
      {"pe.pe_dma.impl=acme.windowed_dma", "pe.pe_dma.window_bytes=4096"},
      {"pe.pe_dma.window_bytes=1000", "pe.pe_mmu.overhead_ns=3"},
      {"pe.pe_dma.window_bytes=16384", "pe.pe_dma.overhead_ns=1"},
      {"cube.routers.impl=acme.late_fee", "cube.hbm.impl=acme.first_ready",
       "pe.pe_dma.impl=acme.windowed_dma"}};
  const auto [first, end] = testing::seeds(1, 20);
  for (std::uint32_t seed = first; seed < end; ++seed)
    for (const auto& variant : variants) {
      const auto expected = RandomWork(seed, variant, {.shortcuts = false}).times();
      EXPECT_EQ(RandomWork(seed, variant, {.shortcuts = true}).times(), expected)
          << variant[0] << " seed " << seed;
      EXPECT_EQ(RandomWork(seed, variant, {.shortcuts = true}).times(2), expected)
          << variant[0] << " seed " << seed;
      for (const std::int64_t retired : expected)
        EXPECT_NE(retired, Time::never().ps()) << variant[0] << " seed " << seed;
    }
}

/// Messages between routers of cube 0, whose wires are 30 ps long; 256 B take 500 ps of a link.
class RouterWorld {
 public:
  explicit RouterWorld(const std::string& impl, FabricOptions options = {})
      : device_(machine({"cube.routers.impl=" + impl}), options) {}
  testing::Tracked& send(const std::string& from, Bytes bytes, Time at) {
    auto& message =
        *messages_.emplace_back(std::make_unique<testing::Tracked>(device_.fabric(), device_.simulation()));
    const auto node = [&](const std::string& name) { return device_.graph().find("sip0.cube0." + name); };
    message.route = &device_.fabric().route(node(from), node("r0c3"));
    message.bytes = bytes;
    message.send_at(at);
    return message;
  }
  void run() { device_.simulation().run(); }

 private:
  Device device_;
  std::vector<std::unique_ptr<testing::Tracked>> messages_;
};

std::int64_t delivered(const testing::Tracked& message) { return message.times()[1]; }

// A: r0c0 at 0; r0c1 30–530; r0c2 60–560; r0c3 90–590 ps. B starts at r0c1 at 100 ps and finds the link busy until 530: its head is at r0c2
// at 560, a nanosecond later with the fee, and its last byte at r0c3 500 + 30 ps after that.
TEST(OwnLink, WhoWaitedPaysAndNobodyElse) {
  for (const auto& [impl, fee] : {std::pair{"builtin.router", 0}, {"acme.late_fee", 1000}}) {
    RouterWorld world(impl);
    const auto& a = world.send("r0c0", 256_B, 0_ns);
    const auto& b = world.send("r0c1", 256_B, 100_ps);
    world.run();
    EXPECT_EQ(delivered(a), 590) << impl;
    EXPECT_EQ(delivered(b), 560 + fee + 500 + 30) << impl;
  }
}

// The packets of A come to r0c1 one behind the other, the first at 30 ps; C of 64 B starts there at 100 ps. By priority it goes when the
// link is free, at 530: r0c2 560–685, r0c3 715 ps. In turn it does not.
TEST(OwnLink, SmallMessagesGoFirst) {
  const auto time = [](const std::string& impl) {
    RouterWorld world(impl);
    world.send("r0c0", 4_KiB, 0_ns);
    const auto& c = world.send("r0c1", 64_B, 100_ps);
    world.run();
    return delivered(c);
  };
  EXPECT_EQ(time("acme.small_first"), 715);
  EXPECT_GT(time("builtin.router"), 715);
}

TEST(OwnDma, AWindowBoundsTheRate) {
  const auto time = [](std::int64_t bytes) {
    Device device(machine({"pe.pe_dma.impl=acme.windowed_dma", "pe.pe_dma.window_bytes=1024"}));
    Transfer read(device.simulation().partition(1));
    read.end = device.graph().pe({0, 0, 0}, topology::NodeKind::pe_dma);
    read.pieces = {{&device.hbm({0, 0, 0}), {.offset = 0, .row_bytes = bytes}}};
    device.dma({0, 0, 0}).issue(read);
    device.simulation().run();
    return read.retired;
  };
  EXPECT_EQ(time(16 * 1024), time(1024) * 16);  // one request of 1 KiB after the other
}

// A row of 2 bursts a channel: bursts 0 and 16 miss, burst 8 hits the row of burst 0 and goes before 16, which came before it.
TEST(OwnMemory, AHitGoesBeforeAnOlderMiss) {
  struct Answers : models::MemoryAnswers {
    std::vector<Time> at = std::vector<Time>(3);
    void through(std::uint64_t tag, std::int64_t, std::span<const Time> times) override {
      at[tag] = times[0];
    }
  } answers;
  sim::Simulation simulation;
  const topology::Machine m = machine({"cube.hbm.impl=acme.first_ready", "cube.hbm.bursts_per_row=2"});
  const auto model =
      m.behaviour<MemoryBehaviour>("cube.hbm").make(m.at("cube.hbm"), {simulation.partition(0), answers});
  std::uint64_t tag = 0;
  for (const std::int64_t burst : {0, 16, 8}) model->request({.first = burst, .tag = tag++});
  simulation.run();
  EXPECT_EQ(answers.at[0], 45_ns + 8_ns);         // a miss, and 8 ns on the bus
  EXPECT_EQ(answers.at[2], 8_ns + 15_ns + 8_ns);  // a hit, when the bus is free
  EXPECT_EQ(answers.at[1], 16_ns + 45_ns + 8_ns);
}

/// PE 0 sends references E: to what lies in its own slice, and in the receiver's, where the ring may lie as well. When each was
/// committed, and when it had left.
std::vector<std::int64_t> references(const std::string& impl, address::MemorySpace ring) {
  using namespace kernbench::dtypes;
  constexpr PeCoord kFrom{0, 0, 0}, kTo{0, 1, 3};
  testing::QueueWorld w(machine({"cube.hbm.impl=" + impl}));
  w.wiring.rules.memory = ring;
  w.link(kFrom, "E", kTo, "W");
  w.map(kFrom);
  constexpr std::uint64_t kThere = 0x2'0000'0000;
  w.device.mmu(kFrom).insert(address::VirtAddr(kThere),
                             {address::pe_hbm_addr(kTo, w.device.machine().hbm_slice(), 0_B), 1_MiB},
                             "there");
  constexpr int kMessages = 12;
  w.run({kFrom, kTo}, [&](tl::Context& tl) {
    for (int i = 0; i < kMessages; ++i) {
      const std::int64_t n = 100 * (i + 1);
      if (testing::pe_of(tl) == kTo) tl.recv("W", {n}, f16);
      if (testing::pe_of(tl) == kFrom)
        tl.send("E", tl.ref(tl::Ptr(i % 2 ? kThere : testing::kSlice) + 96 * i, {n}, f16));
    }
  });
  std::vector<std::int64_t> times;
  for (const OpRecord& r : w.of(kFrom, OpKind::ipcq_send))
    times.insert(times.end(), {r.end.ps(), r.retired().ps()});
  EXPECT_EQ(times.size(), 2u * kMessages);
  return times;
}

TEST(OwnMemory, ReferencesAreSentFromAndIntoOneThatAnswersLate) {
  for (const auto ring : {address::MemorySpace::Tcm, address::MemorySpace::Hbm})
    EXPECT_EQ(references("test.late_answers", ring), references("test.first_come", ring));
}

}  // namespace
}  // namespace kernbench::device::own_models_test
