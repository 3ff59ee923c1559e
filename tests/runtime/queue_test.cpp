// Launches whose kernels send and receive: what the layers above build collectives from.
#include "runtime/engine.hpp"
#include "runtime/host_world.hpp"

namespace kernbench::runtime::queue_test {
namespace {

/// The PEs 0 … n−1 of cube 0, E of each joined with W of the next, around.
device::WiringPtr ring_of(Engine& engine, int n) {
  device::QueueWiring wiring{.name = "ring", .rules = {}, .pes = {}};
  const Bytes size = wiring.rules.slot_size * wiring.rules.slots;
  std::vector<address::PhysAddr> from_west, from_east;
  for (int pe = 0; pe < n; ++pe)
    for (auto* rings : {&from_west, &from_east})
      rings->push_back(engine.space().pools().allocate(address::MemorySpace::Tcm, {0, 0, pe},
                                                       {.size = size, .owner = "ring"}));
  for (int pe = 0; pe < n; ++pe) {
    const int east = (pe + 1) % n, west = (pe + n - 1) % n;
    const auto at = [](const auto& rings, int i) { return rings[static_cast<std::size_t>(i)]; };
    wiring.pes.push_back({{0, 0, pe},
                          {{"E", {0, 0, east}, at(from_east, pe), at(from_west, east)},
                           {"W", {0, 0, west}, at(from_west, pe), at(from_east, west)}}});
  }
  return engine.processors().queues().add(wiring);
}

LaunchSpec on_ring(const device::WiringPtr& wiring, const std::string& name, int n) {
  LaunchSpec spec{name, {}, {n, 1, 1}, wiring};
  for (int pe = 0; pe < n; ++pe) spec.targets.push_back({0, 0, pe});
  return spec;
}

void pass_east(tl::Context& tl, tl::Ptr x) {
  const auto& mine = tl.shard(x);
  tl.send("E", tl.load(mine.ptr, mine.shape, mine.dtype));
  tl.store(mine.ptr, tl.recv("W", mine.shape, mine.dtype));
}

TEST(Queues, AKernelPassesValuesAroundARing) {
  Torch torch(small());
  Engine& engine = torch.engine();
  const auto wiring = ring_of(engine, 8);
  Tensor x = torch.from_numpy(counting({16}), DPPolicy{.pe = Split::column_wise, .num_cubes = 1});
  engine.install(engine.current_stream(), wiring);
  for (int i = 0; i < 10; ++i)  // slots wrap around
    engine.launch(on_ring(wiring, "pass_east", 8), {x.state().get()},
                  [&](tl::Context& tl) { pass_east(tl, x.ptr()); });
  // Ten steps east are two: element j comes from element j − 4.
  const std::vector<std::int32_t> got = values(x.numpy());
  for (std::size_t j = 0; j < 16; ++j) EXPECT_EQ(got[j], static_cast<std::int32_t>((j + 12) % 16));
  EXPECT_TRUE(torch.hazards().empty());
  EXPECT_EQ(torch.traces()[2].phase, Phase::install);
  EXPECT_EQ(torch.traces()[2].name, "ring");
  EXPECT_EQ(torch.log().summary().total.ipcq_send.count, 80u);
}

// A port of a cube takes 1 µs, so that a message over five cubes takes 10 µs. The launch that sends the reference ends when its
// bytes have left. The host hears of it 2 µs later, and 4 µs after that its write has been acknowledged: what arrives is
// what was there before.
TEST(Queues, TheHostMayOverwriteAReferenceThatHasLeft) {
  Torch torch(
      load({"sip.cube_mesh.w=6", "cube.ucie.overhead_ns=1000", "energy.launch_pj=1"}));  // all listeners
  Engine& engine = torch.engine();
  const PeCoord from{0, 0, 0}, to{0, 5, 0};
  device::QueueWiring plan{.name = "far", .rules = {}, .pes = {}};
  const auto ring = engine.space().pools().allocate(
      address::MemorySpace::Tcm, to, {.size = plan.rules.slot_size * plan.rules.slots, .owner = "ring"});
  plan.pes = {{from, {{"E", to, {}, ring, true, false}}}, {to, {{"W", from, ring, {}, false, true}}}};
  const auto wiring = engine.processors().queues().add(plan);
  Tensor x = torch.from_numpy(counting({64})), y = torch.zeros({64}, i32);
  engine.install(engine.current_stream(), wiring);
  engine.launch({"send", {from}, {1, 1, 1}, wiring}, {x.state().get()},
                [&](tl::Context& tl) { tl.send("E", tl.ref(x.ptr(), {64}, i32)); });
  x.copy_(filled({64}, 7));
  const auto overwritten = values(x.numpy());  // while the message is on its way
  engine.launch({"receive", {to}, {1, 1, 1}, wiring}, {y.state().get()},
                [&](tl::Context& tl) { tl.store(y.ptr(), tl.recv("W", {64}, i32)); });
  EXPECT_EQ(values(y.numpy()), values(counting({64})));
  EXPECT_EQ(overwritten, values(filled({64}, 7)));
  EXPECT_TRUE(torch.hazards().empty());
  EXPECT_EQ(torch.log().summary().total.ipcq_send.count, 1u);
  EXPECT_EQ(torch.log().summary().total.dma_read.count, 0u);
}

TEST(Queues, AMessageNobodyReadsIsAHazardWhenTheWiringGoes) {
  Torch torch(small());
  Engine& engine = torch.engine();
  const auto wiring = ring_of(engine, 4);
  Tensor x = torch.zeros({4}, i32, DPPolicy{.pe = Split::column_wise, .num_cubes = 1, .num_pes = 4});
  engine.install(engine.current_stream(), wiring);
  engine.launch(on_ring(wiring, "send", 4), {x.state().get()}, [&](tl::Context& tl) {
    if (tl.program_id(0) == 2) tl.send("E", tl.load(tl.shard(x.ptr()).ptr, {1}, i32));
  });
  torch.synchronize();
  EXPECT_TRUE(torch.hazards().empty());  // it may yet be read
  engine.processors().queues().drop(*wiring);
  engine.install(engine.current_stream(), ring_of(engine, 4), wiring);
  torch.synchronize();
  const auto hazards = torch.hazards();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].kind, "unread message");
  EXPECT_THAT(hazards[0].text, HasSubstr("kernel 'send' on sip0.cube0.pe2"));
}

