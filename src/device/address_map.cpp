#include "device/address_map.hpp"

#include <fmt/format.h>

#include "device/device.hpp"
#include "kernbench/isa.hpp"

namespace kernbench::device {

namespace {

using address::VirtAddr;

/// A rectangle of which an axis is contiguous, or of a single row or column.
VirtualRows rows_of(const Rectangle& r) {
  const std::int64_t size = r.itemsize;
  if (r.cols == 1 || r.col_stride == 1) {
    if (r.rows == 1 || r.row_stride == r.cols) return {r.address, r.rows * r.cols * size, 1, 0};
    return {r.address, r.cols * size, r.rows, r.row_stride * size};
  }
  return {r.address, r.rows * size, r.cols, r.col_stride * size};  // stored column by column
}

std::string place_of(const Issuer& issuer) {
  const isa::Program& program = *issuer.program;
  return fmt::format("kernel '{}' on {}, {}", program.kernel(), to_string(program.pe()),
                     isa::to_string(program.line(program.command(issuer.command))));
}

/// All rows lie in one mapped piece: the common case.
bool translate_whole(Device& device, const address::MmuMap& map, const VirtualRows& rows,
                     std::vector<DmaTransfer::Piece>& out) {
  const Bytes span((rows.rows - 1) * rows.stride + rows.row_bytes);
  const auto begin = map.find(VirtAddr(rows.address), span);
  if (!begin) return false;
  DmaTransfer::Piece piece = device.locate(*begin, span);
  piece.extent.row_bytes = rows.row_bytes;
  piece.extent.rows = rows.rows;
  piece.extent.stride = rows.stride;
  out.push_back(piece);
  return true;
}

address::MmuFault named(const address::MmuFault& fault, const Issuer& issuer) {
  const isa::Program& program = *issuer.program;
  const isa::Command& command = program.command(issuer.command);
  return {{.id = fault.id(),
           .where = place_of(issuer),
           .what = fmt::format("{}: {}", isa::to_string(isa::decode(program, command)), fault.message()),
           .hint = fault.hint()},
          fault.pe(),
          fault.address()};
}

}  // namespace

void translate(Device& device, const address::MmuMap& map, const VirtualRows& rows, const Issuer& issuer,
               std::vector<DmaTransfer::Piece>& out) try {
  if (translate_whole(device, map, rows, out)) return;
  std::vector<address::PhysPiece> pieces;
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    const VirtAddr row(rows.address + static_cast<std::uint64_t>(r * rows.stride));
    map.translate(row, Bytes(rows.row_bytes), pieces);
    for (const address::PhysPiece& piece : pieces) out.push_back(device.locate(piece.begin, piece.size));
  }
} catch (const address::MmuFault& fault) {
  throw named(fault, issuer);
}

void translate(Device& device, const address::MmuMap& map, const Rectangle& r, const Issuer& issuer,
               std::vector<DmaTransfer::Piece>& out) {
  if (r.rows == 1 || r.cols == 1 || r.row_stride == 1 || r.col_stride == 1)
    return translate(device, map, rows_of(r), issuer, out);
  for (std::int64_t row = 0; row < r.rows; ++row) {  // no axis is: element by element
    const auto begin = r.address + static_cast<std::uint64_t>(row * r.row_stride * r.itemsize);
    translate(device, map, VirtualRows{begin, r.itemsize, r.cols, r.col_stride * r.itemsize}, issuer, out);
  }
}

}  // namespace kernbench::device
