#include "device/dma_engine.hpp"

#include "kernbench/error.hpp"

namespace kernbench::device {

DmaSpec DmaSpec::of(const topology::Machine& machine) {
  const ParamSet& dma = machine.at("pe.pe_dma");
  return {dma.time("overhead_ns") + machine.at("pe.pe_mmu").time("overhead_ns"),
          static_cast<int>(dma.integer("outstanding"))};
}

DmaSpec DmaSpec::physical(const topology::Machine& machine) {
  DmaSpec spec = of(machine);
  spec.overhead = machine.at("pe.pe_dma").time("overhead_ns");
  return spec;
}

class DmaChannel::PieceAccess final : public Access {
 public:
  explicit PieceAccess(DmaChannel& channel) : channel_(channel) {}
  DmaTransfer* transfer = nullptr;

 private:
  void on_left() override { channel_.piece_left(*transfer); }
  void on_done() override {
    transfer->at_memory = at_memory();
    transfer->through_memory = through_memory();
    channel_.idle_.push_back(this);
    channel_.piece_done(*transfer);
  }
  DmaChannel& channel_;
};

DmaChannel::DmaChannel(Fabric& fabric, topology::NodeId node, const DmaSpec& spec)
    : fabric_(fabric),
      partition_(fabric.partition_of(node)),
      node_(node),
      spec_(spec),
      overhead_over_(*this) {}

DmaChannel::~DmaChannel() = default;

void DmaChannel::issue(DmaTransfer& transfer) {
  KB_ASSERT(!transfer.pieces.empty(), "{} was given a transfer of nothing", fabric_.graph().path(node_));
  transfer.pieces_open_ = transfer.pieces_inside_ = transfer.pieces.size();
  queue_.push_back(&transfer);
  start_next();
}

void DmaChannel::start_next() {
  while (started_ < static_cast<std::size_t>(spec_.outstanding) && first_ + started_ < queue_.size()) {
    starting_.push_back(queue_[first_ + started_++]);
    if (spec_.overhead == Time()) {
      start_pieces();
    } else if (!overhead_over_.scheduled()) {
      partition_.schedule(overhead_over_, spec_.overhead);
    }
  }
}

/// The oldest command has had its overhead: its requests go out. The next one's overhead begins.
void DmaChannel::start_pieces() {
  DmaTransfer& transfer = *starting_.front();
  starting_.erase(starting_.begin());
  if (!starting_.empty()) partition_.schedule(overhead_over_, spec_.overhead);
  for (const DmaTransfer::Piece& piece : transfer.pieces) {
    PieceAccess& access = take_access();
    access.transfer = &transfer;
    access.start(*piece.memory, node_, transfer.end, transfer.direction, piece.extent, transfer.channel,
                 &lane_);
  }
}

DmaChannel::PieceAccess& DmaChannel::take_access() {
  if (idle_.empty()) {
    accesses_.push_back(std::make_unique<PieceAccess>(*this));
    return *accesses_.back();
  }
  PieceAccess& access = *idle_.back();
  idle_.pop_back();
  return access;
}

void DmaChannel::piece_left(DmaTransfer& transfer) {
  if (--transfer.pieces_inside_ == 0) transfer.on_left();
}

/// Transfers retire in order, even if a later one is done first.
void DmaChannel::piece_done(DmaTransfer& transfer) {
  --transfer.pieces_open_;
  while (started_ > 0 && queue_[first_]->pieces_open_ == 0) {
    DmaTransfer& oldest = *queue_[first_++];
    --started_;
    if (2 * first_ > queue_.size()) {
      queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
    oldest.on_retired();
  }
  start_next();
}

}  // namespace kernbench::device
