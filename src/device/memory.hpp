// Memories, and how a node reads and writes them over the fabric.
//
// Read = a request there, data back. Write = data there, an acknowledgement back; both of no bytes unless the machine file gives
// them some. Both end at the issuer. What a memory adds is its own business: `PortMemory` (SRAM, TCM) adds nothing to its port,
// which is the last link of the way; `HbmMemory` serves bursts.
#pragma once

#include <cstdint>

#include "device/fabric.hpp"
#include "kernbench/dma_model.hpp"
#include "kernbench/graph.hpp"
#include "kernbench/memory_model.hpp"

namespace kernbench::device {

class Access;
class Arrivals;

class Memory {
 public:
  Memory(Fabric& fabric, topology::NodeId node)
      : fabric_(fabric), partition_(fabric.partition_of(node)), node_(node), all_are_here_(*this) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  virtual ~Memory() = default;

  topology::NodeId node() const { return node_; }
  Fabric& fabric() { return fabric_; }

 protected:
  friend class Access;

  /// The request of a read has arrived: send the data, each packet when it is ready. Requests of one instant are served by
  /// issuer, then by traffic class, then as they were sent.
  virtual void serve_read(Access& access) = 0;
  /// The last byte of a write has arrived: when is it in the memory? `never`: that is not known yet; `Access::written` will say.
  virtual Time finish_write(Access& access) = 0;
  /// Kept by memories that look at the bytes of a write as they come.
  virtual Arrivals* arrivals() { return nullptr; }
  /// More is known of what comes, or less.
  virtual void on_news() {}

  sim::Partition& partition() { return partition_; }
  Fabric& fabric_;
  sim::Partition& partition_;
  const topology::NodeId node_;

 private:
  void request(Access& access);
  void serve_requests();

  SmallVector<Access*, 2> requests_;  // of this instant, in the order in which they will be served
  sim::MemberEvent<&Memory::serve_requests> all_are_here_;
};

/// Which bytes of a memory a transfer touches.
using Extent = models::DmaRows;

using models::Direction;

/// The next step of an access: a base of it, like the events of a message.
class AccessStep : public sim::Event {
 protected:
  AccessStep() : Event(&fire) {}

 private:
  static void fire(sim::Event& e);
};

/// One read or write. Whoever issues it derives from it, keeps it until `on_done`, and may then use it again.
///
/// Its data are a message: followed if it is written; of what is read, only the end matters.
class alignas(64) Access : private Message, private AccessStep {
 public:
  Access() = default;
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;
  ~Access() override = default;

  /// `issuer` sends the request of a read and gets the acknowledgement of a write; `end` is where the data comes
  /// from or goes to (the issuer itself, or the TCM behind it). Writes leave by `lane`, if there is one. Called in the
  /// issuer's partition.
  void start(Memory& memory, topology::NodeId issuer, topology::NodeId end, Direction direction,
             Extent extent, Channel traffic = Channel::compute, Lane* lane = nullptr);

  /// Where bytes that were read go on to, and who is told when they are there.
  struct Onward {
    Memory* memory = nullptr;
    Extent extent;
    topology::NodeId told;
  };
  /// Reads bytes that pass the engine on their way into another memory, without a stop: the engine's request goes to
  /// `from`, the data is one message from there past the engine. From then on it is a write, which `on_left` counts from
  /// the memory it was read from. `onward` must stay until it is done.
  void start_through(Memory& from, topology::NodeId engine, Extent extent, const Onward& onward,
                     Channel traffic, std::uint32_t order);

  /// Of a write: see Message.
  using Message::tell_when_left;

  Direction direction() const { return direction_; }
  const Extent& extent() const { return extent_; }
  Memory& memory() { return *memory_; }
  Message& data() { return *this; }

  /// A read: when the request was at the memory, when the first byte left it. A write: when the last byte was
  /// at the memory, when it was in it.
  Time at_memory() const { return at_memory_; }
  Time through_memory() const {
    if (direction_ == Direction::write) return progress_.done;
    return ready.empty() ? at_memory_ : ready.front();
  }

  /// For the memory: how far a write has been served.
  struct Progress {
    std::int64_t bytes = 0;
    Time done;
  };
  Progress& progress() { return progress_; }
  /// For the memory, after `finish_write` gave no time: it is written, now or later.
  void written(Time at);
  /// It is not known when, after all: `written` will say again. It is not in the memory yet.
  void not_yet_written();
  /// Who asks, in the order of the machine.
  std::uint32_t issuer() const { return issuer_.index; }
  /// Data that is read comes in the order of the requests, also out of a memory that would send it in turns.
  bool keeps_order = false;

 protected:
  /// Of a write: whether anybody wants to know when it is in the memory. Who does not leaves `on_committed` as it is.
  void tell_when_committed(bool tell) { wants_commit_ = tell; }
  /// A read: the last byte is at `end`. A write: the acknowledgement is at the issuer.
  virtual void on_done() = 0;
  /// A write: the last byte has left `end`.
  void on_left() override {}
  /// A write: it is in the memory. Called in the memory's partition.
  virtual void on_committed() {}

 private:
  friend class Memory;
  friend class AccessStep;

  void on_delivered() final;
  // In arrivals.cpp.
  void on_packet(std::int64_t packet, Time tail) final;
  void on_run(const Run& run) final;
  void on_run_cut(std::int64_t from, std::int64_t end) final;

  sim::Event& next_step() { return static_cast<AccessStep&>(*this); }
  void ask(Memory& memory, Extent extent, Channel traffic);
  void step();
  void serve();
  void pass_on();
  bool goes_before(const Access& other) const;
  void commit();
  bool acknowledges_ahead(Time written);
  void find_way_back();

  /// What happens next: at the memory, the request of a read comes, or data written is in it; at the issuer, the
  /// acknowledgement of a write comes.
  enum class Step : std::uint8_t { serve, commit, acknowledge };

  Memory* memory_ = nullptr;
  // The route of the request or the acknowledgement. It and the data's are kept from one use to the next, for an access is mostly
  // used again for the same memory. What goes back from the memory is found in its partition.
  SignalRoute* signal_route_ = nullptr;
  topology::NodeId issuer_, end_;
  Progress progress_;
  Extent extent_;
  const Onward* onward_ = nullptr;
  // What is needed again when the data of a read is delivered comes last, on the cache line of what its issuer adds.
  Direction direction_ = Direction::read;
  Step step_ = Step::serve;
  bool wants_commit_ = true;
  Time at_memory_;
};
static_assert(sizeof(Access) == 384);

/// A memory that is as fast as its port: SRAM and TCM.
class PortMemory final : public Memory {
 public:
  using Memory::Memory;

 private:
  void serve_read(Access& access) override {
    Message& data = access.data();
    access.keeps_order ? data.route->answers.send(fabric_, data) : fabric_.send(data);
  }
  Time finish_write(Access&) override { return partition().now(); }
};

}  // namespace kernbench::device
