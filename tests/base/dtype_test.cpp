#include "kernbench/dtype.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <vector>

#include "kernbench/error.hpp"
#include "kernbench/half.hpp"

namespace kernbench::dtype_test {
namespace {

using ::testing::HasSubstr;

TEST(DType, CanonicalNamesParseBack) {
  for (const auto t : kAllDTypes) EXPECT_EQ(parse_dtype(to_string(t)), t);
}

TEST(DType, AliasesOfTritonTorchAndNumpyAreAccepted) {
  EXPECT_EQ(parse_dtype("fp16"), DType::f16);
  EXPECT_EQ(parse_dtype("torch.float16"), DType::f16);
  EXPECT_EQ(parse_dtype("half"), DType::f16);
  EXPECT_EQ(parse_dtype("tl.bfloat16"), DType::bf16);
  EXPECT_EQ(parse_dtype("np.float32"), DType::f32);
  EXPECT_EQ(parse_dtype("int32"), DType::i32);
  EXPECT_EQ(parse_dtype("int8"), DType::i8);
  EXPECT_EQ(parse_dtype("bool"), DType::i1);
  EXPECT_EQ(parse_dtype("torch.float8_e4m3fn"), DType::f8e4m3);
  EXPECT_EQ(parse_dtype("float8_e5m2"), DType::f8e5m2);
}

TEST(DType, AnUnknownNameListsTheKnownOnesAndTheNearest) {
  try {
    parse_dtype("flaot16");
    FAIL() << "accepted";
  } catch (const InputError& e) {
    EXPECT_EQ(e.id(), "dtype.unknown");
    EXPECT_THAT(e.message(), HasSubstr("flaot16"));
    EXPECT_THAT(e.hint(), HasSubstr("did you mean float16?"));
    for (const auto t : kAllDTypes) EXPECT_THAT(e.hint(), HasSubstr(std::string(to_string(t))));
  }
  EXPECT_THROW(parse_dtype(""), InputError);
  EXPECT_THROW(parse_dtype("complex128"), InputError);
  EXPECT_THROW(parse_dtype("F16"), InputError);
}

TEST(DType, SizesAreThoseOfTheStorage) {
  EXPECT_EQ(itemsize(DType::f32), 4);
  EXPECT_EQ(itemsize(DType::i32), 4);
  EXPECT_EQ(itemsize(DType::f16), static_cast<int>(sizeof(F16)));
  EXPECT_EQ(itemsize(DType::bf16), static_cast<int>(sizeof(BF16)));
  EXPECT_EQ(itemsize(DType::i8), 1);
  EXPECT_EQ(itemsize(DType::i1), 1);
  EXPECT_EQ(itemsize(DType::f8e4m3), static_cast<int>(sizeof(F8E4M3)));
  EXPECT_EQ(itemsize(DType::f8e5m2), static_cast<int>(sizeof(F8E5M2)));
}

/// Every finite value of a float dtype; for f32 a few that no smaller format holds.
std::vector<float> values_of(DType t) {
  std::vector<float> all;
  const auto add = [&](float x) {
    if (std::isfinite(x)) all.push_back(x);
  };
  for (std::uint32_t b = 0; b < 0x10000; ++b) {
    const auto bits = static_cast<std::uint16_t>(b);
    if (t == DType::f16) add(static_cast<float>(F16::from_bits(bits)));
    if (t == DType::bf16) add(static_cast<float>(BF16::from_bits(bits)));
    if (t == DType::f8e4m3 && b < 256)
      add(static_cast<float>(F8E4M3::from_bits(static_cast<std::uint8_t>(b))));
    if (t == DType::f8e5m2 && b < 256)
      add(static_cast<float>(F8E5M2::from_bits(static_cast<std::uint8_t>(b))));
  }
  if (t == DType::f32) all = {1.0f + 0x1p-23f, 0x1p-149f, 0x1.fffffep127f};
  return all;
}

float rounded_to(DType t, float x) {
  switch (t) {
    case DType::f16:
      return static_cast<float>(F16(x));
    case DType::bf16:
      return static_cast<float>(BF16(x));
    case DType::f8e4m3:
      return static_cast<float>(F8E4M3(x));
    case DType::f8e5m2:
      return static_cast<float>(F8E5M2(x));
    default:
      return x;
  }
}

bool holds_all_of(DType wide, DType t) {
  for (const float x : values_of(t))
    if (rounded_to(wide, x) != x) return false;
  return true;
}

TEST(Promotion, OfTwoFloatsIsASmallestThatHoldsBothExactly) {
  for (const auto a : kAllDTypes)
    for (const auto b : kAllDTypes) {
      if (!is_float(a) || !is_float(b)) continue;
      const auto wide = promote(a, b);
      EXPECT_TRUE(holds_all_of(wide, a) && holds_all_of(wide, b)) << to_string(a) << to_string(b);
      for (const auto smaller : kAllDTypes)
        if (is_float(smaller) && itemsize(smaller) < itemsize(wide)) {
          EXPECT_FALSE(holds_all_of(smaller, a) && holds_all_of(smaller, b)) << to_string(a) << to_string(b);
        }
    }
}

TEST(Promotion, FollowsTheWrittenRule) {
  EXPECT_EQ(promote(DType::f16, DType::bf16), DType::f32);
  EXPECT_EQ(promote(DType::f8e4m3, DType::f8e5m2), DType::f16);
  EXPECT_EQ(promote(DType::f8e5m2, DType::bf16), DType::bf16);
  EXPECT_EQ(promote(DType::f16, DType::i32), DType::f16);
  EXPECT_EQ(promote(DType::i32, DType::f8e4m3), DType::f8e4m3);
  EXPECT_EQ(promote(DType::i8, DType::i32), DType::i32);
  EXPECT_EQ(promote(DType::i1, DType::i8), DType::i8);
  EXPECT_EQ(promote(DType::u8, DType::i32), DType::i32);
  EXPECT_EQ(promote(DType::i32, DType::u32), DType::u32);  // of equal widths the unsigned one, as in Triton
  EXPECT_EQ(promote(DType::u32, DType::i64), DType::i64);
  EXPECT_EQ(promote(DType::u64, DType::bf16), DType::bf16);
  EXPECT_EQ(promote(DType::i1, DType::u64), DType::u64);
  EXPECT_EQ(promote(DType::i1, DType::i1), DType::i1);
}

TEST(Promotion, DoesNotDependOnTheOrder) {
  for (const auto a : kAllDTypes) {
    EXPECT_EQ(promote(a, a), a);
    for (const auto b : kAllDTypes) EXPECT_EQ(promote(a, b), promote(b, a));
  }
}

}  // namespace
}  // namespace kernbench::dtype_test
