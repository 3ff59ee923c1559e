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

/// A rectangle of elements; strides count elements.
struct Rectangle {
  std::uint64_t address = 0;
  std::int64_t rows = 1, cols = 1;
  std::int64_t row_stride = 0, col_stride = 1;
  int itemsize = 1;
};

/// Appends the pieces of memory behind the rows, as one PE sees them. Throws an MmuFault that names kernel, PE,
/// source line and command.
void translate(Device& device, const address::MmuMap& map, const VirtualRows& rows, const Issuer& issuer,
               std::vector<DmaTransfer::Piece>& out);
/// Likewise for a rectangle, along the axis that is contiguous, if one is.
void translate(Device& device, const address::MmuMap& map, const Rectangle& rectangle, const Issuer& issuer,
               std::vector<DmaTransfer::Piece>& out);

}  // namespace kernbench::device
