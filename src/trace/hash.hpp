// A 64-bit hash with a fixed algorithm: the same on every machine, for ever. (MurmurHash3's 64-bit step and
// finaliser. A step is a bijection of the word, so two inputs that differ in one word never collide.)
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "device/op_record.hpp"

namespace kernbench::trace {

class Hash {
 public:
  void add(std::uint64_t word) {
    word = std::rotl(word * 0x87C3'7B91'1142'53D5u, 31) * 0x4CF5'AD43'2745'937Fu;
    state_ = std::rotl(state_ ^ word, 27) * 5 + 0x52DC'E729u;
    ++words_;
  }
  /// With its length, so that neighbouring texts cannot trade characters.
  void add(std::string_view text) {
    add(text.size());
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      word = word << 8 | static_cast<unsigned char>(text[i]);
      if (i % 8 == 7) add(word), word = 0;
    }
    if (text.size() % 8 != 0) add(word);
  }
  std::uint64_t value() const {
    std::uint64_t h = state_ ^ words_;
    h = (h ^ h >> 33) * 0xFF51'AFD7'ED55'8CCDu;
    h = (h ^ h >> 33) * 0xC4CE'B9FE'1A85'EC53u;
    return h ^ h >> 33;
  }

  /// Without serial numbers, which are given out as events come: who comes first at one instant is no result.
  /// Word by word as a record lies in memory, put together from its members: one that was written member by member
  /// a moment ago is slow to read in larger pieces.
  void add(const device::OpRecord& r) {
    for (const Time time : {r.start, r.end, r.cause_instant}) add(static_cast<std::uint64_t>(time.ps()));
    add(r.amount);
    add(pair(0, r.origin));
    add(pair(r.command, 0));
    add(pair(r.cause_partition | static_cast<std::uint32_t>(r.kind) << 16 |
                 static_cast<std::uint32_t>(r.reason) << 24,
             r.phase[0]));
    add(pair(r.phase[1], r.phase[2]));
  }

 private:
  static std::uint64_t pair(std::uint32_t low, std::uint32_t high) { return std::uint64_t{high} << 32 | low; }

  std::uint64_t state_ = 0x6B65'726E'6F70'6C67;
  std::uint64_t words_ = 0;
};

/// The records of a partition, in order of their ends. Which of several that end at one instant was noted first does not
/// matter: trains of packets, and packets one by one, note them in different order.
class RecordHash {
 public:
  void add(const device::OpRecord& record) {
    if (record.end != instant_) close(record.end);
    Hash one;
    one.add(record);
    at_instant_ += one.value();
  }
  std::uint64_t value() const {
    RecordHash all = *this;
    all.close(Time());
    return all.closed_.value();
  }

 private:
  void close(Time next) {
    closed_.add(at_instant_);
    at_instant_ = 0;
    instant_ = next;
  }

  Hash closed_;                   // up to the instant
  std::uint64_t at_instant_ = 0;  // a sum, so that the order does not matter
  Time instant_;
};

}  // namespace kernbench::trace
