// The matrix unit or the vector unit with its fetch and store stages.
//
// Work passes three stages in order: fetch (operand bytes at the TCM's read bandwidth), compute, store
// (result bytes at its write bandwidth). The stages work on different pieces of work at once; each holds its
// piece until the next stage can take it.
#pragma once

#include "device/fabric.hpp"
#include "device/op_record.hpp"
#include "kernbench/compute_model.hpp"

namespace kernbench::device {

class ComputeEngine;

class Work {
 public:
  virtual ~Work() = default;

  Bytes fetch, store;  // 0: the stage is passed at once
  Time compute;
  OpRef self;  // the record it will be
  void move(const models::Moved& bytes) {
    fetch = bytes.fetch;
    store = bytes.store;
  }

  // Filled in by the engine.
  Time started, fetched, computed;

  /// Cuts its record's length into phases: the unit at work on what was before it, fetch, compute, store.
  void fill_phases(OpRecord& record) const;

 protected:
  friend class ComputeEngine;
  virtual void on_started() {}  // its fetch begins
  virtual void on_fetched() {}  // its operands are in registers
  virtual void on_done() = 0;

 private:
  Time fetch_alone_;  // how long its fetch takes if nobody holds it up
  Time unit_wait_;    // from `started`: how much of the wait for the unit is the unit's own
  Time unit_taken_;
  Work* next_ = nullptr;  // behind it, waiting
};

/// Told when the fetch stage is free, and which work has left it.
class RoomListener {
 public:
  virtual ~RoomListener() = default;
  virtual void on_room(ComputeEngine& engine, const Work& left) = 0;
};

class ComputeEngine {
 public:
  struct Ports {
    const Route* read;  // begins with the TCM's read port
    Port* write;        // the TCM's write port
    Bandwidth read_bw, write_bw;
    int rank;  // of two engines that ask for a port at one instant, the smaller goes first
  };

  ComputeEngine(Fabric& fabric, sim::Partition& partition, const Ports& ports, RoomListener& listener)
      : fabric_(fabric),
        listener_(listener),
        partition_(partition),
        ports_(ports),
        turn_(ports.read_bw.time_for(fabric.packet_bytes())),
        fetch_end_(*this),
        compute_end_(*this),
        store_end_(*this) {}

  /// Hands over work whose operands are ready. It is done in order.
  void push(Work& work);
  /// Whether work handed over now would start at once.
  bool has_room() const { return !first_ && !fetching_; }
  /// When the fetch stage was last left, and by which record.
  Time room_since() const { return room_since_; }
  OpRef left_by() const { return left_by_; }

 private:
  void start_fetch();
  void end_fetch();
  void start_compute();
  Time unit_wait(const Work& work) const;
  void end_compute();
  void start_store();
  void end_store();

  Fabric& fabric_;
  RoomListener& listener_;
  sim::Partition& partition_;
  const Ports ports_;
  const Time turn_;        // at the read port
  Work* first_ = nullptr;  // waiting
  Work* last_ = nullptr;
  Work* fetching_ = nullptr;
  Work* computing_ = nullptr;
  Work* storing_ = nullptr;
  bool fetch_over_ = false;
  bool compute_over_ = false;
  Time room_since_;
  OpRef left_by_;
  Time unit_busy_until_;
  sim::MemberEvent<&ComputeEngine::end_fetch> fetch_end_;
  sim::MemberEvent<&ComputeEngine::end_compute> compute_end_;
  sim::MemberEvent<&ComputeEngine::end_store> store_end_;
};

}  // namespace kernbench::device
