// A dense array of numbers that owns its bytes: what host programs hand in and get back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "kernbench/dtype.hpp"
#include "kernbench/half.hpp"
#include "kernbench/shape.hpp"

namespace kernbench {

/// The dtype whose elements are of that C++ type. i1 is a bool; its bytes may also be seen as uint8_t, 0 or 1.
template <class T>
inline constexpr DType kDTypeOf = T::kDType;
template <>
inline constexpr DType kDTypeOf<float> = DType::f32;
template <>
inline constexpr DType kDTypeOf<std::int32_t> = DType::i32;
template <>
inline constexpr DType kDTypeOf<std::int8_t> = DType::i8;
template <>
inline constexpr DType kDTypeOf<std::int16_t> = DType::i16;
template <>
inline constexpr DType kDTypeOf<std::int64_t> = DType::i64;
template <>
inline constexpr DType kDTypeOf<std::uint8_t> = DType::u8;
template <>
inline constexpr DType kDTypeOf<std::uint16_t> = DType::u16;
template <>
inline constexpr DType kDTypeOf<std::uint32_t> = DType::u32;
template <>
inline constexpr DType kDTypeOf<std::uint64_t> = DType::u64;
template <>
inline constexpr DType kDTypeOf<bool> = DType::i1;

/// Bytes as they come, for whoever sets them all: setting them to zero first takes as long as a copy.
struct UnsetBytes {
  using value_type = std::byte;
  template <class>
  struct rebind {
    using other = UnsetBytes;
  };
  std::byte* allocate(std::size_t n);
  void deallocate(std::byte* at, std::size_t n) noexcept;
  void construct(std::byte* at) const noexcept { ::new (at) std::byte; }
  void construct(std::byte* at, std::byte value) const noexcept { ::new (at) std::byte(value); }
  friend bool operator==(UnsetBytes, UnsetBytes) { return true; }
};
using ByteBuffer = std::vector<std::byte, UnsetBytes>;

/// A value: copying copies the bytes. Row-major, without gaps.
class NdArray {
 public:
  /// An f32 scalar, 0.
  NdArray() : NdArray(DType::f32, {}) {}
  /// All zero.
  NdArray(DType dtype, const Shape& shape);
  /// Whose bytes the caller sets, all of them.
  static NdArray unset(DType dtype, const Shape& shape) { return {dtype, shape, Unset()}; }
  /// With these bytes, as many as the shape has.
  static NdArray adopt(DType dtype, const Shape& shape, ByteBuffer bytes);
  /// With these elements, in row-major order; InputError if their number is not the shape's.
  template <class T>
  static NdArray of(const Shape& shape, std::span<const T> values) {
    NdArray a = unset(kDTypeOf<T>, shape);
    a.fill_from(std::as_bytes(values));
    return a;
  }
  template <class T>
  static NdArray of(const Shape& shape, std::initializer_list<T> values) {
    return of(shape, std::span<const T>(values.begin(), values.size()));
  }

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::int64_t elements() const { return shape_.elements(); }

  std::span<std::byte> bytes() { return bytes_; }
  std::span<const std::byte> bytes() const { return bytes_; }

  /// All elements in row-major order. InputError if T is not the array's dtype.
  template <class T>
  std::span<T> view() {
    check_dtype(kDTypeOf<T>);
    return {reinterpret_cast<T*>(bytes_.data()), static_cast<std::size_t>(elements())};
  }
  template <class T>
  std::span<const T> view() const {
    check_dtype(kDTypeOf<T>);
    return {reinterpret_cast<const T*>(bytes_.data()), static_cast<std::size_t>(elements())};
  }

  /// One element; InputError if the dtype is another, the number of indices is not the rank, or one is out of
  /// range.
  template <class T>
  T& at(std::initializer_list<std::int64_t> index) {
    return view<T>()[offset(index)];
  }
  template <class T>
  const T& at(std::initializer_list<std::int64_t> index) const {
    return view<T>()[offset(index)];
  }

  /// The same bytes in another shape of as many elements; InputError if their numbers differ.
  NdArray reshaped(const Shape& shape) const;

  /// Same dtype, shape and bytes.
  friend bool operator==(const NdArray&, const NdArray&) = default;

 private:
  struct Unset {};
  NdArray(DType dtype, const Shape& shape, Unset);
  NdArray(DType dtype, const Shape& shape, ByteBuffer bytes)
      : dtype_(dtype), shape_(shape), bytes_(std::move(bytes)) {}
  void check_dtype(DType wanted) const;
  void fill_from(std::span<const std::byte> values);
  std::size_t offset(std::span<const std::int64_t> index) const;

  DType dtype_;
  Shape shape_;
  ByteBuffer bytes_;
};

}  // namespace kernbench
