#include "models/dram_map.hpp"

namespace kernbench::models {

namespace {

int bits(std::int64_t values) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(values))) - 1;
}

/// All groups of so many bits, one upon the other.
std::uint64_t fold(std::uint64_t value, int width) {
  std::uint64_t sum = 0;
  for (; width > 0 && value > 0; value >>= width) sum ^= value & ((std::uint64_t{1} << width) - 1);
  return sum;
}

}  // namespace

DramMap::DramMap(const ParamSet& hbm)
    : channels_(hbm.integer("num_pcs")),
      groups_(hbm.integer("bank_groups")),
      banks_(hbm.integer("banks")),
      columns_(hbm.integer("row_bytes") / hbm.integer("burst_bytes")),
      hash_(hbm.text("hash") == "xor"),
      channel_bits_(bits(channels_)),
      bank_bits_(bits(banks_)) {}

std::size_t DramMap::channel_of(std::uint64_t burst) const {
  if (!hash_) return burst % static_cast<std::uint64_t>(channels_);
  std::size_t channel = 0;
  for (int bit = 0; bit < channel_bits_; ++bit)
    channel |= static_cast<std::size_t>(std::popcount(burst & kMasks[bit]) & 1) << bit;
  return channel;
}

DramMap::Place DramMap::place(std::int64_t burst) const {
  const std::int64_t in_channel = burst / channels_;
  const std::int64_t group = in_channel % groups_;
  const std::int64_t column = in_channel / groups_ % columns_;
  const std::int64_t of_group = in_channel / groups_ / columns_;
  const std::int64_t row = of_group / (banks_ / groups_);
  const std::int64_t bank = group + groups_ * (of_group % (banks_ / groups_));
  Place place{channel_of(static_cast<std::uint64_t>(burst)), static_cast<std::uint32_t>(bank), row};
  if (hash_)
    place.bank ^=
        static_cast<std::uint32_t>(fold(static_cast<std::uint64_t>(row ^ (column << 1)), bank_bits_));
  return place;
}

}  // namespace kernbench::models
