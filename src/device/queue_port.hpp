// A direction of a PE at work: it sends into its peer's ring and receives from its own.
//
// Counters are those of the hardware: `my_head` messages sent, `peer_tail_cache` of them known to be consumed;
// `peer_head_cache` messages announced, `my_tail` of them received. They stay over launches.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "device/dma_engine.hpp"
#include "device/installed_wiring.hpp"
#include "device/memory.hpp"
#include "device/op_writer.hpp"
#include "device/pool.hpp"
#include "kernbench/program.hpp"

namespace kernbench::device {

class PeIpcq;
struct QueuePort;

/// A send as its message carries it to where it ends.
struct SendFacts {
  OpRef ref;
  Cause cause;
  Time taken;
  const isa::Program* program = nullptr;
  isa::CommandIndex command = 0;
  std::uint32_t origin = 0;
  Bytes bytes;
};

/// Told when the last byte has left.
class LeavingSend {
 public:
  virtual ~LeavingSend() = default;
  std::vector<DmaTransfer::Piece> pieces;  // where a reference lies; empty: a tile
  virtual void on_left() = 0;
};

class SendSide {
 public:
  SendSide(PeIpcq& ipcq, QueuePort& port);
  ~SendSide();

  /// Whether a message may go now. To be asked when its tile is ready: that is the first look of `poll`.
  bool may_go();
  /// When and by whom the next message's slot was freed.
  Cause credit() const;
  void send(const SendFacts& facts, LeavingSend& op);
  /// A credit has arrived.
  void on_credit(const Cause& freed);

  bool has_credit() const { return my_head_ - peer_tail_cache_ < slots(); }
  /// Without credit, it looks for one again and again.
  bool polls() const { return first_look_ != Time::never(); }
  std::uint32_t my_head() const { return my_head_; }
  std::uint32_t peer_tail_cache() const { return peer_tail_cache_; }
  std::uint32_t slots() const { return static_cast<std::uint32_t>(freed_.size()); }
  /// All that was sent has been consumed.
  bool at_rest() const { return my_head_ == peer_tail_cache_ && !polls(); }
  /// As if it had sent so many more, at rest.
  void add(std::uint32_t messages) { my_head_ += messages, peer_tail_cache_ += messages; }

 private:
  class Parcel;

  void look();

  PeIpcq& ipcq_;
  QueuePort& port_;
  const InstalledWiring::End& plan_;
  const QueueRules& rules_;
  std::uint32_t my_head_ = 0;
  std::uint32_t peer_tail_cache_ = 0;
  Lane lane_;                    // messages leave in order
  std::vector<Cause> freed_;     // per slot
  std::vector<Parcel*> abroad_;  // per slot: the one that carried its message to another partition
  Pool<Parcel, 1> parcels_;      // made when needed: as many as were ever under way at once
  Time first_look_ = Time::never();
  Time next_look_ = Time::never();  // the first that will find a credit
  sim::MemberEvent<&SendSide::look> look_;
};

class ReceiveSide {
 public:
  ReceiveSide(PeIpcq& ipcq, const QueuePort& port);
  ~ReceiveSide();

  struct Slot {
    bool arrived = false;   // announced, maybe not yet in its turn
    bool consumed = false;  // nobody needs it any more; its credit may wait for those before it
    Time announced;         // when it took effect
    Cause cause;            // the send
    Bytes bytes;
    const isa::Program* sender = nullptr;
    isa::CommandIndex command = 0;
  };

  /// The next message nobody has claimed becomes the caller's; it may still be to come.
  std::uint32_t claim() { return claimed_++; }
  bool has_unclaimed() const { return claimed_ < peer_head_cache_; }
  Time oldest_unclaimed() const { return slot(claimed_).announced; }

  bool has(std::uint32_t number) const { return number < peer_head_cache_; }
  const Slot& slot(std::uint32_t number) const { return slots_[number % slots_.size()]; }
  void receive() { ++my_tail_; }
  /// The slot is free. Credits go out in the order of slots.
  void consume(std::uint32_t number, const Cause& because);

  /// The message in a slot of the ring is announced; true if it took effect.
  bool announce(std::uint32_t slot, const SendFacts& facts, Time committed);

  std::uint32_t peer_head_cache() const { return peer_head_cache_; }
  std::uint32_t my_tail() const { return my_tail_; }
  /// All that came has been consumed.
  bool at_rest() const {
    return peer_head_cache_ == my_tail_ && claimed_ == my_tail_ && credits_sent_ == my_tail_;
  }
  /// As if so many more had come, at rest.
  void add(std::uint32_t messages) {
    for (std::uint32_t* counter : {&peer_head_cache_, &claimed_, &my_tail_, &credits_sent_})
      *counter += messages;
  }

 private:
  class Credit;

  void send_credit(const Cause& because);

  PeIpcq& ipcq_;
  const InstalledWiring::End& plan_;
  const QueueRules& rules_;
  std::uint32_t peer_head_cache_ = 0;
  std::uint32_t claimed_ = 0;
  std::uint32_t my_tail_ = 0;
  std::uint32_t credits_sent_ = 0;
  std::vector<Slot> slots_;
  std::vector<Credit*> abroad_;  // per slot: the one that went to another partition to return it
  Pool<Credit, 1> credits_;      // made when needed: as many as were ever under way at once
};

struct QueuePort {
  QueuePort(PeIpcq& ipcq, const WiringPtr& of, std::span<const InstalledWiring::End> ends, int number)
      : wiring(of),
        plan(ends[static_cast<std::size_t>(number)]),
        index(number),
        sends(ipcq, *this),
        receives(ipcq, *this) {}
  QueuePort(const QueuePort&) = delete;
  QueuePort& operator=(const QueuePort&) = delete;

  const WiringPtr wiring;
  const InstalledWiring::End& plan;
  int index;  // among the directions of the program that runs
  SendSide sends;
  ReceiveSide receives;
};

}  // namespace kernbench::device
