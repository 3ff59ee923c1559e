#include <gtest/gtest.h>

#include "device/device_world.hpp"
#include "device/request.hpp"

namespace kernbench::device::control_test {
namespace {

using testing::Machine;

/// A request that every PE completes after `work`, noting when it came and its stamp.
class Ping : public ControlRequest {
 public:
  Ping(Device& device, int at_sip, int cubes, int pes, Time work = {}) : device_(device), work_(work) {
    sip = at_sip;
    for (int cube = 0; cube < cubes; ++cube)
      for (int pe = 0; pe < pes; ++pe) targets.push_back({sip, cube, pe});
  }
  std::vector<Time> arrivals, stamps;
  Time done = Time::never();
  virtual Time work_of(PeCoord) const { return work_; }

 private:
  struct Finish : sim::Event {
    Finish(Ping& p, PeTask& t) : Event(&fire), ping(p), task(t) {}
    static void fire(sim::Event& e) {
      auto& f = static_cast<Finish&>(e);
      f.ping.device_.control().complete(f.task);
    }
    Ping& ping;
    PeTask& task;
  };
  void at_pe(PeTask& task) override {
    arrivals.push_back(task.arrival);
    stamps.push_back(task.stamp);
    finishes_.push_back(std::make_unique<Finish>(*this, task));
    device_.simulation().partition(sip + 1).schedule(*finishes_.back(), work_of(task.pe));
  }
  void on_completed() override { done = device_.host_partition().now(); }
  Device& device_;
  Time work_;
  std::vector<std::unique_ptr<Finish>> finishes_;
};

// Host to PE 0 of cube 0, step by step:
//   host → switch 1 ps + 5 ns; → pcie_ep 1 ps + 5 ns; → io_cpu 1 ps; served 10 ns                      20.003
//   → io_noc 1 ps; → port 0, connection 0: 1 ps + 8 ns; → N connection 0 of cube 0: 1 ps + 8 ns;
//     → r0c1 1 ps; → r0c2 30 ps; → m_cpu 9 ps; served 5 ns                                             21.043
//   m_cpu → r0c2 9 ps; → r0c0 60 ps; → pe_dma 1 ps; → pe_cpu 1 ps                                       0.071
// At the PE after 41.117 ns. Back: 0.071, m_cpu 5 ns, 16.043, io_cpu 10 ns,
//   → pcie_ep 1 ps + 5 ns, → switch 1 ps + 5 ns, → host 1 ps                                           41.117
//   in all
TEST(ControlPath, OnePe) {
  Machine m;
  Ping ping(m.device, 0, 1, 1);
  m.device.control().submit(ping);
  m.run();
  EXPECT_EQ(ping.arrivals[0], 41'117_ps);
  EXPECT_EQ(ping.stamps[0], 41'117_ps);
  EXPECT_EQ(ping.total(), 2 * 41'117_ps);
  EXPECT_EQ(ping.late_starts(), 0);
}

// The host hands a request over for 2 us, and knows of its completion 500 ns after that has come. The PEs start as late.
TEST(ControlPath, TheHostPaysForARequest) {
  Machine m({"system.host.submit_ns=2000", "system.host.complete_ns=500"});
  Ping ping(m.device, 0, 1, 1);
  m.device.control().submit(ping);
  m.run();
  EXPECT_EQ(ping.arrivals[0], 2000_ns + 41'117_ps);
  EXPECT_EQ(ping.total(), 2500_ns + 2 * 41'117_ps);
  EXPECT_EQ(ping.done, ping.total());
}

// Requests of two streams do not wait for each other at the host: those to two SIPs arrive as late as one would.
TEST(ControlPath, RequestsDoNotWaitForEachOtherAtTheHost) {
  Machine m({"system.host.submit_ns=2000"});
  Ping one(m.device, 0, 1, 1), other(m.device, 1, 1, 1);
  m.device.control().submit(one);
  m.device.control().submit(other);
  m.run();
  EXPECT_EQ(one.arrivals[0], 2000_ns + 41'117_ps);
  EXPECT_EQ(other.arrivals[0], one.arrivals[0]);
}

TEST(HostTransfer, PaysForItsRequestOnce) {
  const auto total = [](const std::vector<std::string>& overrides, Direction direction) {
    Machine m(overrides);
    HostTransfer transfer(m.device, direction);
    for (int cube = 0; cube < 3; ++cube)
      transfer.add(address::pe_hbm_addr({0, cube, 0}, m.device.machine().hbm_slice(), 0_B), 4_KiB);
    transfer.submit();
    m.run();
    EXPECT_TRUE(transfer.completed());
    return transfer.total();
  };
  for (const Direction direction : {Direction::read, Direction::write})
    EXPECT_EQ(total({"system.host.submit_ns=2000", "system.host.complete_ns=500"}, direction),
              total({}, direction) + 2500_ns);
}

// All PEs of a SIP. The farthest: cube 12 … 15, three rows down. Per row: r0c1 → r5c1 5·24 + 2 ps of
// connection wires, a crossing of 1 ps + 16 ns = 16.123 ns; from the last N connection 0 at r0c1 on as above.
// In the cube the farthest PE is 7 at r5c5: m_cpu 9, r0c2 → r5c5 3·30 + 5·24 = 210 (around the hole costs
// nothing more), 1, 1.
//   at io_cpu's end 20.003; 3 rows 48.369; 16.043 + 5; 0.221                           89.636
TEST(ControlPath, ARequestToAllPesOfASip) {
  Machine m;
  Ping ping(m.device, 0, 16, 8);
  m.device.control().submit(ping);
  m.run();
  EXPECT_EQ(*std::max_element(ping.arrivals.begin(), ping.arrivals.end()), 89'636_ps);
  for (const Time stamp : ping.stamps) EXPECT_EQ(stamp, 89'636_ps);
  EXPECT_EQ(ping.arrivals.size(), 128u);
  EXPECT_EQ(ping.late_starts(), 0);
  // Folding: the farthest PE's answer decides at every level. Back 0.221, 5, 16.043 + 48.369, 10, 10.003.
  EXPECT_EQ(ping.total(), 89'636_ps + 89'636_ps);
}

// Two requests at once: io_cpu serves the second 10 ns later, so all of it is 10 ns later. The first is still
// at work at its PE then, so that its completion does not meet the second at the M CPU.
TEST(ControlPath, TheIoCpuServesOneMessageAtATime) {
  Machine m;
  Ping first(m.device, 0, 1, 1, 1_us), second(m.device, 0, 1, 1);
  m.device.control().submit(first);
  m.device.control().submit(second);
  m.run();
  EXPECT_EQ(first.arrivals[0], 41'117_ps);
  EXPECT_EQ(second.arrivals[0], 51'117_ps);
  EXPECT_EQ(second.late_starts(), 0);  // the stamp is made by io_cpu, after its own queue
}

// The CPUs of one SIP are not those of another: neither waits.
TEST(ControlPath, SipsHaveCpusOfTheirOwn) {
  Machine m;
  Ping first(m.device, 0, 1, 1), second(m.device, 1, 1, 1);
  m.device.control().submit(first);
  m.device.control().submit(second);
  m.run();
  EXPECT_EQ(first.total(), 2 * 41'117_ps);
  EXPECT_EQ(second.total(), 2 * 41'117_ps);
}

// With a slow M CPU the second request waits there, after its stamp was made: a late start.
TEST(ControlPath, ALateStartIsCounted) {
  Machine m({"cube.m_cpu.overhead_ns=30"});
  Ping first(m.device, 0, 1, 1), second(m.device, 0, 1, 1);
  m.device.control().submit(first);
  m.device.control().submit(second);
  m.run();
  EXPECT_EQ(first.late_starts(), 0);
  EXPECT_EQ(second.late_starts(), 1);
  // It reaches the M CPU 10 ns after the first, which is served for 30: 20 ns of waiting.
  EXPECT_EQ(second.latest_start(), 20_ns);
  m.device.control().submit(second);  // alone it is in time
  m.run();
  EXPECT_EQ(second.late_starts(), 0);
  EXPECT_EQ(second.latest_start(), 0_ns);
}

// Whichever comes last in the list: cube 12's PE 7 takes 150 ps longer than cube 13's PE 0 (see
// ARequestToAllPesOfASip).
TEST(ControlPath, TheStampIsThatOfTheFarthestTarget) {
  Machine m;
  Ping ping(m.device, 0, 1, 1);
  ping.targets = {{0, 12, 7}, {0, 13, 0}};
  m.device.control().submit(ping);
  m.run();
  for (const Time stamp : ping.stamps) EXPECT_EQ(stamp, 89'636_ps);
  EXPECT_EQ(*std::min_element(ping.arrivals.begin(), ping.arrivals.end()), 89'486_ps);
}

// PE 0 of cube 0 ends 1 µs after the others. Its cube folds and answers after it, and so does the SIP; the
// other cubes' answers have come long before. Each CPU works on the folded completion once.
TEST(ControlPath, AFoldedCompletionWaitsForTheLastChildAndPaysOnce) {
  Machine m;
  struct OneSlow : Ping {
    using Ping::Ping;
    Time work_of(PeCoord pe) const override { return pe == PeCoord{0, 0, 0} ? 1_us : 0_ns; }
  } ping(m.device, 0, 16, 8);
  m.device.control().submit(ping);
  m.run();
  // There 41.117 ns (see OnePe), 1 µs, and back the same way: 41.117.
  EXPECT_EQ(ping.total(), 41'117_ps + 1_us + 41'117_ps);
}

// 4 KiB to all PEs of a cube: 32 ns each over the PCIe and UCIe links, 8 ns each inside. The M CPU sends to all PEs at
// once over its one link of 512 GB/s to the router: the last of eight is 7 · 8 ns later than alone.
TEST(ControlPath, ChildrenThatShareALinkStartLate) {
  Machine m({"launch.control_bytes=4096"});
  Ping ping(m.device, 0, 1, 8);
  m.device.control().submit(ping);
  m.run();
  const Time last = *std::max_element(ping.arrivals.begin(), ping.arrivals.end());
  // The farthest, PE 7, alone: 41.117 + 0.150 ns (r0c2 → r5c5 is 210 ps, → r0c0 60) and 32 + 32 + 8.
  EXPECT_EQ(ping.stamps[0], 41'267_ps + 72_ns);
  EXPECT_GE(last, ping.stamps[0] + 7 * 8_ns - 150_ps);
  EXPECT_LE(last, ping.stamps[0] + 7 * 8_ns);
  EXPECT_EQ(ping.latest_start(), last - ping.stamps[0]);
  EXPECT_GE(ping.late_starts(), 1);
}

TEST(ControlPath, WithFreeStartThereIsNoStamp) {
  Machine m({"launch.start=free"});
  Ping ping(m.device, 0, 16, 8);
  m.device.control().submit(ping);
  m.run();
  // The nearest is PE 1 at r0c1, one step of 30 ps less than PE 0.
  EXPECT_EQ(*std::min_element(ping.arrivals.begin(), ping.arrivals.end()), 41'087_ps);
  for (const Time stamp : ping.stamps) EXPECT_EQ(stamp, 0_ps);
}

TEST(ControlPath, MessagesOfASizePayForTheirBytes) {
  Machine m({"launch.control_bytes=64"});
  Ping ping(m.device, 0, 1, 1);
  m.device.control().submit(ping);
  m.run();
  // 64 B: 0.5 ns over PCIe (128 GB/s), 0.5 over UCIe (128), 0.125 inside the cube (512).
  EXPECT_EQ(ping.arrivals[0], 41'117_ps + 500_ps + 500_ps + 125_ps);
  EXPECT_EQ(ping.stamps[0], ping.arrivals[0]);
  EXPECT_EQ(ping.total(), 2 * ping.arrivals[0]);
}

// A host write of 1 MiB to PE 0 of cube 0. Host → switch 1 + 5 ns, → pcie_ep 1 + 5 ns, → io_noc 1, → port 1 + 8 ns,
// → cube 1 + 8 ns, → r0c1 1, → r0c0 30, → controller 1: 26.037 ns. 2^20 B at 128 GB/s: 8192 ns. A burst: 8 ns.
// The acknowledgement: 1, 30, 1 + 8 ns, 1 + 8 ns, 1, 1 + 5 ns, 1 + 5 ns, 1: 26.037 ns.
TEST(Host, WritesOneMebibyteToOnePe) {
  for (const FabricOptions options : {FabricOptions{}, FabricOptions{.shortcuts = false}}) {
    Machine m({}, "default", options);
    HostTransfer write(m.device, Direction::write);
    write.add(address::pe_hbm_addr({0, 0, 0}, 6_GiB, 0_B), 1_MiB);
    write.submit();
    m.run();
    EXPECT_EQ(write.total(), 26'037_ps + 8192_ns + 8_ns + 26'037_ps);
  }
}

// The messages of one request leave together and share the host's link: two of 64 KiB take as long as one of 128 KiB
// to the farther of the two, PE 0 (30 ps more than PE 1, each way); the last packet may be either's, 2 ns.
TEST(Host, TheMessagesOfARequestLeaveTogether) {
  Machine m;
  HostTransfer both(m.device, Direction::write);
  both.add(address::pe_hbm_addr({0, 0, 0}, 6_GiB, 0_B), 64_KiB);
  both.add(address::pe_hbm_addr({0, 0, 1}, 6_GiB, 0_B), 64_KiB);
  both.submit();
  m.run();
  const Time as_one = 26'037_ps + 1024_ns + 8_ns + 26'037_ps;
  EXPECT_LE(both.total(), as_one);
  EXPECT_GE(both.total(), as_one - 2_ns);
}

TEST(Host, ReadsWhatIsFartherLater) {
  Machine m;
  HostTransfer near(m.device, Direction::read), far(m.device, Direction::read);
  near.add(address::pe_hbm_addr({0, 0, 0}, 6_GiB, 0_B), 256_B);
  near.submit();
  m.run();
  far.add(address::pe_hbm_addr({0, 15, 0}, 6_GiB, 0_B), 256_B);
  far.submit();
  m.run();
  // Request and data 26.037 ns each way, a burst 8 ns, 256 B at 128 GB/s 2 ns. Cube 15: three rows of 16.123 ns more.
  EXPECT_EQ(near.total(), 2 * 26'037_ps + 10_ns);
  EXPECT_EQ(far.total(), near.total() + 2 * 3 * 16'123_ps);

  struct Counted : HostTransfer {  // ends once, with the last; their data does not meet
    using HostTransfer::HostTransfer;
    void on_completed() override { ++completions; }
    int completions = 0;
  } both(m.device, Direction::read);
  both.add(address::pe_hbm_addr({0, 15, 0}, 6_GiB, 0_B), 256_B);
  both.add(address::pe_hbm_addr({0, 0, 0}, 6_GiB, 0_B), 256_B);
  for (int again = 0; again < 2; ++again) {
    both.submit();
    EXPECT_FALSE(both.completed());
    m.run();
    EXPECT_TRUE(both.completed());
    EXPECT_EQ(both.total(), far.total());
    EXPECT_EQ(both.completions, again + 1);
  }
}

// A map to all PEs of a SIP: 89.636 ns to the farthest PE's MMU and back (see ControlPath.ARequestToAllPesOfASip; its
// MMU stands where its CPU does). A kernel's address means something only after that.
TEST(Host, MapsATensorOnAllPesOfASip) {
  Machine m;
  const address::VirtAddr base(0x1'0000'0000);
  MapRequest map(m.device, 0, 16, 8);
  map.segment_for = [&](PeCoord pe) {
    return std::make_shared<const address::MapSegment>(
        base, std::vector<address::PhysPiece>{{address::pe_hbm_addr(pe, 6_GiB, 0_B), 4_KiB}}, "x");
  };
  map.submit();
  EXPECT_EQ(m.device.mmu({0, 3, 5}).find(base, 1_B), std::nullopt);
  m.run();
  EXPECT_EQ(map.total(), 2 * 89'636_ps);
  for (int cube = 0; cube < 16; ++cube)
    for (int pe = 0; pe < 8; ++pe)
      EXPECT_EQ(m.device.mmu({0, cube, pe}).find(base + 16_B, 1_B),
                address::pe_hbm_addr({0, cube, pe}, 6_GiB, 16_B));
  EXPECT_EQ(m.device.mmu({1, 3, 5}).find(base, 1_B), std::nullopt);

  UnmapRequest unmap(m.device, 0, 16, 8, base, 4_KiB);
  unmap.submit();
  m.run();
  EXPECT_EQ(m.device.mmu({0, 3, 5}).find(base, 1_B), std::nullopt);
}

}  // namespace
}  // namespace kernbench::device::control_test
