#include "data/numerics/elementwise.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "data/numerics/blocks.hpp"
#include "data/numerics/kernels.hpp"
#include "data/numerics/strided.hpp"
#include "kernbench/error.hpp"

namespace kernbench::data {
namespace {

constexpr std::size_t kBlock = 1024;  // elements; all blocks of an operation fit the L1 cache

/// One operand as a stream of blocks of T (f32 or an integer).
template <class T>
class Operand {
 public:
  Operand(const ConstArray& array, const Shape& shape)
      : dtype_(array.dtype), reader_(StridedReader::broadcast_to(array, shape)) {
    if (!reader_.constant()) return;
    T value;
    load(dtype_, reader_.here(), 1, &value);
    std::fill_n(values_.data(), std::min<std::size_t>(kBlock, static_cast<std::size_t>(shape.elements())),
                value);
  }

  const T* next(std::size_t n) {
    if (reader_.constant()) return values_.data();
    if (!reader_.contiguous()) {
      gather(n);
      return values_.data();
    }
    const std::byte* here = reader_.here();
    reader_.skip(n);
    if (dtype_ == kDTypeOf<T>) return reinterpret_cast<const T*>(here);
    load(dtype_, here, n, values_.data());
    return values_.data();
  }

 private:
  /// The next `n` elements into values_. An element as it is stored can be wider than T (i64 beside a float), so raw_
  /// holds a number of elements that depends on the dtype.
  void gather(std::size_t n) {
    const std::size_t capacity = raw_.size() / static_cast<std::size_t>(itemsize(dtype_));
    for (std::size_t done = 0; done < n; done += capacity) {
      const auto count = std::min(n - done, capacity);
      reader_.read(count, raw_.data());
      load(dtype_, raw_.data(), count, values_.data() + done);
    }
  }

