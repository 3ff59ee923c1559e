// What kernels handle: pointers, tiles, numbers beside tiles, extents and slices. Included by tl.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <source_location>
#include <span>
#include <type_traits>

#include "kernbench/error.hpp"
#include "kernbench/program.hpp"

namespace kernbench::tl {

class Recorder;
using At = std::source_location;

/// A call that cannot be recorded. `where()` names kernel, PE and source line, `message()` the operands. Ids
/// are `tl.…`: axis, shape, dtype, scalar, tile, context, null-pointer, pointer-tile, strides, mask, slice,
/// shard, composite, direction, slot, scratch.
class KernelError : public InputError {
  using InputError::InputError;
};

/// Extents or strides as a kernel writes them: `{rows, cols}`. Checked by the call that takes them.
class Dims {
 public:
  Dims() = default;  // none given
  Dims(std::initializer_list<std::int64_t> dims) : Dims(std::span(dims.begin(), dims.size())) {}
  Dims(const Shape& shape) : Dims(std::span(shape.begin(), shape.end())) {}
  explicit Dims(std::span<const std::int64_t> dims) : count_(static_cast<int>(dims.size())) {
    std::ranges::copy(dims.first(std::min<std::size_t>(dims.size(), kKept)), dims_.begin());
  }

  bool given() const { return count_ >= 0; }
  int count() const { return std::max(count_, 0); }
  std::span<const std::int64_t> values() const {
    return {dims_.data(), static_cast<std::size_t>(std::min(count(), kKept))};
  }

 private:
  static constexpr int kKept = Shape::kMaxRank + 1;  // one too many is kept, to be refused
  std::array<std::int64_t, kKept> dims_;
  int count_ = -1;
};

class Operand;
struct Slice;

/// A handle to a value of the program that is being recorded. Copying it copies nothing.
class Tile {
 public:
  Tile() = default;  // empty: to be assigned before it is used
  explicit operator bool() const { return recorder_ != nullptr; }

  DType dtype() const;
  Shape shape() const;
  int rank() const { return shape().rank(); }
  isa::ValueId id() const { return id_; }

  /// A view of a part: `x.slice({{0, 16}, tl::all})`, `x.slice({tl::index(3)})`. Axes not named stay whole.
  Tile slice(std::initializer_list<Slice> slices, At at = At::current()) const;

  /// The handle moves on to the result; the old value stays what it was.
  Tile& operator+=(const Operand& b);
  Tile& operator-=(const Operand& b);
  Tile& operator*=(const Operand& b);
  Tile& operator/=(const Operand& b);

 private:
  friend class Recorder;
  Tile(Recorder* recorder, isa::ValueId id, std::uint32_t recording)
      : recorder_(recorder), id_(id), recording_(recording) {}

  Recorder* recorder_ = nullptr;
  isa::ValueId id_ = isa::kNone;
  std::uint32_t recording_ = 0;  // a recorder makes many, and another may come to stand at its place
};

/// A tile or a number, with the line at which it was used: operators learn their source line from it.
class Operand {
 public:
  enum class Kind : std::uint8_t { none, tile, truth, integer, real };

  Operand() = default;
  Operand(const Tile& tile, At at = At::current()) : tile_(tile), at_(at), kind_(Kind::tile) {}
  template <class T>
  requires std::is_arithmetic_v<T> Operand(T number, At at = At::current())
      : number_(static_cast<double>(number)),
        at_(at),
        kind_(std::same_as<T, bool> ? Kind::truth
              : std::integral<T>    ? Kind::integer
                                    : Kind::real),
        is_exact_(!std::integral<T> || fits_a_double(number)) {}

  Kind kind() const { return kind_; }
  const Tile& tile() const { return tile_; }
  double number() const { return number_; }
  /// Whether `number` is the number that was given: a double has 53 bits.
  bool is_exact() const { return is_exact_; }
  At at() const { return at_; }

 private:
  Tile tile_;
  double number_ = 0;
  At at_;
  Kind kind_ = Kind::none;
  bool is_exact_ = true;

