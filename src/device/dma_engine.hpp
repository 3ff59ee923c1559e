// The DMA engine of a PE: a read and a write channel, each in order, several transfers in flight; and the same
// again for what queues move, so that it waits for nobody's loads and stores.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "device/memory.hpp"
#include "device/pool.hpp"
#include "kernbench/dma_model.hpp"

namespace kernbench::device {

struct DmaSpec {
  Time overhead;        // of a command; one after the other
  Time look_up;         // of its address, before its first request; of any number at once
  int outstanding = 8;  // transfers in flight, per channel
  static DmaSpec of(const topology::Machine& machine);
  /// For transfers between physical addresses: without the MMU's look-up.
  static DmaSpec physical(const topology::Machine& machine);
};

/// A transfer between a PE's TCM and memories anywhere. Whoever issues it derives from it, fills it in, and
/// keeps it until it retires.
class DmaTransfer {
 public:
  struct Piece {
    Memory* memory;
    Extent extent;
  };

  virtual ~DmaTransfer() = default;

  Direction direction = Direction::read;
  Channel channel = Channel::compute;
  topology::NodeId end;       // where the data lies or goes in the PE: its TCM; or the engine itself
  std::vector<Piece> pieces;  // in order, at least one

  /// Those of the request that was done last; see Access.
  Time at_memory, through_memory;
  /// How long that request was held back: the engine had enough in flight.
  Time held;

 protected:
  friend class DmaChannel;
  /// It and all transfers of its channel before it are done.
  virtual void on_retired() = 0;

 private:
  DmaTransfer* next_ = nullptr;  // of its channel
  Time looked_up_;               // when its address is known
  std::uint32_t pieces_open_ = 0;
};

/// One direction of an engine.
class alignas(64) DmaChannel {
 public:
  DmaChannel(Fabric& fabric, topology::NodeId node, const DmaSpec& spec, const models::DmaModel& model);
  DmaChannel(const DmaChannel&) = delete;
  DmaChannel& operator=(const DmaChannel&) = delete;
  ~DmaChannel();

  void issue(DmaTransfer& transfer);
  /// Whether a transfer issued now would start at once.
  bool has_room() const { return open_ < spec_.outstanding; }

 private:
  class PieceAccess;

  void start_next();
  void begin_look_up();
  void end_look_ups();
  void start_pieces();
  void split(DmaTransfer& transfer);
  void request_more();
  void request(DmaTransfer& transfer, const DmaTransfer::Piece& piece, Time held);
  void piece_done(DmaTransfer& transfer);
  void retire();

  Fabric& fabric_;
  sim::Partition& partition_;
  const topology::NodeId node_;
  const DmaSpec spec_;
  const models::DmaModel& model_;
  const bool whole_;  // the model neither splits nor holds back
  // Transfers that have not retired are a list.
  DmaTransfer* oldest_ = nullptr;
  DmaTransfer* newest_ = nullptr;
  DmaTransfer* next_look_up_ = nullptr;  // the oldest whose overhead is not over
  DmaTransfer* next_start_ = nullptr;    // the oldest whose requests have not gone out
  int open_ = 0;                         // all of them
  int accepted_ = 0;                     // of these, from the oldest on: those in flight,
  int starting_ = 0;                     // of these, within or before their overhead,
  int looking_up_ = 0;                   // or within their look-up
  int done_early_ = 0;                   // waiting for an older one to retire
  sim::MemberEvent<&DmaChannel::begin_look_up> overhead_over_;
  sim::MemberEvent<&DmaChannel::end_look_ups> look_up_over_;
  Lane lane_;  // data of writes leaves in order
  // Where the model has a say: requests that have not gone out, and what is open of those that have.
  struct Waiting {
    DmaTransfer* transfer;
    DmaTransfer::Piece piece;
    Time since;
  };
  std::deque<Waiting> waiting_;
  models::DmaLoad load_;
  std::vector<models::DmaRows> rows_;
  Pool<PieceAccess, 2> accesses_;
};

class DmaEngine {
 public:
  DmaEngine(Fabric& fabric, topology::NodeId node, const topology::Machine& machine,
            const models::DmaModel& model)
      : partition_(fabric.partition_of(node)),
        node_(node),
        send_overhead_(DmaSpec::physical(machine).overhead),
        look_up_(DmaSpec::of(machine).look_up),
        read_(fabric, node, DmaSpec::of(machine), model),
        write_(fabric, node, DmaSpec::of(machine), model),
        queue_read_(fabric, node, DmaSpec::physical(machine), model),
        queue_write_(fabric, node, DmaSpec::of(machine), model),
        all_have_asked_(*this) {}

  topology::NodeId node() const { return node_; }
  /// The channel of loads and stores.
  DmaChannel& channel(Direction direction) { return direction == Direction::read ? read_ : write_; }
  void issue(DmaTransfer& transfer) {
    const bool read = transfer.direction == Direction::read;
    const bool queue = transfer.channel == Channel::queue;
    (queue ? (read ? queue_read_ : queue_write_) : (read ? read_ : write_)).issue(transfer);
  }
  /// A send that is there at `at` passes the engine, one after the other; of those who ask at one instant, the one with the
  /// smaller rank is the first. `go` is fired when its data may leave; if that is now, it is not, and true is returned.
  bool accept_send(Time at, std::uint32_t rank, sim::Event& go);
  /// The MMU's, which a send of what lies at a virtual address waits for.
  Time look_up() const { return look_up_; }

 private:
  struct AskedSend {
    std::uint32_t rank;
    Time at;
    sim::Event* go;
  };

  void take_sends();

  sim::Partition& partition_;
  topology::NodeId node_;
  const Time send_overhead_, look_up_;
  std::vector<AskedSend> asked_;  // sends that ask at this instant, by rank
  Time sends_free_at_;            // those before them have passed
  DmaChannel read_, write_;
  DmaChannel queue_read_, queue_write_;  // out of slots in HBM and SRAM; to where a receive wants its tile
  sim::MemberEvent<&DmaEngine::take_sends> all_have_asked_;
};

}  // namespace kernbench::device
