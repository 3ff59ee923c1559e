#include "data/replay.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "data/numerics/elementwise.hpp"
#include "data/numerics/gemm.hpp"
#include "data/numerics/reduce.hpp"
#include "data/random_arrays.hpp"
#include "data/replay_world.hpp"

namespace kernbench::data::replay_test {
namespace {

using namespace kernbench::dtypes;
using ::testing::HasSubstr;
using tl::Ptr;

constexpr std::uint64_t kA = 0x1000, kB = 0x5000, kC = 0x9000, kD = 0xD000;
constexpr PeCoord kPe0{0, 0, 0}, kPe1{0, 0, 1};

NdArray added(const NdArray& a, const NdArray& b) {
  return elementwise(MathOp::add, std::array<ConstArray, 2>{a, b});
}

TEST(Replay, StoresWhatWasLoaded) {
  for (const auto dtype : kAllDTypes) {
    World world;
    const auto array = Random(3).array(dtype, {6, 11});
    world.host_write(kA, array);
    world.run(kPe0, [&](tl::Context& tl) { tl.store(Ptr(kB), tl.load(Ptr(kA), {6, 11}, dtype)); });
    world.replay();
    EXPECT_EQ(world.memory(kB, dtype, {6, 11}), array) << to_string(dtype);
  }
}

bool is_of_integers(const MathOpInfo& op) {
  return op.result == ResultRule::integer || op.result == ResultRule::bits || op.result == ResultRule::shift;
}

TEST(Replay, ComputesEveryElementwiseOperationAsTheNumericsDo) {
  for (const auto& op : math_ops()) {
    if (op.kind != MathKind::elementwise || op.result == ResultRule::given) continue;
    const DType dtype = is_of_integers(op) ? i32 : f16;
    World world;
    Random random(5);
    std::vector<NdArray> arrays;
    for (int i = 0; i < op.operands; ++i)
      arrays.push_back(random.array(op.op == MathOp::where && i == 0 ? i1 : dtype, {7, i == 1 ? 1 : 9}));
    for (std::size_t i = 0; i < arrays.size(); ++i) world.host_write(kA + 0x400 * i, arrays[i]);
    world.run(kPe0, [&](tl::Context& tl) {
      std::vector<tl::Operand> tiles;
      for (std::size_t i = 0; i < arrays.size(); ++i)
        tiles.emplace_back(tl.load(Ptr(kA + 0x400 * i), arrays[i].shape(), arrays[i].dtype()));
      tl.store(Ptr(kB), tl.math(op.op, tiles));
    });
    world.replay();
    const auto expected = elementwise(op.op, std::vector<ConstArray>(arrays.begin(), arrays.end()));
    EXPECT_EQ(world.memory(kB, expected.dtype(), expected.shape()), expected) << op.name;
  }
}

TEST(Replay, CastsCreatesAndReduces) {
  World world;
  const auto x = Random(7).array(f32, {5, 40});
  world.host_write(kA, x);
  world.run(kPe0, [&](tl::Context& tl) {
    const auto t = tl.load(Ptr(kA), {5, 40}, f32);
    tl.store(Ptr(kB), tl.cast(t, bf16));
    tl.store(Ptr(kA + 0x2000), tl.bitcast(t, i32));
    tl.store(Ptr(kB + 0x1000), tl.sum(t, 1));
    tl.store(Ptr(kB + 0x1100), tl.max(t, 0));
    tl.store(Ptr(kB + 0x1200), tl.argmax(t, 1));
    tl.store(Ptr(kB + 0x1300), tl.sum(t));
    tl.store(Ptr(kC), tl.arange(-3, 4));
    tl.store(Ptr(kC + 0x100), tl.full({3}, 2.5, f8e4m3));
    tl.store(Ptr(kC + 0x200), tl.full({2}, -7, i8));
  });
  world.replay();
  EXPECT_EQ(world.memory(kB, bf16, {5, 40}), cast(x, bf16));
  NdArray bits(i32, {5, 40});
  std::memcpy(bits.bytes().data(), x.bytes().data(), x.bytes().size());
  EXPECT_EQ(world.memory(kA + 0x2000, i32, {5, 40}), bits);
  EXPECT_EQ(world.memory(kB + 0x1000, f32, {5}), reduce(MathOp::sum, x, 1));
  EXPECT_EQ(world.memory(kB + 0x1100, f32, {40}), reduce(MathOp::max, x, 0));
  EXPECT_EQ(world.memory(kB + 0x1200, i32, {5}), reduce(MathOp::argmax, x, 1));
  EXPECT_EQ(world.memory(kB + 0x1300, f32, {}), reduce(MathOp::sum, x.reshaped({200}), 0));
  EXPECT_EQ(world.memory(kC, i32, {7}), NdArray::of<std::int32_t>({7}, {-3, -2, -1, 0, 1, 2, 3}));
  EXPECT_EQ(world.memory(kC + 0x100, f8e4m3, {3}),
            NdArray::of<F8E4M3>({3}, {F8E4M3(2.5f), F8E4M3(2.5f), F8E4M3(2.5f)}));
  EXPECT_EQ(world.memory(kC + 0x200, i8, {2}), NdArray::of<std::int8_t>({2}, {-7, -7}));
}

TEST(Replay, MultipliesWithAccumulatorAndResultDtype) {
  World world;
  Random random(9);
  const auto a = random.array(f16, {9, 33}), b = random.array(f16, {33, 5}), acc = random.array(f16, {9, 5});
  world.host_write(kA, a);
  world.host_write(kB, b);
  world.host_write(kC, acc);
  world.run(kPe0, [&](tl::Context& tl) {
    const auto x = tl.load(Ptr(kA), {9, 33}, f16), y = tl.load(Ptr(kB), {33, 5}, f16);
    const auto z = tl.load(Ptr(kC), {9, 5}, f16);
    tl.store(Ptr(kD), tl.dot(x, y));
    tl.store(Ptr(kD + 0x200), tl.dot(x, y, {.acc = z, .out_dtype = f16}));
  });
  world.replay();
  NdArray plain(f32, {9, 5}), with_acc(f32, {9, 5});
  gemm(a, b, {}, plain);
  const auto start = cast(acc, f32);
  gemm(a, b, ConstArray(start), with_acc);
  EXPECT_EQ(world.memory(kD, f32, {9, 5}), plain);
  EXPECT_EQ(world.memory(kD + 0x200, f16, {9, 5}), cast(with_acc, f16));
}

TEST(Replay, MovesOnlyTheLanesOfAMask) {
  World world;
  world.scattered = true;
  world.host_write(kA, NdArray::of<std::int32_t>({4}, {10, 11, 12, 13}));  // the rest of the row is not there
  world.host_write(kB, NdArray::of<std::int32_t>({8}, {0, 1, 2, 3, 4, 5, 6, 7}));
  world.run(kPe0, [&](tl::Context& tl) {
    const auto lanes = tl.arange(0, 8);
    const auto x = tl.load(Ptr(kA), {8}, i32, {.mask = lanes < 4, .other = -1});
    tl.store(Ptr(kC), x);
    tl.store(Ptr(kB), x, {.mask = lanes >= 3});
  });
  world.replay();
  EXPECT_EQ(world.memory(kC, i32, {8}), NdArray::of<std::int32_t>({8}, {10, 11, 12, 13, -1, -1, -1, -1}));
  EXPECT_EQ(world.memory(kB, i32, {8}), NdArray::of<std::int32_t>({8}, {0, 1, 2, 13, -1, -1, -1, -1}));
}

TEST(Replay, FollowsStridesAndViews) {
  World world;
  world.scattered = true;
  const auto x = NdArray::of<std::int32_t>({12}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  world.host_write(kA, x);
  world.run(kPe0, [&](tl::Context& tl) {
    const auto columns = tl.load(Ptr(kA), {4, 3}, i32, {.strides = {1, 4}});  // of a 3 × 4 matrix
    tl.store(Ptr(kB), columns);
    tl.store(Ptr(kC), tl.trans(columns).slice({tl::all, {1, 4, 2}}));  // {1, 3}, {5, 7}, {9, 11}
    tl.store(Ptr(kD), tl.load(Ptr(kA), {2, 2}, i32), {.strides = {1, 3}});
    tl.store(Ptr(kD + 0x100), tl.broadcast_to(columns.slice({tl::index(2)}), {2, 3}));  // 2, 6, 10 twice
  });
  world.replay();
  EXPECT_EQ(world.memory(kB, i32, {12}),
            NdArray::of<std::int32_t>({12}, {0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
  EXPECT_EQ(world.memory(kC, i32, {3, 2}), NdArray::of<std::int32_t>({3, 2}, {1, 3, 5, 7, 9, 11}));
  EXPECT_EQ(world.memory(kD + 0x100, i32, {6}), NdArray::of<std::int32_t>({6}, {2, 6, 10, 2, 6, 10}));
  // element (i, j) of {0 1 / 2 3} is at i + 3j
  EXPECT_EQ(world.memory(kD, i32, {2}), NdArray::of<std::int32_t>({2}, {0, 2}));
  EXPECT_EQ(world.memory(kD + 12, i32, {2}), NdArray::of<std::int32_t>({2}, {1, 3}));
}

TEST(Replay, ALoadAfterAStoreReadsTheStoredValue) {
  World world;
  world.host_write(kA, NdArray::of<float>({2}, {1, 2}));
  world.run(kPe0, [&](tl::Context& tl) {
    const auto old = tl.load(Ptr(kA), {2}, f32);
    tl.store(Ptr(kA), old + 10.0);
    const auto now = tl.load(Ptr(kA), {2}, f32);
    tl.store(Ptr(kB), now);
    tl.store(Ptr(kC), old);  // a value, not a place
  });
  world.replay();
  EXPECT_EQ(world.memory(kB, f32, {2}), NdArray::of<float>({2}, {11, 12}));
  EXPECT_EQ(world.memory(kC, f32, {2}), NdArray::of<float>({2}, {1, 2}));
}

// Each tile takes 2 KiB of the 1 MiB of scratch; three thousand of them come and go, and the first is stored
// last.
TEST(Replay, ScratchThatIsReusedAThousandTimesDoesNotTouchValues) {
  World world;
  world.host_write(kA, NdArray::of<std::int32_t>({1}, {5}));
  const auto kernel = [&](tl::Context& tl) {
    const auto one = tl.load(Ptr(kA), {1}, i32);
    const auto first = tl.broadcast_to(one, {512}) + 0;
    auto x = first + 0;
    for (int i = 0; i < 3000; ++i) x = x + 1;
    tl.store(Ptr(kB), x);
    tl.store(Ptr(kC), first);
    tl.store(Ptr(kA), x.slice({{0, 1}}));
  };
  world.run(kPe0, kernel);
  world.run(kPe0, kernel);  // back to back: begins with what the first left in memory
  world.replay();
  const auto all = [](std::int32_t n) {
    return NdArray::of<std::int32_t>({512}, std::vector<std::int32_t>(512, n));
  };
  EXPECT_EQ(world.memory(kC, i32, {512}), all(3005));
  EXPECT_EQ(world.memory(kB, i32, {512}), all(6005));
}

TEST(Replay, AReceivedTileIsTheValueThatWasSent) {
  World world;
  world.wire(kPe0, "E", kPe1, "W");
  Random random(11);
  const auto x = random.array(f16, {8, 4}), y = random.array(f16, {8, 4});
  world.host_write(kA, x);
  world.host_write(kB, y);
  const auto request = world.new_request();
  const auto sender = world.launch_on(
      kPe0,
      [&](tl::Context& tl) {
        const auto a = tl.load(Ptr(kA), {8, 4}, f16);
        tl.send("E", tl.trans(a));  // [4, 8]
        tl.send("E", tl.load(Ptr(kB), {8, 4}, f16));
        tl.store(Ptr(kA), a + a);
      },
      request);
  const auto receiver = world.launch_on(
      kPe1,
      [&](tl::Context& tl) {
        const auto first = tl.recv("W", {4, 8}, f16);
        const auto second = tl.recv("W", {8, 4}, f16, {.dst_addr = Ptr(kD)});
        tl.store(Ptr(kC), tl.trans(first) + second);
      },
      request);
  world.play_together({sender, receiver});
  world.end_launch(request);
  world.replay();
  EXPECT_EQ(world.memory(kC, f16, {8, 4}), added(x, y));
  EXPECT_EQ(world.memory(kD, f16, {8, 4}), y);
}

TEST(Replay, ARingPassesTilesOnManyTimes) {
  const int n = 6, rounds = 20;
  for (const int threads : {1, 2}) {
    World world;
    std::vector<std::uint32_t> origins;
    const auto request = world.new_request();
    for (int i = 0; i < n; ++i) {
      world.host_write(kA + 64u * static_cast<unsigned>(i),
                       NdArray::of<std::int32_t>({4}, {i, i, i, 10 * i}));
      world.wire({0, 0, i}, "E", {0, 0, (i + 1) % n}, "W");
    }
    for (int i = 0; i < n; ++i)
      origins.push_back(world.launch_on(
          {0, 0, i},
          [&](tl::Context& tl) {
            const auto at = Ptr(kA) + 64 * i;
            auto x = tl.load(at, {4}, i32);
            for (int round = 0; round < rounds; ++round) {
              tl.send("E", x);
              x = tl.recv("W", {4}, i32) + 1;
            }
            tl.store(at, x);
          },
          request));
    world.play_together(origins);
    world.replay(threads, 37);  // messages are on their way from window to window
    for (int i = 0; i < n; ++i) {
      const int from = ((i - rounds) % n + n) % n;  // whose tile came by after 20 rounds, one more each
      EXPECT_EQ(world.memory(kA + 64u * static_cast<unsigned>(i), i32, {4}),
                NdArray::of<std::int32_t>({4}, {from + 20, from + 20, from + 20, 10 * from + 20}));
    }
  }
}

TEST(Replay, HostReadsSeeWhatMemoryHoldsAtTheirPlaceInTheOrder) {
  World world;
  world.host_write(kA, NdArray::of<float>({2}, {1, 2}));
  const auto before = world.host_read(kA, f32, {2});
  world.run(kPe0, [&](tl::Context& tl) { tl.store(Ptr(kA), tl.full({2}, 7, f32)); });
  const auto between = world.host_read(kA, f32, {2});
  world.host_write(kA, NdArray::of<float>({2}, {3, 4}));
  world.replay();
  EXPECT_EQ(world.read_result(before, f32, {2}), NdArray::of<float>({2}, {1, 2}));
  EXPECT_EQ(world.read_result(between, f32, {2}), NdArray::of<float>({2}, {7, 7}));
  EXPECT_EQ(world.memory(kA, f32, {2}), NdArray::of<float>({2}, {3, 4}));
}

TEST(Replay, ReadingBytesNobodyWroteNamesKernelPeLineAndTensor) {
  World world;
  world.name(kA, Bytes(64), "bias");
  world.host_write(kA, NdArray::of<float>({4}, {1, 2, 3, 4}));
  world.run(kPe1, [&](tl::Context& tl) { tl.store(Ptr(kB), tl.load(Ptr(kA), {8}, f32)); });
  try {
    world.replay();
    FAIL() << "bytes 16 to 31 were never written";
  } catch (const SimulationError& e) {
    EXPECT_EQ(e.id(), "data.unwritten");
    EXPECT_THAT(e.where(), HasSubstr("kernel 'kernel' on sip0.cube0.pe1, dma_read at replay_test.cpp:"));
    EXPECT_THAT(e.message(), HasSubstr("tensor 'bias' +0x10"));
  }
}

TEST(Replay, AReceiveOfAnotherSizeNamesBothSides) {
  World world;
  world.wire(kPe0, "E", kPe1, "W");
  const auto request = world.new_request();
  const auto sender = world.launch_on(
      kPe0, [](tl::Context& tl) { tl.send("E", tl.zeros({4}, f32)); }, request);
  const auto receiver = world.launch_on(
      kPe1, [](tl::Context& tl) { tl.store(Ptr(kA), tl.recv("W", {4}, f16)); }, request);
  world.play_together({sender, receiver});
  try {
    world.replay();
    FAIL() << "16 bytes were sent, 8 received";
  } catch (const SimulationError& e) {
    EXPECT_EQ(e.id(), "data.message");
    EXPECT_THAT(e.where(), HasSubstr("sip0.cube0.pe1"));
    EXPECT_THAT(e.message(), HasSubstr("sip0.cube0.pe0"));
  }
}

}  // namespace
}  // namespace kernbench::data::replay_test
