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
      launches_(launches),
      launches_seen_(launches.size()),
      bytes_(static_cast<std::size_t>(storage.layout.bytes())),
      known_(bytes_.size()) {}

void HostImage::forget(std::uint64_t address, std::int64_t bytes) {
  const std::uint64_t begin = std::max(address, base_);
  const std::uint64_t end = std::min(address + static_cast<std::uint64_t>(bytes), base_ + bytes_.size());
  if (begin >= end) return;
  const auto first = known_.begin() + static_cast<std::ptrdiff_t>(begin - base_);
  std::fill(first, first + static_cast<std::ptrdiff_t>(end - begin), false);
  last_writer_ = launches_[launches_seen_];
}

void HostImage::catch_up() {
  for (; launches_seen_ < launches_.size(); ++launches_seen_)
    for (const auto& program : launches_[launches_seen_]->programs())
      for_each_write(*program, [this](std::uint64_t address, std::int64_t n) { forget(address, n); });
}

void HostImage::write(std::span<const Chunk> chunks, std::span<const std::byte> buffer) {
  catch_up();
  for (const Chunk& c : chunks)
    for (std::int64_t row = 0; row < c.rows; ++row) {
      const auto at = c.offset + row * c.stride;
      std::memcpy(bytes_.data() + at, buffer.data() + c.in_buffer + row * c.row_bytes,
                  static_cast<std::size_t>(c.row_bytes));
      std::fill_n(known_.begin() + at, c.row_bytes, true);
    }
}

bool HostImage::read(std::int64_t offset, std::span<std::byte> out) {
  catch_up();
  const auto first = known_.begin() + offset;
  if (std::find(first, first + static_cast<std::ptrdiff_t>(out.size()), false) !=
      first + static_cast<std::ptrdiff_t>(out.size()))
    return false;
  std::memcpy(out.data(), bytes_.data() + offset, out.size());
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
