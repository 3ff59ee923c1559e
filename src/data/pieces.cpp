#include "data/pieces.hpp"

#include <algorithm>

#include "data/memory_store.hpp"
#include "isa/transfer.hpp"

namespace kernbench::data {
namespace {

std::size_t size_of(std::int64_t n) { return static_cast<std::size_t>(n); }

}  // namespace

void PieceFinder::append(std::uint32_t origin, std::uint64_t address, std::int64_t bytes, std::int64_t offset,
                         Pieces& out) {
  facts_.translate(origin, address::VirtAddr(address), Bytes(bytes), translated_);
  for (const auto& p : translated_) {
    out.push_back({offset, p.size.count(), p.begin});
    offset += p.size.count();
  }
}

void PieceFinder::find_dma(std::uint32_t origin, const isa::Program& program, const isa::Command& dma,
                           Pieces& found) {
  found.clear();
  const auto size = itemsize(program.value(program.moved(dma)).dtype);
  isa::for_each_segment(program, dma, [&](const isa::Segment& s) {
    append(origin, s.address, s.elements * size, s.lane * size, found);
  });
}

Pieces PieceFinder::of_reference(std::uint32_t origin, const isa::Program& program, isa::ValueId reference) {
  Pieces out;
  const auto size = itemsize(program.value(reference).dtype);
  isa::for_each_segment(program, reference, [&](const isa::Segment& s) {
    append(origin, s.address, s.elements * size, s.lane * size, out);
  });
  return out;
}

Pieces PieceFinder::of_range(std::uint32_t origin, std::uint64_t address, Bytes size) {
  Pieces out;
  if (size > Bytes(0)) append(origin, address, size.count(), 0, out);
  return out;
}

Pieces pieces_of(const HostTransfer& transfer) {
  Pieces out;
  std::int64_t next = 0;
  for (std::size_t i = 0; i < transfer.pieces.size(); ++i) {
    const auto& p = transfer.pieces[i];
    if (p.size == Bytes(0)) continue;
    out.push_back({transfer.offsets.empty() ? next : transfer.offsets[i], p.size.count(), p.begin});
    next += p.size.count();
  }
  return out;
}

void copy_out(const MemoryStore& store, const Pieces& pieces, std::span<std::byte> tile) {
  for (const auto& p : pieces) store.copy_out(p.at, tile.subspan(size_of(p.offset), size_of(p.bytes)));
}

void copy_in(MemoryStore& store, const Pieces& pieces, std::span<const std::byte> tile) {
  for (const auto& p : pieces) store.copy_in(p.at, tile.subspan(size_of(p.offset), size_of(p.bytes)));
}

void append_part(const Pieces& pieces, std::int64_t begin, std::int64_t n, std::int64_t offset, Pieces& out) {
  const auto ends_before = [](const Piece& p, std::int64_t at) { return p.offset + p.bytes <= at; };
  auto at = std::lower_bound(pieces.begin(), pieces.end(), begin, ends_before);
  for (const auto end = begin + n; at != pieces.end() && at->offset < end; ++at) {
    const auto first = std::max(begin, at->offset);
    const auto last = std::min(end, at->offset + at->bytes);
    out.push_back({offset + first - begin, last - first, at->at + Bytes(first - at->offset)});
  }
}

}  // namespace kernbench::data
