#include "runtime/host_image.hpp"

#include <algorithm>
#include <cstring>

#include "isa/transfer.hpp"

namespace kernbench::runtime {

void for_each_write(const isa::Program& program, const std::function<void(std::uint64_t, std::int64_t)>& fn) {
  using isa::CommandKind;
  for (const isa::Command& c : program.commands()) {
    if (c.kind == CommandKind::dma_write || c.kind == CommandKind::atomic) {
      const std::int64_t item = itemsize(program.value(program.moved(c)).dtype);
      isa::for_each_segment(program, c, [&](const isa::Segment& s) { fn(s.address, s.elements * item); });
    } else if (c.kind == CommandKind::composite) {
      const isa::ValueId out = program.composite(c).out;
      if (program.value(out).kind != isa::ValueKind::reference) continue;
      const std::int64_t item = itemsize(program.value(out).dtype);
      isa::for_each_segment(program, out, [&](const isa::Segment& s) { fn(s.address, s.elements * item); });
    } else if (c.kind == CommandKind::ipcq_recv && program.has_destination(c)) {
      fn(c.address, program.bytes(c.result).count());
    }
  }
}

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

void HostImage::written(std::uint64_t address, std::int64_t bytes) {
  const std::int64_t begin = std::max<std::int64_t>(static_cast<std::int64_t>(address - base_), 0);
  const std::int64_t end = std::min(static_cast<std::int64_t>(address - base_) + bytes, size_);
  if (begin >= end) return;
  forget(begin, end);
  last_writer_ = launches_[launches_seen_];
}

void HostImage::catch_up() {
  for (; launches_seen_ < launches_.size(); ++launches_seen_)
    for (const auto& program : launches_[launches_seen_]->programs())
      for_each_write(*program, [this](std::uint64_t address, std::int64_t n) { written(address, n); });
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
