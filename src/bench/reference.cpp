#include "kernbench/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/threads.hpp"
#include "kernbench/error.hpp"

namespace kernbench::bench {
namespace {

constexpr int kMost = 8;                      // eighths: −8 … 8
constexpr std::int64_t kTermsMost = 1 << 18;  // each product is at most 1, in steps of 1/64: 2¹⁸ · 64 = 2²⁴

/// One step of SplitMix64.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E37'79B9'7F4A'7C15u;
  x = (x ^ (x >> 30)) * 0xBF58'476D'1CE4'E5B9u;
  x = (x ^ (x >> 27)) * 0x94D0'49BB'1331'11EBu;
  return x ^ (x >> 31);
}

template <class T>
T rounded(float value) {
  return T(value);
}

/// Writes numbers into elements of type T.
template <class T>
void put(std::span<const float> numbers, std::span<std::byte> out) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const T value = rounded<T>(numbers[i]);
    std::memcpy(out.data() + i * sizeof(T), &value, sizeof(T));
  }
}

void put(DType dtype, std::span<const float> numbers, std::span<std::byte> out) {
  switch (dtype) {
    case DType::f16:
      return put<F16>(numbers, out);
    case DType::bf16:
      return put<BF16>(numbers, out);
    case DType::f32:
      return put<float>(numbers, out);
    case DType::f8e4m3:
      return put<F8E4M3>(numbers, out);
    case DType::f8e5m2:
      return put<F8E5M2>(numbers, out);
    default:
      throw InputError({"reference.dtype", "", fmt::format("eighths as {}", to_string(dtype)),
                        "they are for float types"});
  }
}

/// The bytes of −8/8 … 8/8, one after the other.
std::array<std::byte, 4 * (2 * kMost + 1)> table_of(DType dtype) {
  std::array<float, 2 * kMost + 1> values;
  for (int i = -kMost; i <= kMost; ++i)
    values[static_cast<std::size_t>(i + kMost)] = static_cast<float>(i) / 8;
  std::array<std::byte, 4 * (2 * kMost + 1)> table{};
  put(dtype, values, table);
  return table;
}

template <std::size_t kSize>
void look_up(std::span<const std::int8_t> eighths, const std::byte* table, std::byte* out) {
  for (std::size_t i = 0; i < eighths.size(); ++i)
    std::memcpy(out + i * kSize, table + static_cast<std::size_t>(eighths[i] + kMost) * kSize, kSize);
}

class RowWriter {
 public:
  RowWriter(const Eighths& numbers, DType dtype)
      : numbers_(numbers), size_(itemsize(dtype)), table_(table_of(dtype)) {}

  void write(std::int64_t row, std::span<std::byte> out) const {
    std::vector<std::int8_t> eighths(out.size() / static_cast<std::size_t>(size_));
    numbers_.row(row, 0, eighths);
    size_ == 1   ? look_up<1>(eighths, table_.data(), out.data())
    : size_ == 2 ? look_up<2>(eighths, table_.data(), out.data())
                 : look_up<4>(eighths, table_.data(), out.data());
  }

 private:
  Eighths numbers_;
  int size_;
  std::array<std::byte, 4 * (2 * kMost + 1)> table_;
};

/// Columns [first, first + width) of the product: rows of b from the last to the first, four at a time.
class ProductBlock {
 public:
  ProductBlock(const std::vector<float>& a, const Eighths& b, std::int64_t m, std::int64_t first,
               std::int64_t width)
      : a_(a), b_(b), m_(m), k_(b.rows()), first_(first), width_(static_cast<std::size_t>(width)) {
    sums_.resize(static_cast<std::size_t>(m) * width_);
    for (auto& row : b_rows_) row.resize(width_);
    std::int64_t k = k_;
    for (; k >= 4; k -= 4) add<4>(k - 4);
    for (; k >= 1; --k) add<1>(k - 1);
  }
  const float* row(std::int64_t m) const { return sums_.data() + static_cast<std::size_t>(m) * width_; }

