#include "trace/interval_union.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace kernbench::trace {

namespace {

void put_time(std::uint8_t*& at, Time time) {
  auto rest = static_cast<std::uint64_t>(time.ps());
  for (; rest >= 0x80; rest >>= 7) *at++ = static_cast<std::uint8_t>(rest | 0x80);
  *at++ = static_cast<std::uint8_t>(rest);
}

Time take_time(const std::uint8_t*& at) {
  std::uint64_t number = 0;
  for (int shift = 0;; shift += 7) {
    const std::uint8_t byte = *at++;
    number |= std::uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return Time::from_ps(static_cast<std::int64_t>(number));
  }
}

}  // namespace

/// Adds an interval that begins before the last part. It may touch any number of parts.
void IntervalUnion::add_before(Time begin, Time end) {
  while (!packed_.empty() && packed_.back().end >= begin) unpack();
  const auto [first, last] = find_touching(begin, end);
  if (first != last) return merge(first, last, begin, end);
  length_ += end - begin;
  parts_.insert(first, {begin, end});
  if (parts_.size() >= kPacked + kPacked / 4) pack();
}

/// The parts that touch [begin, end], all of them side by side. If there are none, both say where it belongs.
std::pair<IntervalUnion::Place, IntervalUnion::Place> IntervalUnion::find_touching(Time begin, Time end) {
  auto last = parts_.end();
  while (last != parts_.begin() && std::prev(last)->begin > end) --last;
  auto first = last;
  while (first != parts_.begin() && std::prev(first)->end >= begin) --first;
  return {first, last};
}

/// Makes one part of [begin, end] and those that it touches.
void IntervalUnion::merge(Place first, Place last, Time begin, Time end) {
  length_ += end - begin;
  for (auto part = first; part != last; ++part)
    length_ -= std::min(part->end, end) - std::max(part->begin, begin);
  first->end = std::max(std::prev(last)->end, end);
  first->begin = std::min(first->begin, begin);
  parts_.erase(first + 1, last);
}

/// The oldest parts.
void IntervalUnion::pack() {
  constexpr std::size_t kMostBytesOfATime = 10;
  const auto end = parts_.begin() + kPacked;
  std::array<std::uint8_t, 2 * kPacked * kMostBytesOfATime> bytes;  // NOLINT: written before it is read
  std::uint8_t* at = bytes.data();
  Time before = parts_.front().begin;
  for (auto part = parts_.begin(); part != end; ++part) {
    put_time(at, part->begin - before);
    put_time(at, part->end - part->begin);
    before = part->end;
  }
  const auto size = static_cast<std::size_t>(at - bytes.data());
  const auto kept = std::make_shared_for_overwrite<std::uint8_t[]>(size);
  std::copy_n(bytes.data(), size, kept.get());
  packed_.push_back({parts_.front().begin, before, kept, static_cast<std::uint32_t>(size)});
  parts_.erase(parts_.begin(), end);
}

/// The youngest of those that were packed.
void IntervalUnion::unpack() {
  const std::vector<Part> again = parts_of(packed_.back());
  parts_.insert(parts_.begin(), again.begin(), again.end());
  packed_.pop_back();
}

std::vector<IntervalUnion::Part> IntervalUnion::parts_of(const Pack& pack) {
  std::vector<Part> parts;
  parts.reserve(kPacked);
  const std::uint8_t* at = pack.bytes.get();
  for (Time before = pack.begin; before != pack.end;) {
    const Time begin = before + take_time(at);
    before = begin + take_time(at);
    parts.push_back({begin, before});
  }
  return parts;
}

std::size_t IntervalUnion::memory_bytes() const {
  std::size_t bytes = packed_.capacity() * sizeof(Pack) + parts_.capacity() * sizeof(Part);
  for (const Pack& pack : packed_) bytes += pack.size;
  return bytes;
}

}  // namespace kernbench::trace
