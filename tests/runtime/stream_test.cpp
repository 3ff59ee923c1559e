#include <map>
#include <optional>

#include "kernbench/address.hpp"
#include "runtime/host_world.hpp"

namespace kernbench::runtime::stream_test {
namespace {

const DPPolicy kColumns{.cube = Split::column_wise, .pe = Split::column_wise};

void idle(tl::Context&, tl::Ptr) {}
void add_one(tl::Context& tl, tl::Ptr x) {
  const auto& mine = tl.shard(x);
  tl.store(mine.ptr, tl.load(mine.ptr, mine.shape, mine.dtype) + 1);
}

std::vector<std::string> phases(const Torch& torch) {
  std::vector<std::string> all;
  for (const Trace& t : torch.traces()) all.push_back(std::string(to_string(t.phase)) + " " + t.name);
  return all;
}

TEST(Streams, EachCallIsOneRequestInOrder) {
  Torch torch(small());
  {
    Tensor x = torch.empty({32}, i32, kColumns, "x");
    Tensor y = torch.zeros({32}, i32, kColumns, "y");
    x.copy_(counting({32}));
    torch.launch("idle", idle, x);
    y.numpy();
  }
  torch.synchronize();
  EXPECT_THAT(phases(torch), ::testing::ElementsAre("map x", "map y", "write y", "write x", "launch idle",
                                                    "read y", "unmap y", "unmap x"));
}

TEST(Streams, CallsReturnAtOnceAndTimePassesOnlyInWaits) {
  Torch torch(small());
  Tensor x = torch.zeros({32}, i32, kColumns);
  const Handle launch = torch.launch("add_one", add_one, x);
  EXPECT_EQ(torch.now(), 0_ps);
  EXPECT_FALSE(launch.done());
  EXPECT_THAT(complaint([&] { launch.trace(); }), HasSubstr("not done"));
  torch.wait(launch);
  EXPECT_TRUE(launch.done());
  const Trace trace = launch.trace();
  EXPECT_EQ(torch.now(), trace.submitted + trace.queued + trace.total);  // and not a picosecond more
  torch.wait(launch);
  EXPECT_EQ(torch.now(), trace.submitted + trace.queued + trace.total);
}

TEST(Streams, WhatOutlivesItsContextIsRefused) {
  Handle launch;
  std::optional<Torch::Ahbm> ahbm;
  Torch other(small());
  {
    Torch torch(small());
    Tensor x = torch.zeros({32}, i32, kColumns);
    launch = torch.launch("add_one", add_one, x);
    ahbm = torch.ahbm;
    torch.wait(launch);
    EXPECT_TRUE(launch.done());
    EXPECT_THAT(complaint([&] { other.wait(launch); }), HasSubstr("runtime.other-context"));
  }
  EXPECT_THAT(complaint([&] { (void)launch.done(); }), HasSubstr("runtime.context-gone"));
  EXPECT_THAT(complaint([&] { launch.trace(); }), HasSubstr("runtime.context-gone"));
  EXPECT_THAT(complaint([&] { other.wait(launch); }), HasSubstr("runtime.context-gone"));
  EXPECT_THAT(complaint([&] { ahbm->set_device(0); }), HasSubstr("runtime.context-gone"));
  EXPECT_THAT(complaint([&] { (void)ahbm->device_count(); }), HasSubstr("runtime.context-gone"));
  EXPECT_FALSE(Handle().done());
}

// A map goes to all 128 PEs and back: 2 · 89.636 ns, as the control path's own test has it. A launch on PE 0 of cube 0:
// 41.117 there and back, 2 ns of pe_cpu; idle has no commands.
TEST(Streams, RequestsFollowEachOtherWithoutAGap) {
  Torch torch(load({"cube.routers.overhead_ns=0"}));
  Tensor x = torch.empty({64}, f16);
  Tensor y = torch.empty({64}, f16);
  torch.launch("idle", idle, x);
  torch.synchronize();
  const auto traces = torch.traces();
  ASSERT_EQ(traces.size(), 3u);
  EXPECT_EQ(traces[0].total, 179'272_ps);
  EXPECT_EQ(traces[0].queued, 0_ps);
  EXPECT_EQ(traces[1].queued, 179'272_ps);
  EXPECT_EQ(traces[2].queued, 2 * 179'272_ps);
  EXPECT_EQ(traces[2].total, 2 * 41'117_ps + 2_ns);
  EXPECT_EQ(traces[2].total_ns(), 84.234);
  EXPECT_EQ(traces[2].network, traces[2].total - traces[2].pe_exec);
  EXPECT_EQ(torch.now(), 2 * 179'272_ps + 84'234_ps);
}

// Host to the HBM of PE 0 in cube 0: switch 5.001 ns, pcie_ep 5.001, io_noc 0.001, two UCIe ports 16.002, r0c1 2.501, r0c0
// 2.530, the controller 0.001: 31.037 there, the same back. 256 B over PCIe (128 GB/s) take 2 ns, in the HBM one burst of
// 8 ns.
TEST(Streams, AWriteAndAReadTakeTheUnloadedTime) {
  Torch torch(load());
  Tensor x = torch.zeros({128}, f16);
  x.numpy();
  const auto traces = torch.traces();
  EXPECT_EQ(traces[1].phase, Phase::write);
  EXPECT_EQ(traces[1].total, 2 * 31'037_ps + 10_ns);
  EXPECT_EQ(traces[2].phase, Phase::read);
  EXPECT_EQ(traces[2].total, 2 * 31'037_ps + 10_ns);
}

// Replicated eight times, 256 KiB each: 2 MiB over a link of 128 GB/s are 16,384 ns at least.
TEST(Streams, EveryCopyIsWrittenOverTheHostsLink) {
  Torch torch(load());
  Tensor x = torch.zeros({1 << 17}, f16, DPPolicy{.num_cubes = 1});
  torch.synchronize();
  const Time total = torch.traces()[1].total;
  EXPECT_GE(total, 16'384_ns);
  EXPECT_LE(total, 16'384_ns + 100_ns);
}

TEST(Streams, ALaunchNeverOvertakesTheWritesOfItsInputs) {
  Torch torch(small());
  Tensor x = torch.empty({8192}, i32, kColumns);
  for (int i = 0; i < 3; ++i) {
    x.copy_(filled({8192}, 10 * i));
    torch.launch("add_one", add_one, x);
    torch.launch("add_one", add_one, x);
  }
  EXPECT_EQ(x.numpy(), filled({8192}, 22));
  EXPECT_TRUE(torch.hazards().empty());
  Time last_end;
  torch.log().for_each(
      [&](const trace::Op& op) {  // a launch is on its way only when what comes before has completed
        const bool is_late = op.kind != "program" || op.start >= last_end;
        EXPECT_TRUE(is_late) << to_string(op);
        if (op.pe.cube < 0) last_end = op.end;
      });
}

void slow_store(tl::Context& tl, tl::Ptr x, int value) {
  auto tile = tl.zeros({4096}, i32);
  for (int i = 0; i < 100; ++i) tile = tile + value;
  tl.store(x, tile);
}

// x is dropped before its launch begins, and y wants the same size at once: only another place will do.
TEST(Streams, ATensorDroppedInFlightIsNotReusedEarly) {
  Torch torch(small());
  const auto dropped = [&] {
    const Tensor x = torch.zeros({4096}, i32, {}, "x");
    torch.launch("slow", slow_store, x, 1);
    return x.ptr();
  }();
  Tensor y = torch.full({4096}, 5, i32, {}, "y");
  EXPECT_NE(y.ptr(), dropped);
  EXPECT_EQ(y.numpy(), filled({4096}, 5));
  EXPECT_TRUE(torch.hazards().empty());
  const Tensor z = torch.empty({4096}, i32, {}, "z");  // now the place is free again
  EXPECT_EQ(z.ptr(), dropped);
}

TEST(Streams, OldValuesAreGoneWhenMemoryIsUsedAgain) {
  Torch torch(small());
  const tl::Ptr first = torch.full({64}, 9, i32).ptr();
  torch.synchronize();
  Tensor y = torch.empty({64}, i32, {}, "y");
  ASSERT_EQ(y.ptr(), first);
  EXPECT_THAT(complaint([&] { y.numpy(); }), HasSubstr("data.unwritten"));
}

// 60 MiB tensors in a slice of 64 MiB: 20 of them one after the other.
TEST(Streams, ALoopMayUseMoreThanTheMemoryInTotal) {
  Torch torch(load({"cube.hbm.hbm_total_gb_per_cube=0.5"}), {.data = false});
  for (int i = 0; i < 20; ++i) {
    Tensor x = torch.empty({60 << 20}, i8, {}, "x");
    torch.launch("idle", idle, x);
  }
  torch.synchronize();
  Tensor held = torch.empty({60 << 20}, i8, {}, "held");
  const std::string text = complaint([&] { torch.empty({60 << 20}, i8, {}, "more"); });
  EXPECT_THAT(text, HasSubstr("more"));
  EXPECT_THAT(text, HasSubstr("held"));
}

// Each stream has its own order; the PEs of two SIPs work at the same time.
TEST(Streams, DevicesWorkSideBySide) {
  Torch torch(load());
  const auto run_on = [&](int device) {
    torch.ahbm.set_device(device);
    Tensor x = torch.empty({4096}, i32);
    return torch.launch("slow", slow_store, x, 1);
  };
  const Handle a = run_on(0), b = run_on(1);
  torch.synchronize();
  EXPECT_EQ(a.trace().total, b.trace().total);
  EXPECT_EQ(a.trace().submitted + a.trace().queued, b.trace().submitted + b.trace().queued);
}

TEST(Streams, TheDeviceDecidesTheSip) {
  Torch torch(load());
  EXPECT_EQ(torch.ahbm.current_device(), 0);
  EXPECT_EQ(torch.ahbm.device_count(), 2);
  torch.accelerator.set_device_index(1);
  Tensor x = torch.from_numpy(counting({256}), kColumns);
  EXPECT_EQ(x.sip(), 1);
  for (const ShardSpec& s : x.shards()) EXPECT_EQ(s.sip, 1);
  torch.launch("add_one", add_one, x);
  torch.ahbm.set_device(0);
  NdArray expected = counting({256});
  for (auto& v : expected.view<std::int32_t>()) ++v;
  EXPECT_EQ(x.numpy(), expected);
  EXPECT_THAT(complaint([&] { torch.ahbm.set_device(2); }), HasSubstr("there is no device 2"));
}

TEST(Streams, TwoContextsStandSideBySide) {
  Torch one(small()), two(small({"pe.pe_cpu.overhead_ns=7"}));
  Tensor x = one.from_numpy(counting({32}), kColumns), y = two.from_numpy(counting({32}), kColumns);
  const Handle a = one.launch("add_one", add_one, x), b = two.launch("add_one", add_one, y);
  one.wait(a);
  EXPECT_FALSE(b.done());
  two.wait(b);
  EXPECT_EQ(b.trace().total - a.trace().total, 5_ns);
  EXPECT_EQ(x.numpy(), y.numpy());
  EXPECT_THAT(complaint([&] { one.launch("add_one", add_one, y); }), HasSubstr("another context"));
  EXPECT_THAT(complaint([&] { one.wait(b); }), HasSubstr("runtime.other-context add_one"));
}

TEST(Streams, RunsAreTheSameWithAnyNumberOfThreads) {
  std::map<std::uint64_t, int> hashes;
  for (const int threads : {1, 2, 3}) {
    Torch torch(load(), {.threads = threads});
    for (const int device : {0, 1, 0}) {
      torch.ahbm.set_device(device);
      Tensor x = torch.from_numpy(counting({1024}), kColumns);
      torch.launch("add_one", add_one, x);
      if (device == 1) x.numpy();
    }
    torch.synchronize();
    ++hashes[torch.log().hash()];
  }
  EXPECT_EQ(hashes.size(), 1u);
}

void load_beyond(tl::Context& tl, tl::Ptr x) { tl.load(x + (1 << 20), {64}, f16); }

TEST(Streams, AFaultIsThrownWhereTheHostWaitsAndTheContextWorksOn) {
  Torch torch(small());
  Tensor x = torch.zeros({64}, f16, {}, "x");
  const Handle launch = torch.launch("beyond", load_beyond, x);
  EXPECT_THROW(torch.wait(launch), address::MmuFault);
  EXPECT_THAT(complaint([&] { torch.wait(launch); }), HasSubstr("stream_test.cpp"));
  EXPECT_EQ(torch.traces().size(), 2u);  // what was done before can be looked at
  EXPECT_EQ(x.numpy().shape(), Shape{64});
  torch.synchronize();
  EXPECT_THROW(
      {
        Torch left(small());
        Tensor y = left.zeros({64}, f16);
        left.launch("beyond", load_beyond, y);
      },
      address::MmuFault);
}

}  // namespace
}  // namespace kernbench::runtime::stream_test
