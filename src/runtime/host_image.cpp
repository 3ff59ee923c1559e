#include "runtime/host_image.hpp"

#include <algorithm>
#include <cstring>

namespace kernbench::runtime {

HostImage::HostImage(const Storage& storage, const Launches& launches)
    : base_(storage.base.raw()),
      size_(storage.layout.bytes()),
      launches_(launches),
      launches_seen_(launches.size()) {}

/// What reaches over an end of the stretch stays known outside of it.
void HostImage::forget(std::int64_t begin, std::int64_t end) {
  auto at = known_.upper_bound(begin);
  if (at != known_.begin() && std::prev(at)->second.end > begin) --at;
  while (at != known_.end() && at->first < end) {
    const auto [first, known] = *at;
    at = known_.erase(at);
    if (first < begin) known_[first] = known, known_[first].end = begin;
    if (known.end > end) {
      known_[end] = known;
      known_[end].at += end - first;
    }
  }
}

void HostImage::written(const WrittenBytes::Range& range) {
  const std::int64_t begin = range.begin > base_ ? static_cast<std::int64_t>(range.begin - base_) : 0;
  forget(begin, std::min(static_cast<std::int64_t>(range.end - base_), size_));
  last_writer_ = launches_[launches_seen_];
}

void HostImage::catch_up() {
  const std::uint64_t end = base_ + static_cast<std::uint64_t>(size_);
  for (; launches_seen_ < launches_.size(); ++launches_seen_)
    launches_[launches_seen_]->writes().for_each_in(
        base_, end, [this](const WrittenBytes::Range& range) { written(range); });
}

/// `make(offset in the buffer)`: what is known from there on.
template <class Make>
void HostImage::learn(std::span<const Chunk> chunks, const Make& make) {
  catch_up();
  for (const Chunk& c : chunks)
    for (std::int64_t row = 0; row < c.rows; ++row) {
      const std::int64_t begin = c.offset + row * c.stride, end = begin + c.row_bytes;
      forget(begin, end);
      Known known = make(c.in_buffer + row * c.row_bytes);
      known.end = end;
      known_.emplace(begin, std::move(known));
    }
}

void HostImage::write(std::span<const Chunk> chunks, const Bytes& buffer) {
  learn(chunks, [&](std::int64_t at) { return Known{.end = 0, .buffer = buffer, .at = at}; });
}

void HostImage::fill(std::span<const Chunk> chunks, std::span<const std::byte> element) {
  Known same{.end = 0, .buffer = nullptr, .itemsize = element.size()};
  std::ranges::copy(element, same.element.begin());
  learn(chunks, [&](std::int64_t) { return same; });
}

void HostImage::lose(std::span<const Chunk> chunks) {
  catch_up();
  lost_ = true;
  for (const Chunk& c : chunks)
    for (std::int64_t row = 0; row < c.rows; ++row)
      forget(c.offset + row * c.stride, c.offset + row * c.stride + c.row_bytes);
}

/// Elements lie at multiples of their size.
void HostImage::copy(std::int64_t begin, const Known& known, std::int64_t from, std::span<std::byte> out) {
  if (known.buffer) {
    std::memcpy(out.data(), known.buffer->data() + known.at + (from - begin), out.size());
    return;
  }
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = known.element[(static_cast<std::size_t>(from) + i) % known.itemsize];
}

bool HostImage::read(std::int64_t offset, std::span<std::byte> out) {
  catch_up();
  auto at = known_.upper_bound(offset);
  if (at != known_.begin()) --at;
  for (const std::int64_t end = offset + static_cast<std::int64_t>(out.size()); offset < end; ++at) {
    if (at == known_.end() || at->first > offset || at->second.end <= offset) return false;
    const auto n = static_cast<std::size_t>(std::min(end, at->second.end) - offset);
    copy(at->first, at->second, offset, out.first(n));
    out = out.subspan(n);
    offset += static_cast<std::int64_t>(n);
  }
  return true;
}

bool HostImage::read(std::span<const Chunk> chunks, std::span<std::byte> buffer) {
  for (const Chunk& c : chunks)
    for (std::int64_t row = 0; row < c.rows; ++row)
      if (!read(c.offset + row * c.stride,
                buffer.subspan(static_cast<std::size_t>(c.in_buffer + row * c.row_bytes),
                               static_cast<std::size_t>(c.row_bytes))))
        return false;
  return true;
}

std::shared_ptr<LaunchRequest> HostImage::last_writer() {
  catch_up();
  return last_writer_;
}

}  // namespace kernbench::runtime
