// Where the records of a run come from, by the number that records carry.
#pragma once

#include <array>
#include <bit>
#include <initializer_list>
#include <memory>

#include "device/op_record.hpp"

namespace kernbench::device {

/// Origins never move: one may be added while other threads look at those that were there before.
class Origins {
 public:
  Origins() = default;
  Origins(std::initializer_list<Origin> all) {
    for (const Origin& one : all) add(one);
  }

  /// Returns its number.
  std::uint32_t add(const Origin& origin) {
    const auto [chunk, at] = place(size_);
    if (!chunks_[chunk]) chunks_[chunk] = std::make_unique<Origin[]>(std::size_t{kFirst} << chunk);
    chunks_[chunk][at] = origin;
    return static_cast<std::uint32_t>(size_++);
  }
  std::size_t size() const { return size_; }
  const Origin& operator[](std::size_t number) const {
    const auto [chunk, at] = place(number);
    return chunks_[chunk][at];
  }

 private:
  static constexpr std::size_t kFirst = 256;  // in the first chunk; each is twice as long as the one before

  struct Place {
    std::size_t chunk, at;
  };
  static Place place(std::size_t number) {
    const std::size_t from_first = number + kFirst;
    const auto chunk = static_cast<std::size_t>(std::bit_width(from_first) - std::bit_width(kFirst));
    return {chunk, from_first - (kFirst << chunk)};
  }

  std::array<std::unique_ptr<Origin[]>, 25> chunks_;  // 2³³ origins: more than a number can name
  std::size_t size_ = 0;
};

}  // namespace kernbench::device
