#include "trace/interval_union.hpp"

namespace kernbench::trace {

namespace {

void put_time(std::vector<std::uint8_t>& bytes, Time time) {
  auto rest = static_cast<std::uint64_t>(time.ps());
  for (; rest >= 0x80; rest >>= 7) bytes.push_back(static_cast<std::uint8_t>(rest | 0x80));
  bytes.push_back(static_cast<std::uint8_t>(rest));
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

/// The oldest parts.
void IntervalUnion::pack() {
  const auto end = parts_.begin() + kPacked;
  std::vector<std::uint8_t> bytes;
  bytes.reserve(8 * kPacked);
  Time before = parts_.front().begin;
  for (auto part = parts_.begin(); part != end; ++part) {
    put_time(bytes, part->begin - before);
    put_time(bytes, part->end - part->begin);
    before = part->end;
  }
  const auto kept = std::make_shared_for_overwrite<std::uint8_t[]>(bytes.size());
  std::ranges::copy(bytes, kept.get());
  packed_.push_back({parts_.front().begin, before, kept, static_cast<std::uint32_t>(bytes.size())});
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
