#include "kernbench/dtype.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.hpp"
#include "kernbench/error.hpp"

namespace kernbench {
namespace {

struct Spelling {
  std::string_view name;
  DType dtype;
};

// The canonical name of each dtype comes first, in the order of the enum.
constexpr Spelling kSpellings[] = {
    {"f16", DType::f16},
    {"bf16", DType::bf16},
    {"f32", DType::f32},
    {"i32", DType::i32},
    {"i8", DType::i8},
    {"i1", DType::i1},
    {"f8e4m3", DType::f8e4m3},
    {"f8e5m2", DType::f8e5m2},
    {"i16", DType::i16},
    {"i64", DType::i64},
    {"u8", DType::u8},
    {"u16", DType::u16},
    {"u32", DType::u32},
    {"u64", DType::u64},
    {"int16", DType::i16},
    {"short", DType::i16},
    {"int64", DType::i64},
    {"long", DType::i64},
    {"uint8", DType::u8},
    {"uint16", DType::u16},
    {"uint32", DType::u32},
    {"uint64", DType::u64},
    {"fp16", DType::f16},
    {"float16", DType::f16},
    {"half", DType::f16},
    {"bfloat16", DType::bf16},
    {"fp32", DType::f32},
    {"float32", DType::f32},
    {"float", DType::f32},
    {"int32", DType::i32},
    {"int", DType::i32},
    {"int8", DType::i8},
    {"int1", DType::i1},
    {"bool", DType::i1},
    {"fp8e4m3", DType::f8e4m3},
    {"fp8e4nv", DType::f8e4m3},
    {"float8_e4m3", DType::f8e4m3},
    {"float8_e4m3fn", DType::f8e4m3},
    {"float8e4nv", DType::f8e4m3},
    {"fp8e5m2", DType::f8e5m2},
    {"fp8e5", DType::f8e5m2},
    {"float8_e5m2", DType::f8e5m2},
    {"float8e5", DType::f8e5m2},
};

std::string_view without_module(std::string_view name) {
  for (const std::string_view module : {"tl.", "torch.", "np.", "numpy."})
    if (name.starts_with(module)) return name.substr(module.size());
  return name;
}

[[noreturn]] void reject(std::string_view name) {
  std::vector<std::string> known;
  for (const auto& s : kSpellings) known.emplace_back(s.name);
  const auto meant = nearest(name, known);
  known.resize(kAllDTypes.size());  // the canonical names come first
  auto hint = fmt::format("known dtypes: {}", join(known));
  if (!meant.empty()) hint = fmt::format("did you mean {}? {}", meant.front(), hint);
  throw InputError({.id = "dtype.unknown",
                    .where = "",
                    .what = fmt::format("unknown dtype {}", quote(name)),
                    .hint = std::move(hint)});
}

DType promote_floats(DType a, DType b) {
  if (itemsize(a) != itemsize(b)) return itemsize(a) > itemsize(b) ? a : b;
  return itemsize(a) == 1 ? DType::f16 : DType::f32;  // the two f8, or f16 with bf16
}

}  // namespace

std::string_view to_string(DType t) { return kSpellings[static_cast<std::size_t>(t)].name; }

DType parse_dtype(std::string_view name) {
  const auto bare = without_module(name);
  const auto* found = std::ranges::find(kSpellings, bare, &Spelling::name);
  if (found == std::end(kSpellings)) reject(name);
  return found->dtype;
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (is_float(a) && is_float(b)) return promote_floats(a, b);
  if (is_float(a) != is_float(b)) return is_float(a) ? a : b;
  if (a == DType::i1 || b == DType::i1) return a == DType::i1 ? b : a;
  if (itemsize(a) != itemsize(b)) return itemsize(a) > itemsize(b) ? a : b;
  return is_unsigned(a) ? a : b;
}

}  // namespace kernbench
