// Time, sizes and rates.
//
// Simulated time is an integer count of picoseconds; there is no floating-point time. Configuration and
// reports speak nanoseconds and GB/s, so `Time::from_ns`, `Time::ns`, `Bandwidth::from_gbs` and
// `Bandwidth::gbs` convert at the edges, and only there.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <string>

namespace kernbench {

namespace detail {
/// Sums, differences and products that stop at the ends of the range where they would overflow.
constexpr std::int64_t saturating_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) [[unlikely]]
    return a < 0 ? INT64_MIN : INT64_MAX;
  return sum;
}
constexpr std::int64_t saturating_difference(std::int64_t a, std::int64_t b) {
  std::int64_t difference = 0;
  if (__builtin_sub_overflow(a, b, &difference)) [[unlikely]]
    return a < 0 ? INT64_MIN : INT64_MAX;
  return difference;
}
constexpr std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) [[unlikely]]
    return (a < 0) != (b < 0) ? INT64_MIN : INT64_MAX;
  return product;
}
}  // namespace detail

/// An instant or a length of time, in whole picoseconds. Signed, so that differences are safe. Arithmetic saturates: a sum
/// that is later than every instant is `never()`, so an instant plus `never()` is `never()`.
class Time {
 public:
  constexpr Time() = default;
  static constexpr Time from_ps(std::int64_t ps) { return Time(ps); }
  /// Nearest whole picosecond; halves away from zero.
  static Time from_ns(double ns);
  /// The next whole picosecond: what a wire of a given length costs.
  static Time from_ns_rounded_up(double ns);
  /// Later than every instant a simulation can reach.
  static constexpr Time never() { return Time(INT64_MAX); }

  constexpr std::int64_t ps() const { return ps_; }
  constexpr double ns() const { return static_cast<double>(ps_) / 1e3; }

  friend constexpr auto operator<=>(Time, Time) = default;
  constexpr Time& operator+=(Time b) { return *this = *this + b; }
  constexpr Time& operator-=(Time b) { return *this = *this - b; }
  friend constexpr Time operator+(Time a, Time b) { return Time(detail::saturating_sum(a.ps_, b.ps_)); }
  friend constexpr Time operator-(Time a, Time b) {
    return Time(detail::saturating_difference(a.ps_, b.ps_));
  }
  friend constexpr Time operator*(Time a, std::int64_t n) {
    return Time(detail::saturating_product(a.ps_, n));
  }
  friend constexpr Time operator*(std::int64_t n, Time a) { return a * n; }

 private:
  constexpr explicit Time(std::int64_t ps) : ps_(ps) {}
  std::int64_t ps_ = 0;
};

/// `12.345 ns`: exact, without trailing zeros.
std::string to_string(Time t);

/// A number of bytes. Arithmetic saturates, as that of `Time`.
class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(std::int64_t count) : count_(count) {}
  constexpr std::int64_t count() const { return count_; }

  friend constexpr auto operator<=>(Bytes, Bytes) = default;
  constexpr Bytes& operator+=(Bytes b) { return *this = *this + b; }
  constexpr Bytes& operator-=(Bytes b) { return *this = *this - b; }
  friend constexpr Bytes operator+(Bytes a, Bytes b) {
    return Bytes(detail::saturating_sum(a.count_, b.count_));
  }
  friend constexpr Bytes operator-(Bytes a, Bytes b) {
    return Bytes(detail::saturating_difference(a.count_, b.count_));
  }
  friend constexpr Bytes operator*(Bytes a, std::int64_t n) {
    return Bytes(detail::saturating_product(a.count_, n));
  }

 private:
  std::int64_t count_ = 0;
};

/// `48 GiB`, `1.5 MiB`, `300 B`.
std::string to_string(Bytes b);

/// A data rate. Kept as the exact fraction of picoseconds per byte, so that the time of a message is an
/// integer computation: 512 GB/s is 125 ps per 64 bytes.
class Bandwidth {
 public:
  constexpr Bandwidth() = default;  // no bandwidth: `time_for` must not be asked
  /// 10⁹ bytes per second each; rounded to whole bytes per second. Must be positive, and less than 9.2e9.
  static Bandwidth from_gbs(double gbs);

  double gbs() const { return 1e3 * static_cast<double>(bytes_) / static_cast<double>(ps_); }
  /// The time `n` ≥ 0 bytes take: ⌈n / bandwidth⌉ in whole picoseconds; `never` if a clock cannot hold them.
  constexpr Time time_for(Bytes n) const {
    const auto work = static_cast<Wide>(n.count()) * ps_ + bytes_ - 1;
    return Time::from_ps(static_cast<std::int64_t>(std::clamp<Wide>(work / bytes_, INT64_MIN, INT64_MAX)));
  }
  /// The time the bytes [begin, end) of a message occupy: ⌈end/bw⌉ − ⌈begin/bw⌉, so that the packets of a
  /// message add up to exactly the message.
  constexpr Time time_for(Bytes begin, Bytes end) const { return time_for(end) - time_for(begin); }

  /// Whether `n` bytes take a whole number of picoseconds, so that multiples of them add up without rounding.
  constexpr bool is_whole_time(Bytes n) const { return static_cast<Wide>(n.count()) * ps_ % bytes_ == 0; }

  friend constexpr bool operator==(Bandwidth, Bandwidth) = default;
  friend constexpr bool operator<(Bandwidth a, Bandwidth b) {
    return static_cast<Wide>(a.bytes_) * b.ps_ < static_cast<Wide>(b.bytes_) * a.ps_;
  }

 private:
  __extension__ using Wide = __int128;
  std::int64_t ps_ = 0;  // `bytes_` bytes take `ps_` picoseconds; reduced to lowest terms
  std::int64_t bytes_ = 1;
};

inline namespace literals {
constexpr Bytes operator""_B(unsigned long long v) {
  return Bytes(static_cast<std::int64_t>(std::min<unsigned long long>(v, INT64_MAX)));
}
constexpr Bytes operator""_KiB(unsigned long long v) { return operator""_B(v)*1024; }
constexpr Bytes operator""_MiB(unsigned long long v) { return operator""_KiB(v)*1024; }
constexpr Bytes operator""_GiB(unsigned long long v) { return operator""_MiB(v)*1024; }
constexpr Time operator""_ps(unsigned long long v) {
  return Time::from_ps(static_cast<std::int64_t>(std::min<unsigned long long>(v, INT64_MAX)));
}
constexpr Time operator""_ns(unsigned long long v) { return operator""_ps(v)*1000; }
constexpr Time operator""_us(unsigned long long v) { return operator""_ns(v)*1000; }
constexpr Time operator""_ms(unsigned long long v) { return operator""_us(v)*1000; }
}  // namespace literals

}  // namespace kernbench
