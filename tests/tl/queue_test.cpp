#include "tl/recording.hpp"

namespace kernbench::tl::queue_test {
namespace {

using address::MemorySpace;
using namespace matchers;

TEST(Queues, SendAndReceiveByDirection) {
  EXPECT_THAT(recorded([](Context& tl) {
                const auto x = tl.recv("child_left", {8}, f16);
                tl.send("parent", x);
              }),
              ElementsAre("%0:f16[8] = recv child_left", "send parent %0:f16[8]"));
}

TEST(Queues, AReceiveToAnAddressTakesNoScratch) {
  Context tl;
  run_kernel(
      [](Context& c) {
        c.store(kB, c.recv("W", {8}, f16, {.dst_addr = kA, .dst_space = MemorySpace::Sram}));
      },
      tl);
  EXPECT_EQ(to_string(tl.commands()[0]), "%0:f16[8] = recv W to sram 0x1000");
  const auto& command = tl.program().command(0);
  EXPECT_EQ(tl.program().address(command), 0x1000u);
  EXPECT_EQ(tl.program().destination_space(command), MemorySpace::Sram);
  EXPECT_EQ(tl.program().value(0).kind, isa::ValueKind::placed);
  EXPECT_EQ(tl.program().value(0).granules, 0u);
  EXPECT_EQ(tl.program().address(0), 0x1000u);
}

TEST(Queues, AnAsyncReceiveIsHadFromWait) {
  EXPECT_THAT(recorded([](Context& tl) {
                const auto pending = tl.recv_async("W", {8}, f16);
                tl.fence();
                tl.store(kA, tl.wait(pending));
              }),
              ElementsAre("%0:f16[8] = recv_async W", "fence", "wait #0", "dma_write 0x1000 %0:f16[8]"));
}

TEST(Queues, ATileReceivedAsyncIsUsedWithoutAWait) {
  EXPECT_THAT(recorded([](Context& tl) { tl.store(kA, tl.recv_async("W", {8}, f16) + 1); }),
              ElementsAre("%0:f16[8] = recv_async W", "%2:f16[8] = add %0:f16[8], 1:f16",  // the number is %1
                          "dma_write 0x1000 %2:f16[8]"));
}

TEST(Queues, AnAsyncReceiveMayHaveADestination) {
  Context tl({.queues = {{{.direction = "W", .in_slot = true}}}});
  run_kernel([](Context& c) { c.recv_async("W", {8}, f16, {.dst_addr = kA}); }, tl);
  const auto& command = tl.program().command(0);
  EXPECT_EQ(to_string(tl.commands()[0]), "%0:f16[8] = recv_async W to hbm 0x1000");
  EXPECT_TRUE(tl.program().is_async(command));
  EXPECT_EQ(tl.program().destination_space(command), MemorySpace::Hbm);
}

TEST(Queues, RecvAnyNamesNoDirection) {
  Context tl({.queues = {{{.direction = "E"}, {.direction = "W", .in_slot = true}}}});
  run_kernel([](Context& c) { c.recv_any({8}, f16); }, tl);
  EXPECT_THAT(tl.commands(), ElementsAre(RecvFrom("")));
  EXPECT_EQ(to_string(tl.commands()[0]), "%0:f16[8] = recv any");
  EXPECT_EQ(tl.program().value(0).granules, 1u);  // it may come from E, whose tiles go to scratch
}

TEST(Queues, TilesThatStayInTheirSlotTakeNoScratch) {
  Context tl({.queues = {{{.direction = "W", .slot_size = Bytes(4096), .in_slot = true}}}});
  run_kernel(
      [](Context& c) {
        c.recv("W", {8}, f16);
        c.recv_any({8}, f16);
      },
      tl);
  EXPECT_EQ(tl.program().value(0).granules, 0u);
  EXPECT_EQ(tl.program().value(1).granules, 0u);
}

TEST(Queues, AReferenceIsSentByOneCommand) {
  EXPECT_THAT(recorded([](Context& tl) {
                tl.send("E", tl.ref(Ptr{0x1000}, {4, 8}, f16, {16, 1}));
              }),
              ElementsAre("send E @0x1000:f16[4, 8]"));
}

TEST(Queues, AReferenceLargerThanASlotIsAnError) {
  Context tl({.queues = {{{.direction = "E", .slot_size = Bytes(4096)}}}});
  EXPECT_THROW(run_kernel([](Context& c) { c.send("E", c.ref(Ptr{0x1000}, {2049}, f16)); }, tl), KernelError);
}

// A helper that itself sends and receives is an ordinary function.
Tile exchange(Context& tl, const Tile& mine) {
  tl.send("E", mine);
  return tl.recv("W", mine.shape(), mine.dtype());
}

TEST(Queues, HelpersAreOrdinaryFunctions) {
  EXPECT_THAT(recorded([](Context& tl) {
                auto sum = tl.load(kA, {8}, f16);
                auto passing = sum;
                for ([[maybe_unused]] const int round : tl.static_range(2)) {
                  passing = exchange(tl, passing);
                  sum += passing;
                }
                tl.store(kA, sum);
              }),
              ElementsAre("%0:f16[8] = dma_read 0x1000", "send E %0:f16[8]", "%1:f16[8] = recv W",
                          "%2:f16[8] = add %0:f16[8], %1:f16[8]", "send E %1:f16[8]", "%3:f16[8] = recv W",
                          "%4:f16[8] = add %2:f16[8], %3:f16[8]", "dma_write 0x1000 %4:f16[8]"));
}

}  // namespace
}  // namespace kernbench::tl::queue_test
