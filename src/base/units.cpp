#include "kernbench/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "kernbench/error.hpp"

namespace kernbench {

namespace {
/// The nearest count that is not beyond what a clock of picoseconds can hold.
double in_ps(double ns) {
  const double ps = ns * 1e3;
  if (std::abs(ps) < 0x1p63) return ps;  // false for what is no number, too
  throw InputError({"units.time", "", fmt::format("{} ns is more than a clock of picoseconds can hold", ns),
                    "use less than 9.2e15 ns, which are 106 days"});
}
}  // namespace

Time Time::from_ns(double ns) { return Time(std::llround(in_ps(ns))); }

Time Time::from_ns_rounded_up(double ns) {
  // A length such as 14/6 mm × 0.03 ns/mm is 0.07 ns give or take an ulp; that is 70 ps, not 71.
  constexpr double kSlack = 1e-6;  // ps
  return Time(static_cast<std::int64_t>(std::ceil(in_ps(ns) - kSlack)));
}

std::string to_string(Time t) {
  const std::int64_t ps = t.ps();
  const char* sign = ps < 0 ? "-" : "";
  const auto magnitude = ps < 0 ? -static_cast<std::uint64_t>(ps) : static_cast<std::uint64_t>(ps);
  std::string text = fmt::format("{}{}.{:03}", sign, magnitude / 1000, magnitude % 1000);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + " ns";
}

std::string to_string(Bytes b) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(b.count());
  std::size_t unit = 0;
  while (std::abs(value) >= 1024 && unit + 1 < kUnits.size()) value /= 1024, ++unit;
  return fmt::format("{:.6g} {}", value, kUnits[unit]);
}

Bandwidth Bandwidth::from_gbs(double gbs) {
  if (!(gbs * 1e9 < 0x1p63))  // what is no number, too
    throw InputError({"units.bandwidth", "", fmt::format("{} GB/s is more than a bandwidth can hold", gbs),
                      "use less than 9.2e9 GB/s, which are 9.2e18 bytes per second"});
  const auto bytes_per_second = std::llround(std::max(gbs, 0.0) * 1e9);
  KB_ASSERT(bytes_per_second > 0, "a bandwidth of {} GB/s is not positive", gbs);
  constexpr std::int64_t kPsPerSecond = 1'000'000'000'000;
  const std::int64_t common = std::gcd<std::int64_t, std::int64_t>(kPsPerSecond, bytes_per_second);
  Bandwidth bw;
  bw.ps_ = kPsPerSecond / common;
  bw.bytes_ = bytes_per_second / common;
  return bw;
}

}  // namespace kernbench
