// Whole kernels, and the operations of the group "program".
#include <map>

#include "tl/recording.hpp"

namespace kernbench::tl::kernel_test {
namespace {

using namespace matchers;

void ring_step(Context& tl, Ptr t, int n) {
  const auto& shard = tl.shard(t);
  auto mine = tl.load(shard.ptr, {n}, f16);
  tl.send("E", mine);
  auto other = tl.recv("W", {n}, f16);
  tl.store(shard.ptr, mine + other);
}

Environment with_shard() {
  return {
      .kernel = "ring_step",
      .shards = {{.tensor = kA, .ptr = kA + 64, .shape = {32}, .origin = {32}, .dtype = f16, .name = "t"}}};
}

TEST(Kernel, IsAPlainFunctionWhoseCallsBecomeCommands) {
  Context tl(with_shard());
  run_kernel(ring_step, tl, kA, 32);
  EXPECT_THAT(tl.commands(), ElementsAre(LoadOf(0x1040, Shape{32}, f16), SendTo("E"), RecvFrom("W"),
                                         MathOf(MathOp::add), StoreTo(0x1040)));
  EXPECT_EQ(isa::to_string(tl.commands()[3]), "%2:f16[32] = add %0:f16[32], %1:f16[32]");
}

TEST(Kernel, CommandsAreTypedAndComparable) {
  Context tl(with_shard());
  run_kernel(ring_step, tl, kA, 32);
  EXPECT_EQ(tl.commands()[1],
            isa::AnyCommand(isa::IpcqSend{.direction = "E", .tile = {.id = 0, .dtype = f16, .shape = {32}}}));
  EXPECT_NE(tl.commands()[1],
            isa::AnyCommand(isa::IpcqSend{.direction = "W", .tile = {.id = 0, .dtype = f16, .shape = {32}}}));
  EXPECT_EQ(tl.commands()[2].as<isa::IpcqRecv>().direction, "W");
  EXPECT_THROW(tl.commands()[2].as<isa::Gemm>(), InputError);
}

TEST(Kernel, MayBeALambdaOrAFunctor) {
  struct Twice {
    int n;
    void operator()(Context& tl, Ptr p) const {
      for (const int i : tl.static_range(n)) tl.load(p + 64 * i, {16}, f32);
    }
  };
  Context tl;
  run_kernel(Twice{2}, tl, kA);
  EXPECT_THAT(tl.commands(), ElementsAre(LoadOf(0x1000, Shape{16}, f32), LoadOf(0x1040, Shape{16}, f32)));
  run_kernel([](Context& c) { c.fence(); }, tl);
  EXPECT_THAT(tl.commands(), ElementsAre(Is<isa::Fence>()));
}

TEST(Kernel, RunTwiceRecordsTheSameProgram) {
  Context tl(with_shard());
  const auto first = run_kernel(ring_step, tl, kA, 32).fingerprint();
  EXPECT_EQ(run_kernel(ring_step, tl, kA, 32).fingerprint(), first);
  EXPECT_NE(run_kernel(ring_step, tl, kA, 31).fingerprint(), first);
}

TEST(Kernel, ProgramCarriesKernelAndPe) {
  Context tl({.kernel = "k", .pe = {1, 2, 3}});
  run_kernel([](Context& c) { c.fence(); }, tl);
  const auto program = tl.take_program();
  EXPECT_EQ(program.kernel(), "k");
  EXPECT_EQ(program.pe(), (PeCoord{1, 2, 3}));
  EXPECT_EQ(program.commands().size(), 1u);
  EXPECT_THAT(tl.commands(), IsEmpty());  // handed over
}

TEST(Program, IdsAreStructuralAndCountsAreOfTheLaunch) {
  Context tl({.pe = {.sip = 3, .cube = 2, .pe = 1}, .num_programs = {8, 16, 4}});
  EXPECT_EQ(tl.program_id(0), 1);
  EXPECT_EQ(tl.program_id(1), 2);
  EXPECT_EQ(tl.program_id(2), 3);
  EXPECT_EQ(tl.num_programs(0), 8);
  EXPECT_EQ(tl.num_programs(1), 16);
  EXPECT_EQ(tl.num_programs(2), 4);
}

TEST(Program, CdivRoundsUp) {
  Context tl;
  EXPECT_EQ(tl.cdiv(7, 2), 4);
  EXPECT_EQ(tl.cdiv(8, 2), 4);
  EXPECT_EQ(tl.cdiv(0, 5), 0);
  EXPECT_EQ(tl.cdiv(-7, 2), -3);                               // ⌈−3.5⌉
  EXPECT_EQ(tl.cdiv(std::int64_t{1} << 40, 3), 366503875926);  // 1099511627776 / 3 = 366503875925.3…
}

TEST(Program, StaticRangeIsARange) {
  Context tl;
  std::vector<int> up, by_three;
  for (const int i : tl.static_range(3)) up.push_back(i);
  for (const int i : tl.static_range(1, 9, 3)) by_three.push_back(i);
  EXPECT_THAT(up, ElementsAre(0, 1, 2));
  EXPECT_THAT(by_three, ElementsAre(1, 4, 7));
  for (const int i : tl.static_range(5, 5)) ADD_FAILURE() << i;
}

TEST(Program, StaticRangeEndsAtTheLargestNumber) {
  Context tl;
  std::vector<int> seen;
  const int top = std::numeric_limits<int>::max();
  for (const int i : tl.static_range(top - 3, top, 2)) seen.push_back(i);
  EXPECT_THAT(seen, ElementsAre(top - 3, top - 1));
  seen.clear();
  for (const int i : tl.static_range(std::numeric_limits<int>::min(), top, top)) seen.push_back(i);
  EXPECT_THAT(seen, ElementsAre(-top - 1, -1, top - 1));
  for ([[maybe_unused]] const int i : tl.static_range(5, 5)) ADD_FAILURE();
  for ([[maybe_unused]] const int i : tl.static_range(-5)) ADD_FAILURE();
}

TEST(Program, LoadScalarAsksTheHostAndRecordsARead) {
  const std::map<std::uint64_t, double> memory{{0x1000, 3}, {0x1004, 0.5}};
  std::vector<DType> asked;
  Environment environment;
  environment.scalars = [&](std::uint64_t address, DType dtype) {
    asked.push_back(dtype);
    return memory.at(address);
  };
  int loads = 0;
  const auto kernel = [&](Context& tl) {
    loads = tl.load_scalar<std::int32_t>(kA);
    for (const int i : tl.static_range(loads)) tl.load(kB + i, {1}, i8);
    EXPECT_EQ(tl.load_scalar(kA + 4, f16), 0.5);
  };
  EXPECT_THAT(
      recorded(kernel, environment),
      ElementsAre("load_scalar 0x1000 i32", "%0:i8[1] = dma_read 0x20000", "%1:i8[1] = dma_read 0x20001",
                  "%2:i8[1] = dma_read 0x20002", "load_scalar 0x1004 f16"));
  EXPECT_EQ(loads, 3);
  EXPECT_THAT(asked, ElementsAre(i32, f16));
}

TEST(Program, ShardIsThePieceOfTheRunningPe) {
  Context tl(with_shard());
  const auto& shard = tl.shard(kA);
  EXPECT_EQ(shard.ptr, Ptr(0x1040));
  EXPECT_EQ(shard.shape, Shape{32});
  EXPECT_EQ(shard.origin, Shape{32});
  EXPECT_EQ(shard.name, "t");
}

TEST(Program, ShardsAreAllTilesDealtToThePe) {
  Context tl(
      {.shards = {{.tensor = kA, .ptr = kA}, {.tensor = kB, .ptr = kB}, {.tensor = kA, .ptr = kA + 128}}});
  const auto tiles = tl.shards(kA);
  ASSERT_EQ(tiles.size(), 2u);
  EXPECT_EQ(tiles[0].ptr, kA);
  EXPECT_EQ(tiles[1].ptr, kA + 128);
  EXPECT_THROW(tl.shard(kA), KernelError);
  EXPECT_EQ(tl.shard(kB).ptr, kB);
}

TEST(Ptr, CountsBytes) {
  Ptr p = kA + 4;
  p += 8;
  EXPECT_EQ(p.address(), 0x100Cu);
  EXPECT_EQ((p - 12).address(), 0x1000u);
  EXPECT_EQ((4 + kA).address(), 0x1004u);
  EXPECT_EQ(p - kA, 12);
  EXPECT_EQ(kA - p, -12);
  EXPECT_LT(kA, p);
}

}  // namespace
}  // namespace kernbench::tl::kernel_test
