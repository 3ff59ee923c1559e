// The element types of tiles and tensors.
//
//   name     bytes  what
//   f16      2      IEEE half
//   bf16     2      the upper half of an f32
//   f32      4      IEEE single; all float math is done in it
//   i8 … i64        two's complement of 1, 2, 4, 8 bytes, wrapping
//   u8 … u64        unsigned, wrapping
//   i1       1      a truth value; one byte that is 0 or 1
//   f8e4m3   1      OCP E4M3 ("fn"): no infinity, largest 448
//   f8e5m2   1      OCP E5M2: IEEE-like, largest 57344, with infinity
//
// How the small floats are rounded is in half.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace kernbench {

enum class DType : std::uint8_t { f16, bf16, f32, i32, i8, i1, f8e4m3, f8e5m2, i16, i64, u8, u16, u32, u64 };

inline constexpr std::array kAllDTypes = {DType::f16, DType::bf16,   DType::f32,    DType::i32, DType::i8,
                                          DType::i1,  DType::f8e4m3, DType::f8e5m2, DType::i16, DType::i64,
                                          DType::u8,  DType::u16,    DType::u32,    DType::u64};

/// `using namespace kernbench;` lets kernels say `tl.load(p, {n}, f16)`; so does `using namespace
/// kernbench::dtypes;`, which brings these names alone.
inline namespace dtypes {
using enum DType;
}

/// Bytes of one element.
constexpr int itemsize(DType t) {
  switch (t) {
    case DType::i64:
    case DType::u64:
      return 8;
    case DType::f32:
    case DType::i32:
    case DType::u32:
      return 4;
    case DType::f16:
    case DType::bf16:
    case DType::i16:
    case DType::u16:
      return 2;
    case DType::i8:
    case DType::u8:
    case DType::i1:
    case DType::f8e4m3:
    case DType::f8e5m2:
      break;
  }
  return 1;
}

constexpr bool is_unsigned(DType t) {
  return t == DType::u8 || t == DType::u16 || t == DType::u32 || t == DType::u64;
}
/// Integers of either sign, and truth values.
constexpr bool is_integer(DType t) {
  return is_unsigned(t) || t == DType::i8 || t == DType::i16 || t == DType::i32 || t == DType::i64 ||
         t == DType::i1;
}
constexpr bool is_float(DType t) { return !is_integer(t); }

/// `f16`, `f8e4m3`, …
std::string_view to_string(DType t);

/// The dtype of that name. Accepts the names above and the usual others (`fp16`, `float16`, `half`,
/// `bfloat16`, `float32`, `float`, `int32`, `int8`, `uint16`, `long`, `bool`, `float8_e4m3fn`, `float8_e5m2` …), also with
/// `tl.`, `torch.` or `np.` before them. Anything else is an InputError that lists the known names and the
/// nearest one.
DType parse_dtype(std::string_view name);

/// The dtype of an operation on two tiles. Equal dtypes stay; float wins over integer; of two integers the
/// wider wins, of equal widths the unsigned one; of two floats the result is the smallest that holds every value of both: f16 with bf16 gives
/// f32, f8e4m3 with f8e5m2 gives f16, an f8 with f16 (bf16, f32) gives f16 (bf16, f32).
DType promote(DType a, DType b);

}  // namespace kernbench
