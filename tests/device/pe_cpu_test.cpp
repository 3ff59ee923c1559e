// What holds a PE's CPU, and what lets it go: the same for one that runs ahead and one that goes step by step.
#include <gtest/gtest.h>

#include <tuple>

#include "device/queue_world.hpp"

namespace kernbench::device::pe_cpu_test {
namespace {

using namespace kernbench::dtypes;
using testing::kSlice;
using testing::pe_of;
using testing::QueueWorld;
using Spans = std::vector<QueueWorld::Span>;

constexpr PeCoord kPe0{0, 0, 0}, kPe1{0, 0, 1}, kFar{0, 5, 0};

class Cpu : public ::testing::TestWithParam<bool> {
 protected:
  QueueWorld world(std::vector<std::string> overrides) const {
    return QueueWorld(std::move(overrides), {.runs = GetParam()});
  }
};

INSTANTIATE_TEST_SUITE_P(Pe, Cpu, ::testing::Values(true, false),
                         [](const auto& of) { return std::string(of.param ? "Ahead" : "StepByStep"); });

/// Another program on the PE, behind those that were launched before: it names no directions.
std::unique_ptr<KernelLaunch> launch_alone(QueueWorld& w, void (*kernel)(tl::Context&)) {
  w.map(kPe0);
  tl::Context tl({.kernel = "alone", .pe = kPe0});
  run_kernel(kernel, tl);
  auto launch = std::make_unique<KernelLaunch>(
      w.processors, 7, 0,
      std::vector<std::shared_ptr<const isa::Program>>{
          std::make_shared<const isa::Program>(tl.take_program())});
  w.device.control().submit(*launch);
  return launch;
}

// 2.5 KiB of scratch have room for two loads: the first one, which occupies the channel, and the second, all of whose lanes are off. The
// third waits for scratch. When the first one retires, the second starts and retires at once, and so does the third, the last command of its
// program. The program behind it has more queues.
TEST_P(Cpu, EndsAProgramWhenWhatLetItGoIsThrough) {
  QueueWorld w = world({"pe.pe_tcm.kernel_scratch_mb=0.00244140625", "pe.pe_dma.outstanding=1"});
  std::vector<PeCoord> around;
  for (int pe = 0; pe < 8; ++pe) around.push_back({0, 0, pe});
  w.ring(around);
  w.install();
  const auto first = launch_alone(w, [](tl::Context& tl) {
    const auto off = tl.arange(0, 1) < 0;
    tl.load(tl::Ptr(kSlice), {512}, f16);
    tl.load(tl::Ptr(kSlice + 0x1000), {512}, f16, {.mask = off});
    tl.load(tl::Ptr(kSlice + 0x2000), {512}, f16, {.mask = off});
  });
  w.launch({kPe0, kPe1}, [](tl::Context& tl) {
    if (pe_of(tl) == kPe0) tl.send("E", tl.full({128}, 1.0, f16));
    if (pe_of(tl) == kPe1) tl.recv("W", {128}, f16);
  });
  w.simulate();
  const auto loads = w.of(kPe0, OpKind::dma_read);
  ASSERT_EQ(loads.size(), 3u);
  const Time over = loads[0].end;
  EXPECT_EQ(loads[1].end, over);
  EXPECT_EQ(loads[2].end, over);
  EXPECT_EQ(w.of(kPe0, OpKind::program)[1].end, over);
  EXPECT_EQ(w.of(kPe1, OpKind::ipcq_recv).size(), 1u);
}

}  // namespace
}  // namespace kernbench::device::pe_cpu_test
