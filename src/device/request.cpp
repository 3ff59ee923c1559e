#include "device/request.hpp"

namespace kernbench::device {

class HostTransfer::Part final : public Access {
 public:
  explicit Part(HostTransfer& transfer) : transfer_(transfer) {
    tell_when_left(false);
    tell_when_committed(false);
  }

 private:
  void on_done() override { transfer_.part_done(*this); }
  HostTransfer& transfer_;
};

HostTransfer::HostTransfer(Device& device, Direction direction)
    : device_(device), direction_(direction), submit_over_(*this), complete_over_(*this) {}
HostTransfer::~HostTransfer() = default;

void HostTransfer::add_rows(address::PhysAddr address, std::int64_t row_bytes, std::int64_t rows,
                            std::int64_t stride) {
  DmaTransfer::Piece piece = device_.locate(address, Bytes((rows - 1) * stride + row_bytes));
  piece.extent.row_bytes = row_bytes;
  piece.extent.rows = rows;
  piece.extent.stride = stride;
  pieces_.push_back(piece);
}

void HostTransfer::submit() {
  submitted_ = device_.host_partition().now();
  completed_ = Time::never();
  open_ = pieces_.size();
  const Time submit = device_.machine().at("system.host").time("submit_ns");
  submit == Time() ? leave() : device_.host_partition().schedule(submit_over_, submit);
}

void HostTransfer::leave() {
  const topology::NodeId host = device_.graph().host();
  for (const DmaTransfer::Piece& piece : pieces_) {
    parts_.push_back(std::make_unique<Part>(*this));
    parts_.back()->start(*piece.memory, host, host, direction_, piece.extent);
  }
}

void HostTransfer::part_done(const Part& part) {
  if (--open_ > 0) return;
  at_memory_ = part.at_memory();
  through_memory_ = part.through_memory();
  const Time rest = device_.machine().at("system.host").time("complete_ns");
  rest == Time() ? complete() : device_.host_partition().schedule(complete_over_, rest);
}

void HostTransfer::complete() {
  completed_ = device_.host_partition().now();
  on_completed();
}

MmuRequest::MmuRequest(Device& device, int at_sip, int cubes, int pes) : device_(device) {
  sip = at_sip;
  part = topology::NodeKind::pe_mmu;
  targets.reserve(static_cast<std::size_t>(cubes) * static_cast<std::size_t>(pes));
  for (int cube = 0; cube < cubes; ++cube)
    for (int pe = 0; pe < pes; ++pe) targets.push_back({at_sip, cube, pe});
}

void MmuRequest::at_pe(PeTask& task) {
  apply(device_.mmu(task.pe));
  device_.control().complete(task);
}

}  // namespace kernbench::device