  DType dtype_;
  StridedReader reader_;
  alignas(64) std::array<T, kBlock> values_;
  alignas(64) std::array<std::byte, kBlock * sizeof(T)> raw_;  // as stored, before conversion
};

template <class Body>
void for_blocks(const Array& out, Body body) {
  const auto elements = static_cast<std::size_t>(out.shape.elements());
  const auto size = static_cast<std::size_t>(itemsize(out.dtype));
  for (std::size_t i = 0; i < elements; i += kBlock)
    body(std::min(kBlock, elements - i), out.data + i * size);
}

/// Room for an operand. Unlike std::optional it does not clear its kilobytes first, which are most of the time that a
/// few elements take.
template <class T>
union Place {
  Place() {}
  Operand<T> operand;
};

template <class In, class Result>
void run(BlockKernel<In, Result> kernel, std::span<const ConstArray> operands, const Array& out) {
  std::array<Place<In>, 3> places;
  std::array<Operand<In>*, 3> streams{};
  for (std::size_t i = 0; i < operands.size(); ++i)
    streams[i] = std::construct_at(&places[i].operand, operands[i], out.shape);
  alignas(64) std::array<Result, kBlock> result;
  for_blocks(out, [&](std::size_t n, std::byte* to) {
    const In* in[3] = {streams[0]->next(n), nullptr, nullptr};
    for (std::size_t i = 1; i < 3; ++i) in[i] = streams[i] ? streams[i]->next(n) : in[0];
    kernel(in[0], in[1], in[2], result.data(), n);
    store(out.dtype, result.data(), n, to);
  });
}

template <class In>
void run_cast(const ConstArray& from, const Array& out) {
  Operand<In> stream(from, out.shape);
  for_blocks(out, [&](std::size_t n, std::byte* to) { store(out.dtype, stream.next(n), n, to); });
}

void copy(const ConstArray& from, const Array& out) {
  StridedReader::broadcast_to(from, out.shape).read(static_cast<std::size_t>(out.shape.elements()), out.data);
}

/// The same bits, read as another dtype of that size.
void bitcast(const ConstArray& from, const Array& out) {
  KB_ASSERT(itemsize(from.dtype) == itemsize(out.dtype), "bitcast of {} to {}", to_string(from.dtype),
            to_string(out.dtype));
  copy(ConstArray(out.dtype, from.shape, from.data), out);
}

/// Whether the operation is one on floats: by its result, and for comparisons by what it compares.
bool computes_in_f32(MathOp op, std::span<const ConstArray> operands, DType result) {
  if (info(op).result != ResultRule::truth) return is_float(result);
  return std::ranges::any_of(operands, [](const ConstArray& a) { return is_float(a.dtype); });
}

/// The dtype an integer operation is computed in: the widest of operands and result; the mask of a `where` counts for
/// nothing.
DType int_dtype_of(MathOp op, std::span<const ConstArray> operands, DType result) {
  DType dtype = info(op).result == ResultRule::truth ? operands[0].dtype : result;
  for (const auto& a : operands) dtype = promote(dtype, a.dtype);
  return dtype;
}

DType result_dtype_of(MathOp op, std::span<const ConstArray> operands) {
  std::array<DType, 3> dtypes{};
  for (std::size_t i = 0; i < operands.size(); ++i) dtypes[i] = operands[i].dtype;
  return result_dtype(op, std::span(dtypes).first(operands.size()));
}

Shape broadcast_of(std::span<const ConstArray> operands) {
  Shape shape;
  for (const auto& a : operands) shape = broadcast(shape, a.shape);
  return shape;
}

void check(MathOp op, std::span<const ConstArray> operands, const Array& out) {
  KB_ASSERT(info(op).kind == MathKind::elementwise, "{} is not elementwise", to_string(op));
  const bool is_given = info(op).result == ResultRule::given;
  const auto dtype = is_given ? out.dtype : result_dtype_of(op, operands);
  const bool alike = std::ranges::all_of(operands, [&](const ConstArray& a) { return a.shape == out.shape; });
  KB_ASSERT(may_convert(op, dtype, out.dtype) && (alike || out.shape == broadcast_of(operands)),
            "{} gives {} {}, not {} {}", to_string(op), to_string(dtype), to_string(broadcast_of(operands)),
            to_string(out.dtype), to_string(out.shape));
}

/// Blocks are 32 bits wide at least: a signed operand beside u8 or u16 must be brought there first, or it would keep its
/// sign.
bool must_wrap(const ConstArray& a, DType dtype) {
  return (dtype == DType::u8 || dtype == DType::u16) && a.dtype != DType::i1 && !is_unsigned(a.dtype);
}

void integer_elementwise(MathOp op, std::span<const ConstArray> operands, const Array& out) {
  const DType dtype = int_dtype_of(op, operands, out.dtype);
  std::vector<NdArray> wrapped;
  wrapped.reserve(operands.size());
  std::vector<ConstArray> all(operands.begin(), operands.end());
  for (ConstArray& a : all)
    if (must_wrap(a, dtype)) a = wrapped.emplace_back(cast(a, dtype));
  with_int_type(dtype, [&](auto t) { run(int_kernel<decltype(t)>(op, simd_level()), all, out); });
}

}  // namespace

void elementwise(MathOp op, std::span<const ConstArray> operands, const Array& out) {
  check(op, operands, out);
  if (out.shape.elements() == 0) return;
  const auto level = simd_level();
  if (op == MathOp::copy) return copy(operands[0], out);
  if (op == MathOp::bitcast) return bitcast(operands[0], out);
  if (op == MathOp::cast && is_float(operands[0].dtype)) return run_cast<float>(operands[0], out);
  if (op == MathOp::cast)
    return with_int_type(operands[0].dtype, [&](auto t) { run_cast<decltype(t)>(operands[0], out); });
  if (op == MathOp::bit_not && out.dtype == DType::i1) return run(truth_not(level), operands, out);
  if (!computes_in_f32(op, operands, out.dtype)) return integer_elementwise(op, operands, out);
  if (out.dtype == DType::i1 && info(op).result == ResultRule::truth)
    return run(float_comparison(op, level), operands, out);
  run(float_kernel(op, level), operands, out);
}

NdArray elementwise(MathOp op, std::span<const ConstArray> operands) {
  NdArray out(result_dtype_of(op, operands), broadcast_of(operands));
  elementwise(op, operands, out);
  return out;
}

NdArray cast(const ConstArray& a, DType to) {
  NdArray out(to, a.shape);
  elementwise(MathOp::cast, {&a, 1}, out);
  return out;
}

void fill(const Array& out, float value) {
  alignas(64) std::array<float, kBlock> values;
  values.fill(value);
  for_blocks(out, [&](std::size_t n, std::byte* to) { store(out.dtype, values.data(), n, to); });
}

void fill(const Array& out, std::int32_t value) {
  alignas(64) std::array<std::int32_t, kBlock> values;
  values.fill(value);
  for_blocks(out, [&](std::size_t n, std::byte* to) { store(out.dtype, values.data(), n, to); });
}

void fill(const Array& out, std::int64_t value) {
  alignas(64) std::array<std::int64_t, kBlock> values;
  values.fill(value);
  for_blocks(out, [&](std::size_t n, std::byte* to) { store(out.dtype, values.data(), n, to); });
}

void arange(const Array& out, std::int32_t start) {
  alignas(64) std::array<std::int32_t, kBlock> values;
  auto next = static_cast<std::uint32_t>(start);
  for_blocks(out, [&](std::size_t n, std::byte* to) {
    for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<std::int32_t>(next++);
    store(out.dtype, values.data(), n, to);
  });
}

}  // namespace kernbench::data
