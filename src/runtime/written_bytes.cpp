#include "runtime/written_bytes.hpp"

#include "isa/transfer.hpp"

namespace kernbench::runtime {

WrittenBytes::WrittenBytes(std::span<const std::shared_ptr<const isa::Program>> programs) {
  for (const auto& program : programs) add(*program);
  put_in_order();
  ranges_.shrink_to_fit();
}

void WrittenBytes::add(const isa::Program& program) {
  using isa::CommandKind;
  for (const isa::Command& c : program.commands()) {
    if (c.kind == CommandKind::dma_write || c.kind == CommandKind::atomic) {
      const std::int64_t item = itemsize(program.value(program.moved(c)).dtype);
      isa::for_each_segment(program, c, [&](const isa::Segment& s) { add(s.address, s.elements * item); });
    } else if (c.kind == CommandKind::composite) {
      const isa::ValueId out = program.composite(c).out;
      if (program.value(out).kind != isa::ValueKind::reference) continue;
      const std::int64_t item = itemsize(program.value(out).dtype);
      isa::for_each_segment(program, out, [&](const isa::Segment& s) { add(s.address, s.elements * item); });
    } else if (c.kind == CommandKind::ipcq_recv && program.has_destination(c)) {
      add(program.address(c), program.bytes(c.result).count());
    }
  }
}

/// Most commands write what comes behind the bytes of the one before, or the same again.
void WrittenBytes::add(std::uint64_t begin, std::int64_t bytes) {
  if (bytes == 0) return;
  const std::uint64_t end = begin + static_cast<std::uint64_t>(bytes);
  if (!ranges_.empty() && begin >= ranges_.back().begin && begin <= ranges_.back().end) {
    ranges_.back().end = std::max(ranges_.back().end, end);
    return;
  }
  if (ranges_.size() >= room_) {
    put_in_order();
    room_ = std::max(room_, 2 * ranges_.size());
  }
  ranges_.push_back({begin, end});
}

void WrittenBytes::put_in_order() {
  if (ranges_.empty()) return;
  std::ranges::sort(ranges_, {}, &Range::begin);
  std::size_t last = 0;
  for (const Range& range : ranges_) {
    if (range.begin <= ranges_[last].end)
      ranges_[last].end = std::max(ranges_[last].end, range.end);
    else
      ranges_[++last] = range;
  }
  ranges_.resize(last + 1);
}

}  // namespace kernbench::runtime
