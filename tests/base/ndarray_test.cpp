#include "kernbench/ndarray.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "kernbench/error.hpp"

namespace kernbench::ndarray_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Shape, CountsElementsAndPrints) {
  EXPECT_EQ((Shape{3, 4, 5}).elements(), 60);
  EXPECT_EQ(Shape{}.elements(), 1);
  EXPECT_EQ((Shape{3, 0}).elements(), 0);
  EXPECT_EQ(to_string(Shape{3, 4}), "[3, 4]");
  EXPECT_EQ(to_string(Shape{}), "[]");
}

TEST(Shape, RefusesWhatIsNone) {
  EXPECT_THROW((Shape{2, -1}), InputError);
  EXPECT_THROW((Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}), InputError);
  EXPECT_THROW((Shape{1ll << 32, 1ll << 31}), InputError);
}

TEST(Shape, CountsAxesFromEitherEnd) {
  const Shape s{2, 3, 4};
  EXPECT_EQ(s.axis(1), 1);
  EXPECT_EQ(s.axis(-1), 2);
  EXPECT_EQ(s.without(-2), (Shape{2, 4}));
  EXPECT_THROW(s.axis(3), InputError);
  EXPECT_THROW(s.axis(-4), InputError);
  EXPECT_THROW(Shape{}.axis(0), InputError);
}

TEST(Broadcast, FollowsNumpy) {
  EXPECT_EQ(broadcast({8, 1, 6, 1}, {7, 1, 5}), (Shape{8, 7, 6, 5}));
  EXPECT_EQ(broadcast({5, 4}, {}), (Shape{5, 4}));
  EXPECT_EQ(broadcast({1}, {0}), (Shape{0}));
  EXPECT_EQ(broadcast({2, 3}, {3}), (Shape{2, 3}));
}

TEST(Broadcast, NamesBothShapesWhenTheyDoNotFit) {
  try {
    broadcast({2, 3}, {2});
    FAIL() << "accepted";
  } catch (const InputError& e) {
    EXPECT_THAT(e.message(), HasSubstr("[2, 3] and [2]"));
    EXPECT_THAT(e.message(), HasSubstr("3 against 2"));
  }
}

TEST(NdArray, StartsAsZeros) {
  const NdArray a(DType::f16, {2, 3});
  EXPECT_EQ(a.bytes().size(), 12u);
  for (const auto x : a.view<F16>()) EXPECT_EQ(x.bits, 0);
}

TEST(NdArray, TakesBytesOver) {
  ByteBuffer bytes(8);
  const std::array<std::int32_t, 2> numbers{5, -1};
  std::memcpy(bytes.data(), numbers.data(), 8);
  const std::byte* const at = bytes.data();
  const NdArray a = NdArray::adopt(DType::i32, {2}, std::move(bytes));
  EXPECT_EQ(a, NdArray::of<std::int32_t>({2}, {5, -1}));
  EXPECT_EQ(a.bytes().data(), at);  // the same memory
  EXPECT_EQ(NdArray::unset(DType::f16, {3, 4}).bytes().size(), 24u);
}

// More than a huge page, so that it comes by another way.
TEST(NdArray, LargeOnesStartAsZerosTooAndAreCopied) {
  NdArray a(DType::u8, {9 << 20});
  EXPECT_TRUE(std::ranges::all_of(a.view<std::uint8_t>(), [](auto x) { return x == 0; }));
  a.view<std::uint8_t>().back() = 7;
  const NdArray b = a;
  EXPECT_EQ(b, a);
  EXPECT_NE(b.bytes().data(), a.bytes().data());
}

TEST(NdArray, IsRowMajor) {
  auto a = NdArray::of<std::int32_t>({2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(a.at<std::int32_t>({1, 2}), 5);
  EXPECT_EQ(a.at<std::int32_t>({1, 0}), 3);
  a.at<std::int32_t>({0, 1}) = 9;
  EXPECT_THAT(a.view<std::int32_t>(), ElementsAre(0, 9, 2, 3, 4, 5));
}

TEST(NdArray, ViewsOfAnotherTypeAreRefused) {
  NdArray a(DType::f16, {4});
  EXPECT_THROW(a.view<BF16>(), InputError);
  EXPECT_THROW(a.view<float>(), InputError);
  EXPECT_THROW(a.at<float>({0}), InputError);
}

TEST(NdArray, IndicesAreChecked) {
  const NdArray a(DType::i8, {2, 3});
  EXPECT_THROW(a.at<std::int8_t>({2, 0}), InputError);
  EXPECT_THROW(a.at<std::int8_t>({0, 3}), InputError);
  EXPECT_THROW(a.at<std::int8_t>({0, -1}), InputError);
  EXPECT_THROW(a.at<std::int8_t>({0}), InputError);
}

TEST(NdArray, TheNumberOfValuesMustBeTheShapes) {
  EXPECT_THROW(NdArray::of<float>({2, 2}, {1, 2, 3}), InputError);
  EXPECT_THROW(NdArray(DType::f32, {1ll << 62}), InputError);
}

TEST(NdArray, IsAValue) {
  const auto a = NdArray::of<float>({2}, {1, 2});
  auto b = a;
  EXPECT_EQ(a, b);
  b.at<float>({0}) = 7;
  EXPECT_NE(a, b);
  EXPECT_EQ(a.at<float>({0}), 1);
}

TEST(NdArray, ReshapingKeepsTheOrder) {
  const auto a = NdArray::of<float>({2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(a.reshaped({3, 2}).at<float>({2, 0}), 4);
  EXPECT_THROW(a.reshaped({4}), InputError);
}

}  // namespace
}  // namespace kernbench::ndarray_test