  template <class T>
  static constexpr bool fits_a_double(T number) {
    if constexpr (std::integral<T> && sizeof(T) == 8) {
      const auto size = number < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(number)
                                   : static_cast<std::uint64_t>(number);
      return size == 0 || size >> std::countr_zero(size) <= std::uint64_t{1} << 53;
    }
    return true;
  }
};

/// + − * / promote; / of integers is f32; % & | ^ ~ << >> are for integers, & | ^ ~ for i1 too; comparisons give i1.
Tile operator+(const Operand& a, const Operand& b);
Tile operator-(const Operand& a, const Operand& b);
Tile operator*(const Operand& a, const Operand& b);
Tile operator/(const Operand& a, const Operand& b);
Tile operator%(const Operand& a, const Operand& b);
Tile operator&(const Operand& a, const Operand& b);
Tile operator|(const Operand& a, const Operand& b);
Tile operator^(const Operand& a, const Operand& b);
Tile operator<<(const Operand& a, const Operand& b);
Tile operator>>(const Operand& a, const Operand& b);
Tile operator==(const Operand& a, const Operand& b);
Tile operator!=(const Operand& a, const Operand& b);
Tile operator<(const Operand& a, const Operand& b);
Tile operator<=(const Operand& a, const Operand& b);
Tile operator>(const Operand& a, const Operand& b);
Tile operator>=(const Operand& a, const Operand& b);
Tile operator-(const Operand& a);
Tile operator~(const Operand& a);

/// A tile where a pointer was meant; captures the line for the error.
struct PointerTile {
  PointerTile(const Tile& t, At used_at = At::current()) : tile(t), at(used_at) {}
  Tile tile;
  At at;
};

/// A virtual address. Arithmetic is in bytes. The pointer of a tensor knows the tensor's dtype and keeps it
/// through arithmetic: `store` converts to it, `load` and `ref` with another one are errors. A pointer made of
/// a plain number has no dtype and converts nothing.
class Ptr {
 public:
  constexpr Ptr() = default;
  constexpr explicit Ptr(std::uint64_t address) : address_(address) {}
  constexpr Ptr(std::uint64_t address, DType dtype) : address_(address), dtype_(dtype) {}
  constexpr std::uint64_t address() const { return address_; }
  constexpr bool is_null() const { return address_ == 0; }
  /// The dtype of the tensor it points into, if it comes from one.
  constexpr std::optional<DType> dtype() const { return dtype_; }
  /// The same address, read and written as another dtype on purpose.
  constexpr Ptr as(DType dtype) const { return {address_, dtype}; }

  template <std::integral T>
  friend constexpr Ptr operator+(Ptr p, T bytes) {
    p.address_ += static_cast<std::uint64_t>(bytes);
    return p;
  }
  template <std::integral T>
  friend constexpr Ptr operator+(T bytes, Ptr p) {
    return p + bytes;
  }
  template <std::integral T>
  friend constexpr Ptr operator-(Ptr p, T bytes) {
    p.address_ -= static_cast<std::uint64_t>(bytes);
    return p;
  }
  friend constexpr std::int64_t operator-(Ptr a, Ptr b) {
    return static_cast<std::int64_t>(a.address_ - b.address_);
  }
  template <std::integral T>
  constexpr Ptr& operator+=(T bytes) {
    return *this = *this + bytes;
  }
  template <std::integral T>
  constexpr Ptr& operator-=(T bytes) {
    return *this = *this - bytes;
  }
  /// By address alone.
  friend constexpr bool operator==(Ptr a, Ptr b) { return a.address_ == b.address_; }
  friend constexpr auto operator<=>(Ptr a, Ptr b) { return a.address_ <=> b.address_; }

  /// Tiles of pointers do not exist: a KernelError that says to use strides.
  friend Ptr operator+(Ptr p, const PointerTile& offsets);
  friend Ptr operator+(const PointerTile& offsets, Ptr p) { return p + offsets; }

 private:
  std::uint64_t address_ = 0;
  std::optional<DType> dtype_;
};

/// A part of an axis: [begin, end) by step > 0. Negative bounds count from the back, as in Python.
struct Slice {
  static constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  std::int64_t begin = 0;
  std::int64_t end = kEnd;
  std::int64_t step = 1;
  bool drops_axis = false;
};
inline constexpr Slice all{};
/// One index; the axis goes away.
constexpr Slice index(std::int64_t i) {
  return {i, i == -1 || i == Slice::kEnd ? Slice::kEnd : i + 1, 1, true};
}

/// A command that can be waited for.
class Op {
 public:
  isa::CommandIndex command() const { return command_; }

 private:
  friend class Recorder;
  Op(const Recorder* recorder, isa::CommandIndex command, std::uint32_t recording)
      : recorder_(recorder), command_(command), recording_(recording) {}
  const Recorder* recorder_;
  isa::CommandIndex command_;
  std::uint32_t recording_;
};

/// The tile of a message that may still have to come. The command that uses it waits for the message; `tl.wait` holds the
/// program until the message is there.
class PendingTile : public Tile {
 private:
  friend class Context;
  explicit PendingTile(Tile tile) : Tile(tile) {}
};

/// begin, begin + step, … below end.
template <std::integral T>
class IntRange {
 public:
  struct Iterator {
    T at, step, end;
    T operator*() const { return at; }
    Iterator& operator++() {
      const auto left = static_cast<std::make_unsigned_t<T>>(end) - static_cast<std::make_unsigned_t<T>>(at);
      at = left > static_cast<std::make_unsigned_t<T>>(step) ? static_cast<T>(at + step) : end;
      return *this;
    }
    bool operator!=(const Iterator& last) const { return at < last.at; }
  };
  IntRange(T begin, T end, T step) : begin_(begin), end_(end), step_(step) {}
  Iterator begin() const { return {begin_, step_, end_}; }
  Iterator end() const { return {end_, step_, end_}; }

 private:
  T begin_, end_, step_;
};

}  // namespace kernbench::tl
