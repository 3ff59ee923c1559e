#include "tl/recording.hpp"

namespace kernbench::tl::scratch_test {
namespace {

// A tile of that many KiB.
Tile kib(Context& tl, int n) { return tl.load(kA, {n, 512}, f16); }

Bytes peak(void (*kernel)(Context&)) {
  Context tl;
  return run_kernel(kernel, tl).peak_scratch();
}

TEST(Scratch, CountsTilesFromTheirCommandToTheirLastReader) {
  EXPECT_EQ(peak([](Context& tl) { kib(tl, 4); }), Bytes(4 << 10));
  EXPECT_EQ(peak([](Context& tl) {
              kib(tl, 4);  // never read: it dies at its own command
              kib(tl, 3);
            }),
            Bytes(4 << 10));
  EXPECT_EQ(peak([](Context& tl) {
              const auto x = kib(tl, 4);
              kib(tl, 3);
              tl.store(kB, x);
            }),
            Bytes(7 << 10));
  EXPECT_EQ(peak([](Context& tl) {
              const auto x = kib(tl, 4);
              x + x;  // operands and result together, x once
            }),
            Bytes(8 << 10));
}

TEST(Scratch, AViewKeepsItsBase) {
  EXPECT_EQ(peak([](Context& tl) {
              const auto view = kib(tl, 4).slice({{0, 1}});
              kib(tl, 3);
              tl.store(kB, view);
            }),
            Bytes(7 << 10));
}

TEST(Scratch, IsCountedInGranules) {
  EXPECT_EQ(peak([](Context& tl) { tl.load(kA, {1}, i8); }), Bytes(64));
  EXPECT_EQ(peak([](Context& tl) { tl.load(kA, {65}, i8); }), Bytes(128));
  EXPECT_EQ(peak([](Context& tl) { tl.load(kA, {0}, i8); }), Bytes(0));
  EXPECT_EQ(peak([](Context& tl) { tl.ref(kA, {1 << 20, 1 << 20}, f32); }), Bytes(0));
}

TEST(Scratch, MayBeFilledToTheLastGranule) {
  EXPECT_EQ(peak([](Context& tl) {
              const auto x = kib(tl, 512), y = kib(tl, 512);
              tl.store(kB, x);
              tl.store(kB, y);
            }),
            Bytes(1 << 20));
}

TEST(Scratch, ErrorListsTheLargestLiveTiles) {
  int line = 0;
  const auto e = error_of([&](Context& tl) {
    const auto small = kib(tl, 1);
    line = __LINE__ + 1;
    const auto big = tl.load(kA, {600, 512}, f16);
    const auto other = tl.zeros({424, 512}, f16);
    tl.store(kB, small);
    tl.store(kB, big);
    tl.store(kB, other);
  });
  EXPECT_EQ(e.id(), "tl.scratch");
  // 1 + 600 + 424 KiB = 1025 KiB, 1025 / 1024 MiB
  EXPECT_THAT(e.message(),
              HasSubstr("live tiles take 1.00098 MiB of scratch, 1 KiB more than the PE's 1 MiB"));
  EXPECT_THAT(
      e.message(),
      HasSubstr("the largest of 3:\n    %1:f16[600, 512]  600 KiB  by dma_read at scratch_test.cpp:" +
                std::to_string(line) + "\n    %3:f16[424, 512]  424 KiB  by fill at scratch_test.cpp:" +
                std::to_string(line + 1) + "\n    %0:f16[1, 512]  1 KiB"));
  EXPECT_EQ(e.where(), "kernel 'faulty' on sip1.cube2.pe3, scratch_test.cpp:" + std::to_string(line + 1));
}

TEST(Scratch, ErrorListsAtMostEightTiles) {
  const auto e = error_of([](Context& tl) {
    std::vector<Tile> tiles;
    for (int i = 0; i < 11; ++i) tiles.push_back(kib(tl, 100));
    for (const auto& t : tiles) tl.store(kB, t);
  });
  EXPECT_THAT(e.message(), HasSubstr("and 3 more"));
}

TEST(Scratch, ASingleTileAboveTheLimitFailsAtItsCall) {
  const auto e = error_of([](Context& tl) {
    tl.load(kA, {1 << 20}, f16);
    ADD_FAILURE() << "recording went on";
  });
  EXPECT_EQ(e.id(), "tl.scratch");
  EXPECT_THAT(e.message(), HasSubstr("a tile f16[1048576] alone exceeds the PE's scratch of 1 MiB"));
}

TEST(Scratch, LimitIsThePes) {
  const auto kernel = [](Context& tl) { kib(tl, 2); };
  EXPECT_EQ(error_of(kernel, {.scratch = Bytes(1 << 10)}).id(), "tl.scratch");
  EXPECT_NO_THROW(recorded(kernel, {.scratch = Bytes(2 << 10)}));
}

TEST(Scratch, AHundredThousandShortLivesFit) {
  EXPECT_EQ(peak([](Context& tl) {
              auto sum = tl.zeros({512, 256}, f16);  // 256 KiB
              for (const int i : tl.static_range(100'000)) sum += tl.load(kA + 2 * i, {512, 256}, f16);
              tl.store(kB, sum);
            }),
            Bytes(3 * 256 << 10));  // the old sum, the new tile, the new sum
}

}  // namespace
}  // namespace kernbench::tl::scratch_test
