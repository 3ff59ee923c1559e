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
      columns_(hbm.integer("row_bytes") / hbm.integer("burst_bytes")),
      banks_of_group_(hbm.integer("banks") / hbm.integer("bank_groups")),
      hash_(hbm.text("hash") == "xor"),
      group_bits_(bits(hbm.integer("bank_groups"))),
      channel_bits_(bits(hbm.integer("num_pcs"))),
      bank_bits_(bits(hbm.integer("banks"))) {}

std::size_t DramMap::hashed_channel(std::uint64_t burst) const {
  std::size_t channel = 0;
  for (int bit = 0; bit < channel_bits_; ++bit)
    channel |= static_cast<std::size_t>(__builtin_parityll(burst & kMasks[bit])) << bit;
  return channel;
}

DramMap::Place DramMap::place(std::int64_t burst) const {
  std::uint64_t channel = 0, group = 0, column = 0, bank = 0;
  const auto number = static_cast<std::uint64_t>(burst);
  const std::uint64_t of_group =
      columns_.divide(groups_.divide(channels_.divide(number, channel), group), column);
  const std::uint64_t row = banks_of_group_.divide(of_group, bank);
  Place place{channel, static_cast<std::uint32_t>(group + (bank << group_bits_)),
              static_cast<std::int64_t>(row)};
  if (!hash_) return place;
  place.channel = hashed_channel(number);
  place.bank ^= static_cast<std::uint32_t>(fold(row ^ (column << 1), bank_bits_));
  return place;
}

}  // namespace kernbench::models
