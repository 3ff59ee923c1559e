// A pointer knows the dtype of its tensor.
#include "tl/recording.hpp"

namespace kernbench::tl::pointer_test {
namespace {

constexpr Ptr kHalf{0x1000, f16};

TEST(Pointer, KeepsItsDtypeThroughArithmetic) {
  Ptr p = 4 + (kHalf + 8) - 2;
  p += 2, p -= 4;
  EXPECT_EQ(p, Ptr(0x1008));  // compared by address alone
  EXPECT_EQ(p.dtype(), f16);
  EXPECT_EQ(p.as(i8).dtype(), i8);
  EXPECT_EQ(Ptr(0x1000).dtype(), std::nullopt);
}

TEST(Pointer, ToATensorMakesAStoreConvert) {
  EXPECT_THAT(
      recorded([](Context& tl) { tl.store(kHalf, tl.zeros({4}, f32)); }),
      ElementsAre("%1:f32[4] = fill 0:f32", "%2:f16[4] = cast %1:f32[4]", "dma_write 0x1000 %2:f16[4]"));
  EXPECT_THAT(recorded([](Context& tl) { tl.store(kHalf + 16, tl.zeros({4}, f16)); }),
              ElementsAre("%1:f16[4] = fill 0:f16", "dma_write 0x1010 %1:f16[4]"));
}

TEST(Pointer, WithoutATensorConvertsNothing) {
  EXPECT_THAT(recorded([](Context& tl) { tl.store(kA, tl.load(kA, {4}, f32)); }),
              ElementsAre("%0:f32[4] = dma_read 0x1000", "dma_write 0x1000 %0:f32[4]"));
}

TEST(Pointer, ReadAsAnotherDtypeIsAnErrorUnlessAskedFor) {
  const auto e = error_of([](Context& tl) { tl.load(kHalf, {4}, f32); });
  EXPECT_EQ(e.id(), "tl.dtype");
  EXPECT_THAT(e.message(), HasSubstr("load of f32 at 0x1000, which points into a tensor of f16"));
  EXPECT_THAT(e.hint(), HasSubstr("ptr.as(f32)"));
  EXPECT_EQ(error_of([](Context& tl) { tl.ref(kHalf, {4, 4}, bf16); }).id(), "tl.dtype");
  EXPECT_EQ(error_of([](Context& tl) { tl.recv("E", {4}, f32, {.dst_addr = kHalf}); }).id(), "tl.dtype");
  EXPECT_EQ(error_of([](Context& tl) { tl.load_scalar<int>(kHalf); },
                     {.scalars = [](std::uint64_t, DType) { return 1.0; }})
                .id(),
            "tl.dtype");
  EXPECT_THAT(recorded([](Context& tl) { tl.store(kHalf.as(i8), tl.load(kHalf.as(i8), {4}, i8)); }),
              ElementsAre("%0:i8[4] = dma_read 0x1000", "dma_write 0x1000 %0:i8[4]"));
}

TEST(Slices, WithAnIndexBeyondAnythingAreAnError) {
  for (const auto i : {INT64_MAX, INT64_MAX - 1, INT64_MIN})
    EXPECT_EQ(error_of([&](Context& tl) { tl.zeros({4}, f16).slice({index(i)}); }).id(), "tl.slice") << i;
}

TEST(Context, MovedFromIsAnErrorAndItsTilesLiveOn) {
  Context from;
  const auto x = from.zeros({4}, f16);
  Context to = std::move(from);
  EXPECT_THROW(from.zeros({4}, f16), KernelError);      // NOLINT: that is the test
  EXPECT_THROW(from.program_id(0), KernelError);        // NOLINT
  EXPECT_THROW((void)from.environment(), KernelError);  // NOLINT
  EXPECT_EQ((x + 1).shape(), Shape{4});
  EXPECT_EQ(to.commands().size(), 2u);
  from = std::move(to);
  EXPECT_EQ(from.commands().size(), 2u);
}

}  // namespace
}  // namespace kernbench::tl::pointer_test
