// What a run cost in energy: how much, in which part of the machine, for which operation, and the power over time.
//
//   Torch torch(load_machine("realistic"));              // a machine whose file has an `energy:` section
//   …
//   if (const auto energy = torch.energy()) {            // nothing if it has none
//     std::cout << to_text(*energy);
//     energy->part(EnergyPart::hbm).pj();                // picojoules
//     energy->average_w(), energy->peak_w();             // watts
//   }
//
// Energy is counted in whole femtojoules and exactly: parts, operations and requests each add up to the total, to the
// last femtojoule. Sums have 128 bits: 10²³ joules, so no run can overflow them. docs/energy.md has the formulas.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernbench/units.hpp"

namespace kernbench::trace {

/// A whole number of femtojoules.
class Energy {
 public:
  __extension__ using Wide = __int128;

  constexpr Energy() = default;
  static constexpr Energy from_fj(Wide fj) { return Energy(fj); }

  constexpr Wide fj() const { return fj_; }
  double pj() const { return static_cast<double>(fj_) / 1e3; }
  double joules() const { return static_cast<double>(fj_) / 1e15; }

  friend constexpr auto operator<=>(Energy, Energy) = default;
  constexpr Energy& operator+=(Energy b) { return fj_ += b.fj_, *this; }
  friend constexpr Energy operator+(Energy a, Energy b) { return Energy(a.fj_ + b.fj_); }
  friend constexpr Energy operator-(Energy a, Energy b) { return Energy(a.fj_ - b.fj_); }

 private:
  constexpr explicit Energy(Wide fj) : fj_(fj) {}
  Wide fj_ = 0;
};

/// `1.234 uJ`: four digits and the unit that fits.
std::string to_string(Energy energy);
/// All digits of the femtojoules.
std::string fj_text(Energy energy);
/// `12.34 W`, `1.25 mW`.
std::string watts_text(double watts);
/// Over a length of time; 0 over none.
double watts(Energy energy, Time over);

/// Where energy is spent.
enum class EnergyPart : std::uint8_t {
  hbm,      // reads and writes
  sram,     // likewise
  tcm,      // likewise, by transfers and by the units
  routers,  // each that bytes pass, and the IO chiplet's network
  ucie,     // each crossing between two dies
  pcie,     // each link between host, switch and SIPs
  matrix,   // multiply-adds
  vector,   // elements
  launch,   // each program that is started on a PE
  static_,  // always, of every PE, cube and SIP, whether it is at work or not
};
inline constexpr std::size_t kEnergyParts = 10;
/// `hbm`, …, `static`.
std::string_view to_string(EnergyPart part);

/// By EnergyPart.
using EnergyByPart = std::array<Energy, kEnergyParts>;
Energy sum(const EnergyByPart& parts);

/// One kind of operation (`dma_read`, `gemm`, `host_write` …); or `other`: what links carried beyond the payload of
/// operations (control messages with a size, operations that were cut short); or `static`.
struct OperationEnergy {
  std::string_view kind;
  EnergyByPart parts{};
  Energy total() const { return sum(parts); }
};

/// A request of the host: a launch with all that its programs did, a write, a read …
struct RequestEnergy {
  std::uint32_t request = 0;  // its number in the run, as in `Op::launch`
  EnergyByPart parts{};       // nothing in static_: that is the run's
  std::uint64_t macs = 0;
  Energy total() const { return sum(parts); }
};

struct EnergyReport {
  Time time;  // of the run: from 0 to the end of its last operation
  EnergyByPart parts{};
  std::vector<OperationEnergy> operations;  // those that took any, `other` and `static` last
  std::vector<RequestEnergy>
      requests;  // those that took any, by number; with `other` and `static` they are all
  std::uint64_t macs = 0;

  /// Energy over time: windows from 0 on, the last of which ends with the run and is up to twice as long. What an
  /// operation takes is spread evenly from its start to its end; of a matrix or vector operation what it fetches,
  /// computes and stores, each over its own phase.
  Time window;
  std::vector<Energy> windows;

  /// Prices that the machine file does not give, although the run did what they are for: `energy.mac.bf16_pj`.
  std::vector<std::string> unpriced;

  std::int64_t static_mw = 0;      // of the whole machine
  std::int64_t sip_static_mw = 0;  // of one SIP

  Energy part(EnergyPart part) const { return parts[static_cast<std::size_t>(part)]; }
  Energy total() const { return sum(parts); }
  Energy dynamic() const { return total() - part(EnergyPart::static_); }
  double average_w() const { return watts(total(), time); }
  double peak_w() const;
  Time peak_at() const;                     // where the first window with the peak begins
  Time length_of(std::size_t index) const;  // of a window
  double window_w(std::size_t index) const { return watts(windows[index], length_of(index)); }
  /// Over two operations per multiply-add: the total, and what operations took alone; 0 without any.
  double pj_per_flop() const;
  double dynamic_pj_per_flop() const;
  /// The power in at most `most` stretches of equal length but the last.
  struct OverTime {
    Time stretch;
    std::vector<double> watts;
  };
  OverTime over_time(std::size_t most = 256) const;
};

/// A JSON object: the key `energy` of `kernbench run --json`.
std::string to_json(const EnergyReport& report);
/// A table for a terminal.
std::string to_text(const EnergyReport& report);

}  // namespace kernbench::trace

namespace kernbench {
using trace::Energy;
using trace::EnergyPart;
using trace::EnergyReport;
}  // namespace kernbench
