#include "data/numerics/gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "base/threads.hpp"
#include "data/numerics/blocks.hpp"
#include "data/numerics/gemm_kernels.hpp"
#include "kernbench/error.hpp"

namespace kernbench::data {
namespace {

constexpr std::int64_t kRowBlock =
    144;  // rows of A kept converted: a multiple of every kernel's rows, fits L2
constexpr std::int64_t kColumnBlock = 1024;  // columns of B kept packed: a multiple of every kernel's columns
constexpr std::size_t kMostColumns = 32;     // of any kernel

template <class T>
class AlignedBuffer {
 public:
  explicit AlignedBuffer(std::size_t n) : data_(static_cast<T*>(::operator new(n * sizeof(T), kAlign))) {}
  T* get() const { return data_.get(); }

 private:
  static constexpr std::align_val_t kAlign{64};
  struct Delete {
    void operator()(T* p) const { ::operator delete(p, kAlign); }
  };
  std::unique_ptr<T, Delete> data_;
};

/// Scratch of one thread; kept, because tiles are small and many.
template <class T>
struct Workspace {
  AlignedBuffer<T> a{kRowBlock * kRowStride};
  AlignedBuffer<T> b{kDepth * kColumnBlock};
  T row[kColumnBlock];
  T corner[kMostRows * kMostColumns];

  static Workspace& mine() {
    static thread_local const auto w = std::make_unique<Workspace>();
    return *w;
  }
};

const std::byte* element(const ConstArray& m, std::int64_t row, std::int64_t column) {
  return m.data + (row * m.shape[1] + column) * itemsize(m.dtype);
}

/// One product: walks over blocks of columns, of k and of rows, in this order.
template <class T>
class Product {
 public:
  Product(const ConstArray& a, const ConstArray& b, const Array& c, const GemmPart& part,
          const KernelSet<T>& kernels)
      : a_(a), b_(b), part_(part), kernels_(kernels), c_(reinterpret_cast<T*>(c.data)), stride_(c.shape[1]) {}

  void run() {
    const std::int64_t depth = a_.shape[1];
    for (auto j = part_.column_begin; j < part_.column_end; j += kColumnBlock)
      for (std::int64_t k = 0; k < depth; k += kDepth) {
        columns_ = std::min(kColumnBlock, part_.column_end - j);
        depth_ = static_cast<int>(std::min<std::int64_t>(kDepth, depth - k));
        pack_b(k, j);
        for (auto i = part_.row_begin; i < part_.row_end; i += kRowBlock) {
          rows_ = std::min(kRowBlock, part_.row_end - i);
          load_a(i, k);
          multiply_block(c_ + i * stride_ + j);
        }
      }
  }

 private:
  /// Panels of `kernels_.columns` columns, each k by k; the last one is padded with zeros.
  void pack_b(std::int64_t k0, std::int64_t j0) {
    const auto width = static_cast<std::size_t>(kernels_.columns);
    const auto padded = (static_cast<std::size_t>(columns_) + width - 1) / width * width;
    std::fill(work_.row + columns_, work_.row + padded, T{0});
    for (int k = 0; k < depth_; ++k) {
      load(b_.dtype, element(b_, k0 + k, j0), static_cast<std::size_t>(columns_), work_.row);
      for (std::size_t j = 0; j < padded; j += width)
        std::memcpy(
            work_.b.get() + j * static_cast<std::size_t>(depth_) + static_cast<std::size_t>(k) * width,
            work_.row + j, width * sizeof(T));
    }
  }

  void load_a(std::int64_t i0, std::int64_t k0) {
    for (std::int64_t i = 0; i < rows_; ++i)
      load(a_.dtype, element(a_, i0 + i, k0), static_cast<std::size_t>(depth_),
           work_.a.get() + i * kRowStride);
  }

  void multiply_block(T* c) {
    for (std::int64_t j = 0; j < columns_; j += kernels_.columns)
      for (std::int64_t i = 0; i < rows_; i += kernels_.rows) {
        const int rows = static_cast<int>(std::min<std::int64_t>(kernels_.rows, rows_ - i));
        multiply_panel(rows, work_.a.get() + i * kRowStride, work_.b.get() + j * depth_, c + i * stride_ + j,
                       columns_ - j);
      }
  }

  /// Kernels always compute whole panels; what sticks out on the right goes to a corner of our own.
  void multiply_panel(int rows, const T* a, const T* b, T* c, std::int64_t columns) {
    const auto kernel = kernels_.for_rows[static_cast<std::size_t>(rows)];
    if (columns >= kernels_.columns) return kernel(a, b, c, stride_, depth_);
    std::fill(std::begin(work_.corner), std::end(work_.corner), T{0});
    for (int i = 0; i < rows; ++i) std::copy_n(c + i * stride_, columns, work_.corner + i * kernels_.columns);
    kernel(a, b, work_.corner, kernels_.columns, depth_);
    for (int i = 0; i < rows; ++i) std::copy_n(work_.corner + i * kernels_.columns, columns, c + i * stride_);
  }