 private:
  template <int kRows>
  void add(std::int64_t k) {
    for (int i = 0; i < kRows; ++i) load(k + i, b_rows_[static_cast<std::size_t>(i)]);
    for (std::int64_t m = 0; m < m_; ++m) {
      const float* a = a_.data() + m * k_ + k;
      float* sum = sums_.data() + static_cast<std::size_t>(m) * width_;
      const float* const b[4] = {b_rows_[0].data(), b_rows_[1].data(), b_rows_[2].data(), b_rows_[3].data()};
      for (std::size_t n = 0; n < width_; ++n) {
        float more = 0;
        for (int i = 0; i < kRows; ++i) more += a[i] * b[i][n];
        sum[n] += more;
      }
    }
  }
  void load(std::int64_t k, std::vector<float>& row) {
    eighths_.resize(width_);
    b_.row(k, first_, eighths_);
    for (std::size_t n = 0; n < width_; ++n) row[n] = static_cast<float>(eighths_[n]);
  }

  const std::vector<float>& a_;
  const Eighths& b_;
  const std::int64_t m_, k_, first_;
  const std::size_t width_;
  std::vector<float> sums_;
  std::array<std::vector<float>, 4> b_rows_;
  std::vector<std::int8_t> eighths_;
};

void check(const Eighths& a, const Eighths& b) {
  if (a.shape.rank() != 2 || b.shape.rank() != 2 || a.columns() != b.rows())
    throw InputError({"reference.product", "",
                      fmt::format("the product of {} and {}", to_string(a.shape), to_string(b.shape)),
                      "it needs [M, K] and [K, N]"});
  if (a.columns() > kTermsMost)
    throw InputError({"reference.product", "", fmt::format("a product over {} terms", a.columns()),
                      fmt::format("sums are exact up to {}", kTermsMost)});
}

}  // namespace

void Eighths::row(std::int64_t row, std::int64_t first, std::span<std::int8_t> out) const {
  const std::uint64_t key = mixed(mixed(seed) + static_cast<std::uint64_t>(row));
  std::uint64_t eight = 0;  // bytes for eight neighbours
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto column = static_cast<std::uint64_t>(first) + i;
    if (i == 0 || column % 8 == 0) eight = mixed(key + column / 8);
    const auto byte = static_cast<int>(eight >> (column % 8 * 8) & 0xFF);
    out[i] = static_cast<std::int8_t>((byte * (2 * kMost + 1) >> 8) - kMost);
  }
}

Tensor Eighths::tensor(Torch& torch, DType dtype, const DPPolicy& dp, std::string name) const {
  return torch.from_row_bytes(
      shape, dtype,
      [writer = RowWriter(*this, dtype)](std::int64_t row, std::span<std::byte> out) {
        writer.write(row, out);
      },
      dp, std::move(name));
}

NdArray Eighths::array(DType dtype) const {
  NdArray array(dtype, shape);
  const RowWriter writer(*this, dtype);
  const auto row_bytes = static_cast<std::size_t>(columns() * itemsize(dtype));
  for (std::int64_t r = 0; r < rows(); ++r)
    writer.write(r, array.bytes().subspan(static_cast<std::size_t>(r) * row_bytes, row_bytes));
  return array;
}

NdArray product(const Eighths& a, const Eighths& b, DType dtype, int threads) {
  check(a, b);
  const std::int64_t m = a.rows(), k = a.columns(), n = b.columns();
  std::vector<float> left(static_cast<std::size_t>(m * k));
  std::vector<std::int8_t> eighths(static_cast<std::size_t>(k));
  for (std::int64_t r = 0; r < m; ++r) {
    a.row(r, 0, eighths);
    for (std::size_t i = 0; i < eighths.size(); ++i)
      left[static_cast<std::size_t>(r * k) + i] = static_cast<float>(eighths[i]) / 64;  // 1/8 of each operand
  }
  NdArray out(dtype, {m, n});
  constexpr std::int64_t kWidth = 256;  // columns at a time: what is summed stays in the cache
  const auto size = static_cast<std::size_t>(itemsize(dtype));
  in_parallel((n + kWidth - 1) / kWidth, threads, [&](std::int64_t i) {
    const std::int64_t first = i * kWidth;
    const std::int64_t width = std::min(kWidth, n - first);
    const ProductBlock block(left, b, m, first, width);
    for (std::int64_t r = 0; r < m; ++r)
      put(dtype, {block.row(r), static_cast<std::size_t>(width)},
          out.bytes().subspan(static_cast<std::size_t>(r * n + first) * size));
  });
  return out;
}

}  // namespace kernbench::bench
