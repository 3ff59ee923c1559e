#include "device/request.hpp"

namespace kernbench::device {

class HostTransfer::Part final : public Access {
 public:
  explicit Part(HostTransfer& transfer) : transfer_(transfer) {}

 private:
  void on_done() override {
    if (--transfer_.open_ > 0) return;
    transfer_.at_memory_ = at_memory();
    transfer_.through_memory_ = through_memory();
    transfer_.completed_ = transfer_.device_.host_partition().now();
    transfer_.on_completed();
  }
  HostTransfer& transfer_;
};

HostTransfer::HostTransfer(Device& device, Direction direction) : device_(device), direction_(direction) {}
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
  const topology::NodeId host = device_.graph().host();
  for (const DmaTransfer::Piece& piece : pieces_) {
    parts_.push_back(std::make_unique<Part>(*this));
    parts_.back()->start(*piece.memory, host, host, direction_, piece.extent);
  }
}

MmuRequest::MmuRequest(Device& device, int at_sip, int cubes, int pes) : device_(device) {
  sip = at_sip;
  part = topology::NodeKind::pe_mmu;
  for (int cube = 0; cube < cubes; ++cube)
    for (int pe = 0; pe < pes; ++pe) targets.push_back({at_sip, cube, pe});
}

void MmuRequest::at_pe(PeTask& task) {
  apply(device_.mmu(task.pe));
  device_.control().complete(task);
}

}  // namespace kernbench::device