TEST(Queues, AReceiveThatNeverComesIsADeadlock) {
  Torch torch(small());
  Engine& engine = torch.engine();
  const auto wiring = ring_of(engine, 2);
  engine.install(engine.current_stream(), wiring);
  engine.launch(on_ring(wiring, "wait", 2), {}, [](tl::Context& tl) {
    if (tl.program_id(0) == 1) tl.recv("W", {1}, i32);
  });
  const std::string text = complaint([&] { torch.synchronize(); });
  EXPECT_THAT(text, HasSubstr("kernel 'wait'"));
  EXPECT_THAT(text, HasSubstr("recv W at queue_test.cpp:"));
}

/// Two threads of the host, each with its device, as ranks will be.
TEST(Queues, ThreadsOfTheHostHaveTheirOwnDevice) {
  Torch torch(load());
  Engine& engine = torch.engine();
  HostThread first, second;
  engine.set_host(&second);
  torch.ahbm.set_device(1);
  const Tensor there = torch.zeros({8}, f16);
  engine.set_host(&first);
  const Tensor here = torch.zeros({8}, f16);
  engine.set_host(nullptr);
  EXPECT_EQ(there.sip(), 1);
  EXPECT_EQ(here.sip(), 0);
  EXPECT_EQ(torch.ahbm.current_device(), 0);
}

/// Whoever stands at the seam is asked for every wait.
TEST(Queues, EveryWaitGoesThroughTheWaiter) {
  struct Counting : Waiter {
    explicit Counting(Engine& e) : engine(e) {}
    void wait(Request& request) override {
      phases.emplace_back(to_string(request.phase()));
      if (!request.done()) engine.run_until(request);
    }
    Engine& engine;
    std::vector<std::string> phases;
  };
  Torch torch(small());
  Counting waiter(torch.engine());
  torch.engine().set_waiter(&waiter);
  Tensor x = torch.zeros({8}, i32);
  const auto store = [](tl::Context& tl, tl::Ptr p) { tl.store(p, tl.full({8}, 1, i32)); };
  const auto scalar = [](tl::Context& tl, tl::Ptr p) { tl.load_scalar<std::int32_t>(p); };
  torch.wait(torch.launch("store", store, x));
  x.numpy();
  torch.launch("store", store, x);
  torch.launch("scalar", scalar, x);
  torch.synchronize();
  EXPECT_THAT(waiter.phases, ::testing::ElementsAre("launch", "read", "launch", "launch"));
  torch.engine().set_waiter(nullptr);
}

}  // namespace
}  // namespace kernbench::runtime::queue_test
