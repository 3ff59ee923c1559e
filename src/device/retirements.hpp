// Which commands of a program have retired, and when: the latter for as long as somebody may ask.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernbench/isa.hpp"
#include "kernbench/units.hpp"

namespace kernbench::device {

/// Most commands of a long program are done with: they take two bits each. Times are kept from the oldest one on that is not.
class Retirements {
 public:
  struct Retired {
    Time at;
    std::uint32_t serial = 0;  // of its record
  };

  void begin(std::size_t commands) {
    has_retired_.assign(commands, false);
    is_spent_.assign(commands, false);
    oldest_ = 0;
  }
  bool has(isa::CommandIndex i) const { return has_retired_[i]; }
  void note(isa::CommandIndex i, const Retired& retired) {
    has_retired_[i] = true;
    if (i - oldest_ >= times_.size()) grow(i);
    times_[place(i)] = retired;
  }
  /// The command has retired and is not spent.
  const Retired& operator[](isa::CommandIndex i) const { return times_[place(i)]; }
  /// Nobody will ask for the times of this one any more.
  void spend(isa::CommandIndex i) {
    is_spent_[i] = true;
    while (oldest_ < is_spent_.size() && is_spent_[oldest_]) ++oldest_;
  }
  std::optional<isa::CommandIndex> first_missing() const {
    const auto at = std::find(has_retired_.begin(), has_retired_.end(), false);
    if (at == has_retired_.end()) return std::nullopt;
    return static_cast<isa::CommandIndex>(at - has_retired_.begin());
  }

 private:
  static constexpr std::size_t kFewest = 16;

  std::size_t place(isa::CommandIndex i) const { return i & (times_.size() - 1); }
  [[gnu::noinline]] void grow(isa::CommandIndex i) {
    std::size_t size = std::max(kFewest, times_.size());
    while (i - oldest_ >= size) size *= 2;
    std::vector<Retired> larger(size);
    for (std::size_t k = 0; k < times_.size(); ++k) {
      const auto old = static_cast<isa::CommandIndex>(oldest_ + k);
      larger[old & (size - 1)] = times_[place(old)];
    }
    times_ = std::move(larger);
  }

  std::vector<bool> has_retired_, is_spent_;  // per command
  std::vector<Retired> times_;  // of `oldest_` and so many behind it: a ring, a power of two long
  std::size_t oldest_ = 0;      // the first that is not spent
};

}  // namespace kernbench::device
