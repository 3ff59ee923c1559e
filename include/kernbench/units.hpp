// Time, sizes and rates.
//
// Simulated time is an integer count of picoseconds; there is no floating-point time. Configuration and
// reports speak nanoseconds and GB/s, so `Time::from_ns`, `Time::ns`, `Bandwidth::from_gbs` and
// `Bandwidth::gbs` convert at the edges, and only there.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace kernbench {

/// An instant or a length of time, in whole picoseconds. Signed, so that differences are safe.
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
  constexpr Time& operator+=(Time b) { return ps_ += b.ps_, *this; }
  constexpr Time& operator-=(Time b) { return ps_ -= b.ps_, *this; }
  friend constexpr Time operator+(Time a, Time b) { return Time(a.ps_ + b.ps_); }
  friend constexpr Time operator-(Time a, Time b) { return Time(a.ps_ - b.ps_); }
  friend constexpr Time operator*(Time a, std::int64_t n) { return Time(a.ps_ * n); }
  friend constexpr Time operator*(std::int64_t n, Time a) { return a * n; }

 private:
  constexpr explicit Time(std::int64_t ps) : ps_(ps) {}
  std::int64_t ps_ = 0;
};

/// `12.345 ns`: exact, without trailing zeros.
std::string to_string(Time t);

/// A number of bytes.
class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(std::int64_t count) : count_(count) {}
  constexpr std::int64_t count() const { return count_; }

  friend constexpr auto operator<=>(Bytes, Bytes) = default;
  constexpr Bytes& operator+=(Bytes b) { return count_ += b.count_, *this; }
  constexpr Bytes& operator-=(Bytes b) { return count_ -= b.count_, *this; }
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes(a.count_ + b.count_); }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes(a.count_ - b.count_); }
  friend constexpr Bytes operator*(Bytes a, std::int64_t n) { return Bytes(a.count_ * n); }

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
  /// 10⁹ bytes per second each; rounded to whole bytes per second. Must be positive.
  static Bandwidth from_gbs(double gbs);

  double gbs() const { return 1e3 * static_cast<double>(bytes_) / static_cast<double>(ps_); }
  /// The time `n` bytes take: ⌈n / bandwidth⌉ in whole picoseconds.
  constexpr Time time_for(Bytes n) const {
    const auto work = static_cast<Wide>(n.count()) * ps_ + bytes_ - 1;
    return Time::from_ps(static_cast<std::int64_t>(work / bytes_));
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
constexpr Time operator""_ps(unsigned long long v) { return Time::from_ps(static_cast<std::int64_t>(v)); }
constexpr Time operator""_ns(unsigned long long v) { return operator""_ps(v * 1000); }
constexpr Time operator""_us(unsigned long long v) { return operator""_ps(v * 1000'000); }
constexpr Time operator""_ms(unsigned long long v) { return operator""_ps(v * 1000'000'000); }
constexpr Bytes operator""_B(unsigned long long v) { return Bytes(static_cast<std::int64_t>(v)); }
constexpr Bytes operator""_KiB(unsigned long long v) { return operator""_B(v << 10); }
constexpr Bytes operator""_MiB(unsigned long long v) { return operator""_B(v << 20); }
constexpr Bytes operator""_GiB(unsigned long long v) { return operator""_B(v << 30); }
}  // namespace literals

}  // namespace kernbench
