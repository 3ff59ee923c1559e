#include <fmt/format.h>

#include <cmath>

#include "kernbench/bench.hpp"
#include "kernbench/error.hpp"

namespace kernbench::bench {
namespace {

template <class T>
std::vector<double> widened(const NdArray& array) {
  const auto from = array.view<T>();
  std::vector<double> values(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    if constexpr (std::is_arithmetic_v<T>)
      values[i] = static_cast<double>(from[i]);
    else
      values[i] = static_cast<double>(static_cast<float>(from[i]));
  }
  return values;
}

/// Exact for every dtype, of 64-bit integers up to 2⁵³.
std::vector<double> as_doubles(const NdArray& array) {
  switch (array.dtype()) {
    case DType::f16:
      return widened<F16>(array);
    case DType::bf16:
      return widened<BF16>(array);
    case DType::f32:
      return widened<float>(array);
    case DType::i32:
      return widened<std::int32_t>(array);
    case DType::i8:
      return widened<std::int8_t>(array);
    case DType::i1:
    case DType::u8:
      return widened<std::uint8_t>(array);
    case DType::i16:
      return widened<std::int16_t>(array);
    case DType::i64:
      return widened<std::int64_t>(array);
    case DType::u16:
      return widened<std::uint16_t>(array);
    case DType::u32:
      return widened<std::uint32_t>(array);
    case DType::u64:
      return widened<std::uint64_t>(array);
    case DType::f8e4m3:
      return widened<F8E4M3>(array);
    case DType::f8e5m2:
      return widened<F8E5M2>(array);
  }
  return {};
}

bool near(double got, double expected, Tolerance tolerance) {
  if (got == expected || (std::isnan(got) && std::isnan(expected))) return true;
  return std::abs(got - expected) <= tolerance.absolute + tolerance.relative * std::abs(expected);
}

/// `[3, 17]`
std::string index_of(std::int64_t element, const Shape& shape) {
  std::string text;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    text = fmt::format("{}{}{}", element % shape[axis], text.empty() ? "" : ", ", text);
    element /= shape[axis];
  }
  return "[" + text + "]";
}

}  // namespace

void BenchReport::verified(bool right, std::string complaint) {
  outcome_ = right && outcome_.value_or(true);
  if (!right) complaints_.push_back(complaint.empty() ? "a check failed" : std::move(complaint));
}

bool BenchReport::compare(std::string_view what, const NdArray& got, const NdArray& expected,
                          Tolerance tolerance) {
  if (!(got.shape() == expected.shape())) {
    verified(false, fmt::format("{} has shape {}, its reference {}", what, to_string(got.shape()),
                                to_string(expected.shape())));
    return false;
  }
  const std::vector<double> a = as_doubles(got);
  const std::vector<double> b = as_doubles(expected);
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (near(a[i], b[i], tolerance)) continue;
    if (wrong++ == 0) first = i;
  }
  verified(wrong == 0,
           wrong == 0
               ? ""
               : fmt::format("{} differs from its reference in {} of {} elements, first at {}: got {}, "
                             "expected {}",
                             what, wrong, a.size(), index_of(static_cast<std::int64_t>(first), got.shape()),
                             a[first], b[first]));
  return wrong == 0;
}

void BenchReport::result(std::string name, ParamValue value) {
  results_.emplace_back(std::move(name), std::move(value));
}

}  // namespace kernbench::bench