  const ConstArray& a_;
  const ConstArray& b_;
  const GemmPart& part_;
  const KernelSet<T>& kernels_;
  T* c_;
  std::int64_t stride_;
  Workspace<T>& work_ = Workspace<T>::mine();
  std::int64_t rows_ = 0, columns_ = 0;  // of the blocks at hand
  int depth_ = 0;
};

[[noreturn]] void reject(const char* id, std::string what, std::string hint) {
  throw InputError({.id = id, .where = "", .what = std::move(what), .hint = std::move(hint)});
}

void check(const ConstArray& a, const ConstArray& b, const std::optional<ConstArray>& acc, const Array& c) {
  const auto dtype = dot_dtype(a.dtype, b.dtype);
  if (a.shape.rank() != 2 || b.shape.rank() != 2 || a.shape[1] != b.shape[0])
    reject("dot.shape", fmt::format("dot of {} and {}", to_string(a.shape), to_string(b.shape)),
           "shapes must be [M, K] and [K, N]");
  const Shape result{a.shape[0], b.shape[1]};
  KB_ASSERT(c.shape == result && c.dtype == dtype, "dot gives {} {}, not {} {}", to_string(dtype),
            to_string(result), to_string(c.dtype), to_string(c.shape));
  if (acc && (acc->shape != result || acc->dtype != dtype))
    reject("dot.acc", fmt::format("accumulator of {} {}", to_string(acc->dtype), to_string(acc->shape)),
           fmt::format("the product is {} {}", to_string(dtype), to_string(result)));
}

/// The result before the first k: the accumulator or zeros (both kinds of result have four bytes).
void start(const std::optional<ConstArray>& acc, const Array& c, const GemmPart& part) {
  const auto size = static_cast<std::size_t>((part.column_end - part.column_begin) * 4);
  if (acc && acc->data == c.data) return;
  for (auto i = part.row_begin; i < part.row_end; ++i) {
    const auto offset = (i * c.shape[1] + part.column_begin) * 4;
    if (acc)
      std::memcpy(c.data + offset, acc->data + offset, size);
    else
      std::memset(c.data + offset, 0, size);
  }
}

void finish(const Array& c, const GemmPart& part) {
  auto* values = reinterpret_cast<float*>(c.data);
  for (auto i = part.row_begin; i < part.row_end; ++i)
    canonicalize(values + i * c.shape[1] + part.column_begin,
                 static_cast<std::size_t>(part.column_end - part.column_begin));
}

/// Cuts the longer side into about equal parts, in whole panels.
std::vector<GemmPart> split(const Shape& result, int parts) {
  const bool by_rows = result[0] >= result[1];
  const std::int64_t length = by_rows ? result[0] : result[1];
  const std::int64_t grain = by_rows ? kMostRows : static_cast<std::int64_t>(kMostColumns);
  const std::int64_t grains = (length + grain - 1) / grain;
  std::vector<GemmPart> cut;
  for (std::int64_t p = 0; p < parts; ++p) {
    const auto begin = std::min(length, grains * p / parts * grain);
    const auto end = std::min(length, grains * (p + 1) / parts * grain);
    if (begin == end) continue;
    cut.push_back(by_rows ? GemmPart{begin, end, 0, result[1]} : GemmPart{0, result[0], begin, end});
  }
  return cut;
}

}  // namespace

DType dot_dtype(DType a, DType b) {
  if (is_float(a) && is_float(b)) return DType::f32;
  const auto is_small = [](DType t) { return t == DType::i8 || t == DType::i32; };
  if (is_small(a) && is_small(b)) return DType::i32;
  reject("dot.dtype", fmt::format("dot of {} and {}", to_string(a), to_string(b)),
         "two floats, or two of i8 and i32; cast one operand");
}

void gemm_part(const ConstArray& a, const ConstArray& b, const std::optional<ConstArray>& acc, const Array& c,
               const GemmPart& part) {
  check(a, b, acc, c);
  start(acc, c, part);
  if (c.dtype == DType::i32) {
    Product<std::int32_t>(a, b, c, part, int_kernels(simd_level())).run();
  } else {
    Product<float>(a, b, c, part, float_kernels(simd_level())).run();
    finish(c, part);
  }
}

void gemm(const ConstArray& a, const ConstArray& b, const std::optional<ConstArray>& acc, const Array& c,
          int threads) {
  if (threads <= 1) return gemm_part(a, b, acc, c, {0, a.shape[0], 0, b.shape[1]});
  check(a, b, acc, c);
  const auto parts = split(c.shape, threads);
  in_parallel(static_cast<std::int64_t>(parts.size()), static_cast<int>(parts.size()),
              [&](std::int64_t p) { gemm_part(a, b, acc, c, parts[static_cast<std::size_t>(p)]); });
}

namespace {

Shape last_two(const Shape& shape) { return {shape[shape.rank() - 2], shape[shape.rank() - 1]}; }

/// The matrix of `array` that belongs to matrix `batch` of `c`.
ConstArray matrix_of(const ConstArray& array, const Shape& c, std::int64_t batch) {
  const auto matrix = last_two(array.shape);
  std::int64_t index = 0, stride = 1;
  for (int back = 3; back <= c.rank(); ++back) {
    const auto at = batch % c[c.rank() - back];
    batch /= c[c.rank() - back];
    if (back > array.shape.rank()) continue;
    const auto extent = array.shape[array.shape.rank() - back];
    if (extent != 1) index += at * stride;
    stride *= extent;
  }
  return {array.dtype, matrix, array.data + index * matrix.elements() * itemsize(array.dtype)};
}

}  // namespace

void batched_gemm(const ConstArray& a, const ConstArray& b, const std::optional<ConstArray>& acc,
                  const Array& c, int threads) {
  if (c.shape.rank() == 2 && a.shape.rank() == 2 && b.shape.rank() == 2) return gemm(a, b, acc, c, threads);
  const auto matrix = last_two(c.shape);
  const auto bytes = matrix.elements() * itemsize(c.dtype);
  if (c.shape.elements() == 0) return;
  for (std::int64_t i = 0; i < c.shape.elements() / matrix.elements(); ++i) {
    std::optional<ConstArray> addend;
    if (acc) addend.emplace(acc->dtype, matrix, acc->data + i * bytes);
    gemm(matrix_of(a, c.shape, i), matrix_of(b, c.shape, i), addend,
         Array(c.dtype, matrix, c.data + i * bytes), threads);
  }
}

}  // namespace kernbench::data
