#include "isa/transfer.hpp"

#include <algorithm>

namespace kernbench::isa {
namespace {

// From the first to the last element: strides are never negative.
Access whole(std::uint64_t address, int itemsize, const Shape& shape, const Strides& strides, bool write) {
  if (shape.elements() == 0) return {address, address, write};
  std::int64_t last = 0;
  for (int axis = 0; axis < shape.rank(); ++axis)
    last += (shape[axis] - 1) * strides[static_cast<std::size_t>(axis)];
  return {address, address + static_cast<std::uint64_t>((last + 1) * itemsize), write};
}

Access bytes_from(std::uint64_t begin, std::int64_t bytes, bool write) {
  return {begin, begin + static_cast<std::uint64_t>(bytes), write};
}

Access of_dma(const Program& program, const Command& c) {
  const auto moved = program.moved(c);
  const bool write = c.kind != CommandKind::dma_read;
  const auto size = itemsize(program.value(moved).dtype);
  if (!program.masked(c) && c.strides == kNone)
    return bytes_from(program.address(c), program.bytes(moved).count(), write);
  if (!program.masked(c))
    return whole(program.address(c), size, program.shape(moved), program.strides(c), write);
  Access access{UINT64_MAX, 0, write};
  for_each_segment(program, c, [&](const Segment& s) {
    access.begin = std::min(access.begin, s.address);
    access.end = std::max(access.end, s.address + static_cast<std::uint64_t>(s.elements * size));
  });
  return access;
}

Access of_reference(const Program& program, ValueId id, bool write) {
  return whole(program.address(id), itemsize(program.value(id).dtype), program.shape(id),
               program.layout(id).strides, write);
}

}  // namespace

SegmentWalk::SegmentWalk(std::uint64_t address, int itemsize, const Shape& shape, const Strides& strides)
    : address_(address), itemsize_(itemsize), shape_(shape), strides_(strides) {
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    const std::int64_t stride = strides[static_cast<std::size_t>(axis)];
    if (shape[axis] != 1 && stride != block_) {
      in_line_ = std::max<std::int64_t>(shape[axis], 1);
      step_ = static_cast<std::uint64_t>(stride * itemsize_);
      break;
    }
    block_ *= std::max<std::int64_t>(shape[axis], 1);
  }
}

std::uint64_t SegmentWalk::address_of(std::int64_t lane) const {
  std::int64_t element = 0;
  for (int axis = shape_.rank() - 1; axis >= 0; --axis) {
    element += lane % shape_[axis] * strides_[static_cast<std::size_t>(axis)];
    lane /= shape_[axis];
  }
  return address_ + static_cast<std::uint64_t>(element * itemsize_);
}

int accesses(const Program& program, const Command& c, std::array<Access, 3>& out) {
  int n = 0;
  const auto add = [&](const Access& a) {
    if (a.begin < a.end) out[static_cast<std::size_t>(n++)] = a;
  };
  switch (c.kind) {
    case CommandKind::dma_read:
    case CommandKind::dma_write:
    case CommandKind::atomic:
      if (program.active_lanes(c) > 0) add(of_dma(program, c));
      break;
    case CommandKind::load_scalar:
      add(bytes_from(program.address(c), itemsize(program.scalar_dtype(c)), false));
      break;
    case CommandKind::ipcq_recv:
      if (program.has_destination(c))
        add(bytes_from(program.address(c), program.bytes(c.result).count(), true));
      break;
    case CommandKind::ipcq_send:
      if (program.value(c.read[0]).kind == ValueKind::reference) add(of_reference(program, c.read[0], false));
      break;
    case CommandKind::composite: {
      const auto& spec = program.composite(c);
      for (const auto id : {spec.a, spec.b})
        if (program.value(id).kind == ValueKind::reference) add(of_reference(program, id, false));
      if (program.value(spec.out).kind == ValueKind::reference) add(of_reference(program, spec.out, true));
      break;
    }
    case CommandKind::gemm:
    case CommandKind::math:
    case CommandKind::wait:
    case CommandKind::fence:
      break;
  }
  return n;
}

}  // namespace kernbench::isa
