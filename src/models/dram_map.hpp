// Where a burst of a slice lies: pseudo-channel, bank, row.
#pragma once

#include <bit>
#include <cstdint>
#include <string>

#include "kernbench/param.hpp"

namespace kernbench::models {

/// A number to divide by: mostly a power of two.
class Divisor {
 public:
  explicit Divisor(std::int64_t value)
      : value_(static_cast<std::uint64_t>(value)),
        shift_(std::has_single_bit(value_) ? std::countr_zero(value_) : -1) {}
  /// The quotient; `rest` becomes the remainder.
  std::uint64_t divide(std::uint64_t number, std::uint64_t& rest) const {
    const std::uint64_t quotient = shift_ >= 0 ? number >> shift_ : number / value_;
    rest = number - quotient * value_;
    return quotient;
  }

 private:
  std::uint64_t value_;
  int shift_;
};

/// Consecutive bursts go to consecutive channels; in a channel, bank group bits lowest, then column, bank, row. `hash: xor`
/// takes channels by parity, and folds row and column into the bank, so that strides do not meet on one of them.
class DramMap {
 public:
  struct Place {
    std::size_t channel = 0;
    std::uint32_t bank = 0;
    std::int64_t row = 0;
  };

  explicit DramMap(const ParamSet& hbm);
  Place place(std::int64_t burst) const;

  /// With `hash: xor`: the channel's bits are the parities of the burst's number and these.
  static constexpr std::uint64_t kMasks[] = {0x24995c979, 0x0f4df26ca, 0x127f95c94};

 private:
  std::size_t hashed_channel(std::uint64_t burst) const;

  const Divisor channels_, groups_, columns_, banks_of_group_;
  const bool hash_;
  const int group_bits_;
  const int channel_bits_, bank_bits_;
};

}  // namespace kernbench::models
