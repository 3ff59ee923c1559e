// From the virtual bytes of a command to the memories that hold them.
#pragma once

#include <vector>

#include "address/mmu_map.hpp"
#include "device/dma_engine.hpp"
#include "kernbench/program.hpp"

namespace kernbench::device {

class Device;

/// Rows of bytes at virtual addresses.
struct VirtualRows {
  std::uint64_t address = 0;
  std::int64_t row_bytes = 0;
  std::int64_t rows = 1;
  std::int64_t stride = 0;  // bytes
};

/// The command whose bytes are looked for, for messages.
struct Issuer {
  const isa::Program* program = nullptr;
  isa::CommandIndex command = 0;
};

/// A rectangle of elements, strides in elements, as rows: along the axis that is contiguous, if one is.
VirtualRows rows_of(std::uint64_t address, std::int64_t rows, std::int64_t cols, std::int64_t row_stride,
                    std::int64_t col_stride, int itemsize);

/// Appends the pieces of memory behind the rows, as one PE sees them. Throws an MmuFault that names kernel, PE,
/// source line and command.
void translate(Device& device, const address::MmuMap& map, const VirtualRows& rows, const Issuer& issuer,
               std::vector<DmaTransfer::Piece>& out);

}  // namespace kernbench::device
