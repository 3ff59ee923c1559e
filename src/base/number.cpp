#include "base/number.hpp"

#include <cmath>
#include <cstdint>

#include "kernbench/half.hpp"

namespace kernbench {
namespace {

template <class Small>
double rounded(double number) {
  return static_cast<double>(static_cast<float>(Small(static_cast<float>(number))));
}

bool is_whole_within(double number, double low, double end) {
  return number >= low && number < end && number == std::trunc(number);
}

}  // namespace

double round_to(DType dtype, double number) {
  switch (dtype) {
    case DType::f32:
      return static_cast<double>(static_cast<float>(number));
    case DType::f16:
      return rounded<F16>(number);
    case DType::bf16:
      return rounded<BF16>(number);
    case DType::f8e4m3:
      return rounded<F8E4M3>(number);
    case DType::f8e5m2:
      return rounded<F8E5M2>(number);
    case DType::i32:
      return static_cast<std::int32_t>(static_cast<std::int64_t>(number));
    case DType::i8:
      return static_cast<std::int8_t>(static_cast<std::int64_t>(number));
    case DType::i16:
      return static_cast<std::int16_t>(static_cast<std::int64_t>(number));
    case DType::u8:
      return static_cast<std::uint8_t>(static_cast<std::int64_t>(number));
    case DType::u16:
      return static_cast<std::uint16_t>(static_cast<std::int64_t>(number));
    case DType::u32:
      return static_cast<std::uint32_t>(static_cast<std::int64_t>(number));
    case DType::u64:
      return static_cast<double>(number < 0 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(number))
                                            : static_cast<std::uint64_t>(number));
    case DType::i64:
    case DType::i1:
      break;
  }
  return static_cast<double>(static_cast<std::int64_t>(number));
}

bool fits(DType dtype, double number) {
  switch (dtype) {
    case DType::i1:
      return number == 0 || number == 1;
    case DType::i8:
      return is_whole_within(number, -0x1p7, 0x1p7);
    case DType::i16:
      return is_whole_within(number, -0x1p15, 0x1p15);
    case DType::i32:
      return is_whole_within(number, -0x1p31, 0x1p31);
    case DType::i64:
      return is_whole_within(number, -0x1p63, 0x1p63);
    case DType::u8:
      return is_whole_within(number, 0, 0x1p8);
    case DType::u16:
      return is_whole_within(number, 0, 0x1p16);
    case DType::u32:
      return is_whole_within(number, 0, 0x1p32);
    case DType::u64:
      return is_whole_within(number, 0, 0x1p64);
    case DType::f32:
    case DType::f16:
    case DType::bf16:
    case DType::f8e4m3:
    case DType::f8e5m2:
      break;
  }
  const double value = round_to(dtype, number);
  return std::isnan(number) || (std::isinf(number) ? value == number : std::isfinite(value));
}

}  // namespace kernbench
