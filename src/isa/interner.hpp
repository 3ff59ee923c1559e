// Gives equal things equal small numbers. The things themselves stand in a vector of the caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kernbench::isa {

class Interner {
 public:
  /// The index in `items` of the thing that satisfies `equal`, whose hash is `hash_of()`; `make()` is
  /// appended if there is none. What was found last is tried first: kernels repeat themselves.
  template <class T, class HashOf, class Equal, class Make>
  std::uint32_t find_or_add(std::vector<T>& items, HashOf hash_of, Equal equal, Make make) {
    if (last_ < items.size() && equal(items[last_])) return last_;
    const std::uint64_t hash = hash_of();
    if (2 * (items.size() + 1) > slots_.size()) grow();
    const auto mask = slots_.size() - 1;
    for (auto i = hash & mask;; i = (i + 1) & mask) {
      auto& slot = slots_[i];
      if (slot.id == kEmpty) {
        slot = {hash, static_cast<std::uint32_t>(items.size())};
        items.push_back(make());
      } else if (slot.hash != hash || !equal(items[slot.id])) {
        continue;
      }
      return last_ = slot.id;
    }
  }

 private:
  static constexpr std::uint32_t kEmpty = UINT32_MAX;
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t id = kEmpty;
  };

  void grow() {
    std::vector<Slot> old(slots_.empty() ? 16 : 2 * slots_.size());
    old.swap(slots_);
    for (const auto& slot : old) {
      if (slot.id == kEmpty) continue;
      auto i = slot.hash & (slots_.size() - 1);
      while (slots_[i].id != kEmpty) i = (i + 1) & (slots_.size() - 1);
      slots_[i] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::uint32_t last_ = kEmpty;
};

/// Mixes a word into a hash (the finaliser of MurmurHash3, which spreads every bit over the whole word).
constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0xFF51'AFD7'ED55'8CCDu;
  hash ^= hash >> 33;
  hash *= 0xC4CE'B9FE'1A85'EC53u;
  return hash ^ (hash >> 33);
}

}  // namespace kernbench::isa
