#include "device/address_map.hpp"

#include "device/device.hpp"

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

}  // namespace

void translate(Device& device, const address::MmuMap& map, const VirtualRows& rows,
               address::SourceLine source, std::vector<DmaTransfer::Piece>& out) {
  if (translate_whole(device, map, rows, out)) return;
  std::vector<address::PhysPiece> pieces;
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    const VirtAddr row(rows.address + static_cast<std::uint64_t>(r * rows.stride));
    map.translate(row, Bytes(rows.row_bytes), pieces, source);
    for (const address::PhysPiece& piece : pieces) out.push_back(device.locate(piece.begin, piece.size));
  }
}

}  // namespace kernbench::device
