#include "device/pe_op.hpp"

#include <algorithm>

#include "device/address_map.hpp"

namespace kernbench::device {

void append_row(std::uint64_t address, std::int64_t bytes, std::vector<VirtualRows>& rows) {
  if (!rows.empty()) {
    VirtualRows& last = rows.back();
    const auto step = static_cast<std::int64_t>(address - last.address) - (last.rows - 1) * last.stride;
    const bool continues = last.row_bytes == bytes && step >= 0 && (last.rows == 1 || step == last.stride);
    if (continues) {
      last.stride = step;
      ++last.rows;
      return;
    }
  }
  rows.push_back({address, bytes, 1, 0});
}

namespace {

/// Lanes with places of their own, from the lowest address to the highest. Those that follow each other in memory are one
/// request, whatever their order in the tile. (Runs of an atomic stay apart: each is a request of its own.)
void sort_rows(std::vector<VirtualRows>& rows) {
  std::ranges::stable_sort(rows, {}, &VirtualRows::address);
  std::size_t kept = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    VirtualRows& last = rows[kept];
    if (last.address + static_cast<std::uint64_t>(last.row_bytes) == rows[i].address)
      last.row_bytes += rows[i].row_bytes;
    else
      rows[++kept] = rows[i];
  }
  rows.resize(std::min(rows.size(), kept + 1));
}

/// The rows a dma command touches, piece by piece of its lanes. Whole rows of a two-dimensional pattern stay
/// together; runs of scattered lanes are each a row of its own.
void find_rows(const isa::Program& program, const isa::Command& command, std::vector<VirtualRows>& rows) {
  rows.clear();
  if (command.kind == isa::CommandKind::load_scalar)
    return rows.push_back({program.address(command), itemsize(program.scalar_dtype(command)), 1, 0});
  const int size = itemsize(program.value(program.moved(command)).dtype);
  const bool scattered = !program.run_addresses(command).empty();
  isa::for_each_segment(program, command, [&](const isa::Segment& s) {
    const std::int64_t bytes = s.elements * size;
    scattered ? rows.push_back({s.address, bytes, 1, 0}) : append_row(s.address, bytes, rows);
  });
  if (scattered && command.kind != isa::CommandKind::atomic) sort_rows(rows);
}

}  // namespace

void Pe::DmaOp::start() {
  const isa::Program& program = pe_.program();
  const isa::Command& c = command();
  direction = c.kind == isa::CommandKind::dma_write ? Direction::write : Direction::read;
  end = pe_.tcm_;
  pieces.clear();
  find_rows(program, c, rows_);
  for (const VirtualRows& rows : rows_) translate(pe_.device_, pe_.mmu_, rows, pe_.issuer_of(index_), pieces);
  if (pieces.empty()) {  // every lane is off
    direction = kind == isa::CommandKind::atomic ? Direction::write : direction;
    return on_retired();
  }
  pe_.dma_.issue(*this);
}

OpKind Pe::DmaOp::record_kind() const {
  if (kind == isa::CommandKind::load_scalar) return OpKind::load_scalar;
  return direction == Direction::read ? OpKind::dma_read : OpKind::dma_write;
}

/// The second half of an atomic: what was read, combined with the tile, goes back.
void Pe::DmaOp::write_back() {
  const Time now = pe_.partition_.now();
  cause = Cause::at(ref, now, Reason::operand);
  ref = pe_.next_serial();
  taken = now;
  direction = Direction::write;
  pe_.stream_.on_channel_room(Cause::at(cause.ref, now, Reason::engine));
  pe_.dma_.issue(*this);
}

void Pe::DmaOp::on_retired() {
  OpRecord record = pe_.record_of(*this, record_kind());
  for (const Piece& piece : pieces) record.amount += static_cast<std::uint64_t>(piece.extent.bytes().count());
  if (!pieces.empty()) {
    record.phase[0] = packed_phase(at_memory - taken);
    record.phase[1] = packed_phase(through_memory - at_memory);
    record.phase[kHeldPhase] = packed_phase(held);
  }
  pe_.writer_.write(ref, cause, record);
  if (kind == isa::CommandKind::atomic && direction == Direction::read) return write_back();
  pe_.retire(*this);
}

void Pe::ComputeOp::start() {
  const isa::Program& program = pe_.program();
  self = ref;
  fetch = 0_B;
  for (const isa::ValueId id : program.reads(command()))
    if (program.value(id).kind != isa::ValueKind::scalar) fetch += program.distinct_bytes(id);
  store = program.bytes(command().result);
  const bool is_gemm = command().kind == isa::CommandKind::gemm;
  is_gemm ? plan_gemm() : plan_math();
  (is_gemm ? pe_.gemm_ : pe_.math_).push(*this);
}

void Pe::ComputeOp::plan_gemm() {
  const isa::Program& program = pe_.program();
  const isa::GemmSize size = program.gemm_size(command());
  const auto dtype = [&](isa::ValueId id) { return program.value(id).dtype; };
  const models::Product product{.m = size.m,
                                .k = size.k,
                                .n = size.n,
                                .a = dtype(program.reads(command())[0]),
                                .b = dtype(program.reads(command())[1]),
                                .out = dtype(command().result)};
  compute = pe_.spec_.time_of(product) * size.batches;
  move(pe_.spec_.matrix->moved(product, {fetch, store}));
  amount_ = static_cast<std::uint64_t>(size.macs());
}

/// The lanes of the vector unit are as wide as the widest of operands and result.
void Pe::ComputeOp::plan_math() {
  const isa::Program& program = pe_.program();
  const auto reads = program.reads(command());
  const std::int64_t elements = program.math_elements(command());
  DType widest = program.value(command().result).dtype;
  for (const isa::ValueId id : reads)
    if (itemsize(program.value(id).dtype) > itemsize(widest)) widest = program.value(id).dtype;
  const models::VectorWork work{command().op, elements, widest};
  compute = pe_.spec_.time_of(work);
  move(pe_.spec_.vector->moved(work, {fetch, store}));
  amount_ = static_cast<std::uint64_t>(elements);
}

void Pe::ComputeOp::on_done() {
  OpRecord record =
      pe_.record_of(*this, command().kind == isa::CommandKind::gemm ? OpKind::gemm : OpKind::math);
  record.amount = amount_;
  fill_phases(record);
  pe_.writer_.write(ref, cause, record);
  pe_.retire(*this);
}

void Pe::CompositeOp::start() {
  pe_.streamed_ = this;
  pe_.stream_.start({&pe_.program(), index(), pe_.origin_, cause});
}

void Pe::DmaOp::recycle() { pe_.dma_ops_.give_back(*this); }
void Pe::ComputeOp::recycle() { pe_.compute_ops_.give_back(*this); }
void Pe::CompositeOp::recycle() { pe_.composite_ops_.give_back(*this); }

}  // namespace kernbench::device
