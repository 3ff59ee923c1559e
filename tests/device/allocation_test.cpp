// No allocation per event in the steady state of the fabric, HBM and DMA: counted by replacing the global
// operator new of this test program.
#include <gtest/gtest.h>

#include <deque>

#include "counting_new.hpp"
#include "device/device_world.hpp"

namespace kernbench::device::allocation_test {
namespace {

using testing::Machine;

/// Transfers between a PE and a slice, each issued again when it retires.
class Stream {
 public:
  Stream(Device& device, PeCoord pe, PeCoord slice, Direction direction) : device_(device), pe_(pe) {
    for (int i = 0; i < 12; ++i) {
      Again& again = transfers_.emplace_back(*this);
      again.direction = direction;
      again.end = device.graph().pe(pe, topology::NodeKind::pe_tcm);
      again.pieces = {{&device.hbm(slice), {.offset = i * 4096, .row_bytes = 4096}}};
      device.dma(pe).issue(again);
    }
  }

 private:
  struct Again final : DmaTransfer {
    explicit Again(Stream& s) : stream(s) {}
    void on_retired() override { stream.device_.dma(stream.pe_).issue(*this); }
    Stream& stream;
  };
  Device& device_;
  const PeCoord pe_;
  std::deque<Again> transfers_;
};

TEST(Allocation, FabricHbmAndDmaAllocateNothingOnceTheyRun) {
  for (const char* model : {"plain", "rows"})
    for (const bool runs : {false, true}) {
      Machine m({"sip.cube_mesh.w=2", "sip.cube_mesh.h=1", std::string("cube.hbm.model=") + model}, "default",
                {.shortcuts = runs});
      std::deque<Stream> streams;
      for (int pe = 0; pe < 8; ++pe) {
        streams.emplace_back(m.device, PeCoord{0, 0, pe}, PeCoord{0, 0, pe}, Direction::read);
        // Over shared connections, so that messages are taken apart; and over to another SIP.
        streams.emplace_back(m.device, PeCoord{0, 1, pe}, PeCoord{0, 0, pe}, Direction::write);
        streams.emplace_back(m.device, PeCoord{1, 0, pe}, PeCoord{0, 1, pe}, Direction::read);
      }
      sim::Simulation& sim = m.device.simulation();
      sim.run({.until = 50_us});
      const auto events = sim.counters().events;
      const auto before = kernbench::testing::allocations();
      sim.run({.until = 100_us});
      const auto allocated = kernbench::testing::allocations() - before;
      EXPECT_GT(sim.counters().events - events, 100'000u);
      // The call of `run` itself, and a longer queue here and there: of 16 slices, each of 8 channels with two streams.
      EXPECT_LE(allocated, 200) << model << (runs ? ", in one piece" : ", packet by packet");
    }
}

}  // namespace
}  // namespace kernbench::device::allocation_test
