// Replay: the real numbers of a run, from its records.
//
//   MemoryStore store;
//   ReplayExecutor replay(store, facts, {.threads = 2});
//   for (records in order of (end, partition, id)) replay.append(record);
//   replay.finish();                       // now the store holds what the machine's memories would
//
// Records are taken in the total order of the op log; each has its effect at its place in it: a read delivers
// what memory holds there, a write, send or receive moves the value of the tile it was given. A send of a reference has
// read memory before its record ends: `depart` says when. Tiles are
// values: what became of the scratch or slot they lay in does not matter, and they are dropped after their
// last reader. Work is collected and done by several threads; the bits never depend on how many.
//
// A composite is computed by one blocked matrix product when its last output tile is written, unless some
// other access to its operands or its result comes in between; then it is computed tile step by tile step, as
// its records say. Both give the same bits.
//
// A read of bytes nobody wrote is a SimulationError `data.unwritten`, a receive that does not fit what was
// sent `data.message`; both name kernel, PE and source line. After an error the store's content is not
// defined.
#pragma once

#include <cstddef>
#include <memory>

#include "data/composite.hpp"
#include "data/memory_store.hpp"
#include "data/run_facts.hpp"
#include "device/op_record.hpp"

namespace kernbench::data {

struct ReplayOptions {
  int threads = 0;            // 0: one per core
  TileShape gemm_tile;        // of the machine's GEMM units
  std::size_t window = 4096;  // pieces of work that are collected before they are done
};

class ReplayExecutor {
 public:
  /// Both must outlive it. Programs must live until `finish`.
  ReplayExecutor(MemoryStore& store, RunFacts& facts, ReplayOptions options = {});
  ~ReplayExecutor();
  ReplayExecutor(const ReplayExecutor&) = delete;
  ReplayExecutor& operator=(const ReplayExecutor&) = delete;

  void append(const device::OpRecord& record);
  /// Between the records that end by then and those that end later: the send reads what memory holds now.
  void depart(const device::Departure& departure);
  /// Does all that was appended so far. More may follow.
  void finish();

 private:
  class Planner;
  std::unique_ptr<Planner> planner_;
};

}  // namespace kernbench::data
