#include "device/dma_engine.hpp"

#include <algorithm>
#include <utility>

#include "device/instant.hpp"
#include "kernbench/error.hpp"

namespace kernbench::device {

DmaSpec DmaSpec::of(const topology::Machine& machine) {
  const ParamSet& dma = machine.at("pe.pe_dma");
  return {dma.time("overhead_ns"), machine.at("pe.pe_mmu").time("overhead_ns"),
          static_cast<int>(dma.integer("outstanding"))};
}

DmaSpec DmaSpec::physical(const topology::Machine& machine) {
  DmaSpec spec = of(machine);
  spec.look_up = Time();
  return spec;
}

class DmaChannel::PieceAccess final : public Access {
 public:
  explicit PieceAccess(DmaChannel& of) : channel_(of) {
    keeps_order = !of.whole_;
    tell_when_left(false);
    tell_when_committed(false);
  }
  DmaTransfer* transfer = nullptr;
  Time held;
  PieceAccess* next = nullptr;  // idle

 private:
  void on_done() override {
    DmaTransfer& done = *transfer;
    done.at_memory = at_memory();
    done.through_memory = through_memory();
    done.held = held;
    if (!channel_.whole_) {
      --channel_.load_.requests;
      channel_.load_.bytes -= extent().bytes();
    }
    channel_.accesses_.give_back(*this);
    channel_.piece_done(done);
  }
  DmaChannel& channel_;
};

DmaChannel::DmaChannel(Fabric& fabric, topology::NodeId node, const DmaSpec& spec,
                       const models::DmaModel& model)
    : fabric_(fabric),
      partition_(fabric.partition_of(node)),
      node_(node),
      spec_(spec),
      model_(model),
      whole_(model.whole()),
      overhead_over_(*this),
      look_up_over_(*this) {}

DmaChannel::~DmaChannel() = default;

void DmaChannel::issue(DmaTransfer& transfer) {
  KB_ASSERT(!transfer.pieces.empty(), "{} was given a transfer of nothing", fabric_.graph().path(node_));
  transfer.pieces_open_ = static_cast<std::uint32_t>(transfer.pieces.size());
  transfer.next_ = nullptr;
  (oldest_ ? newest_->next_ : oldest_) = &transfer;
  newest_ = &transfer;
  if (!next_start_) next_start_ = &transfer;
  if (!next_look_up_) next_look_up_ = &transfer;
  ++open_;
  start_next();
}

void DmaChannel::start_next() {
  while (accepted_ < spec_.outstanding && accepted_ < open_) {
    ++accepted_;
    ++starting_;
    if (spec_.overhead == Time()) {
      begin_look_up();
    } else if (!overhead_over_.scheduled()) {
      partition_.schedule(overhead_over_, spec_.overhead);
    }
  }
}

/// The oldest command has had its overhead: its address is looked up. The next one's overhead begins.
void DmaChannel::begin_look_up() {
  DmaTransfer& transfer = *next_look_up_;
  next_look_up_ = transfer.next_;
  if (--starting_ > 0) partition_.schedule(overhead_over_, spec_.overhead);
  if (spec_.look_up == Time()) return start_pieces();
  transfer.looked_up_ = partition_.now() + spec_.look_up;
  if (++looking_up_ == 1) partition_.schedule_at(look_up_over_, transfer.looked_up_);
}

/// Look-ups take equally long and overlap: they end in the order in which they began.
void DmaChannel::end_look_ups() {
  while (looking_up_ > 0 && next_start_->looked_up_ == partition_.now()) {
    --looking_up_;
    start_pieces();
  }
  if (looking_up_ > 0) partition_.schedule_at(look_up_over_, next_start_->looked_up_);
}

/// The oldest command's requests go out.
void DmaChannel::start_pieces() {
  DmaTransfer& transfer = *next_start_;
  next_start_ = transfer.next_;
  if (!whole_) return split(transfer);
  for (const DmaTransfer::Piece& piece : transfer.pieces) request(transfer, piece, Time());
}

void DmaChannel::request(DmaTransfer& transfer, const DmaTransfer::Piece& piece, Time held) {
  PieceAccess& access = accesses_.take(*this);
  access.transfer = &transfer;
  access.held = held;
  // Within the TCM the bytes pass the engine: out by the one port, in by the other at the same rate.
  const auto end = piece.memory->node() == transfer.end ? node_ : transfer.end;
  access.start(*piece.memory, node_, end, transfer.direction, piece.extent, transfer.channel, &lane_);
}

/// The model cuts every piece into requests; each goes out when the model allows it.
void DmaChannel::split(DmaTransfer& transfer) {
  const std::size_t before = waiting_.size();
  for (const DmaTransfer::Piece& piece : transfer.pieces) {
    rows_.clear();
    model_.split(piece.extent, rows_);
    Bytes all;
    for (const models::DmaRows& rows : rows_) {
      all += rows.bytes();
      waiting_.push_back({&transfer, {piece.memory, rows}, partition_.now()});
    }
    KB_ASSERT(all == piece.extent.bytes(), "the DMA model of {} made {} bytes of {}",
              fabric_.graph().path(node_), all.count(), piece.extent.bytes().count());
  }
  transfer.pieces_open_ = static_cast<std::uint32_t>(waiting_.size() - before);
  request_more();
}

void DmaChannel::request_more() {
  while (!waiting_.empty()) {
    const Waiting next = waiting_.front();
    const Bytes bytes = next.piece.extent.bytes();
    load_.transfers = accepted_;
    if (!model_.may_request(load_, bytes)) {
      KB_ASSERT(load_.requests > 0,
                "the DMA model of {} holds back a request of {} bytes with nothing in flight",
                fabric_.graph().path(node_), bytes.count());
      return;
    }
    waiting_.pop_front();
    ++load_.requests;
    load_.bytes += bytes;
    request(*next.transfer, next.piece, partition_.now() - next.since);
  }
}

/// Transfers retire in order, even if a later one is done first.
void DmaChannel::piece_done(DmaTransfer& transfer) {
  if (--transfer.pieces_open_ == 0) {
    ++done_early_;
    if (&transfer == oldest_) retire();
  }
  start_next();
  if (!whole_) request_more();
}

/// The oldest is done.
void DmaChannel::retire() {
  do {
    DmaTransfer& transfer = *std::exchange(oldest_, oldest_->next_);
    --open_;
    --accepted_;
    --done_early_;
    transfer.on_retired();
  } while (done_early_ > 0 && oldest_->pieces_open_ == 0);
}

bool DmaEngine::accept_send(Time at, std::uint32_t rank, sim::Event& go) {
  const Time now = partition_.now();
  if (send_overhead_ == Time()) {  // nobody waits
    if (at > now) partition_.schedule_at(go, at);
    return at == now;
  }
  const auto smaller = [](std::uint32_t r, const AskedSend& send) { return r < send.rank; };
  asked_.insert(std::upper_bound(asked_.begin(), asked_.end(), rank, smaller), {rank, at, &go});
  if (!all_have_asked_.scheduled())
    partition_.choose(all_have_asked_, choice_rank(Chooser::sends, node_.index));
  return false;
}

void DmaEngine::take_sends() {
  for (const AskedSend& send : asked_) {
    sends_free_at_ = std::max(sends_free_at_, send.at) + send_overhead_;
    partition_.schedule_at(*send.go, sends_free_at_);
  }
  asked_.clear();
}

}  // namespace kernbench::device
