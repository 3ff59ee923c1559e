#include "device/address_map.hpp"

#include <fmt/format.h>

#include "device/device.hpp"
#include "kernbench/isa.hpp"

namespace kernbench::device {

VirtualRows rows_of(std::uint64_t address, std::int64_t rows, std::int64_t cols, std::int64_t row_stride,
                    std::int64_t col_stride, int itemsize) {
  const std::int64_t size = itemsize;
  if (cols == 1 || col_stride == 1) {
    if (rows == 1 || row_stride == cols) return {address, rows * cols * size, 1, 0};
    return {address, cols * size, rows, row_stride * size};
  }
  return {address, rows * size, cols, col_stride * size};  // stored column by column
}

namespace {

using address::VirtAddr;

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
           .where = fmt::format("kernel '{}' on {}, {}", program.kernel(), to_string(fault.pe()),
                                isa::to_string(program.line(command))),
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

}  // namespace kernbench::device
