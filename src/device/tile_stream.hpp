// The scheduler's tile plan: streams a composite command.
//
// For C[M, N] = A[M, K] · B[K, N] with Mt × Nt output tiles of Kt steps each: per step DMA-in of the operands
// that are references, fetch, GEMM; after the last step of an output tile its epilogue, store and, unless the output
// is a tile of the PE, DMA-out.
// `pipeline_depth` tile buffers bound what is in flight: one is taken when a step's DMA-in starts and freed
// when its fetch has ended.
#pragma once

#include <memory>
#include <vector>

#include "device/address_map.hpp"
#include "device/compute_engine.hpp"
#include "device/device.hpp"
#include "device/op_writer.hpp"
#include "device/pe_spec.hpp"
#include "device/pool.hpp"
#include "kernbench/isa.hpp"

namespace kernbench::device {

/// The parts of a PE that a stream works with.
struct StreamParts {
  Device& device;
  address::MmuMap& mmu;
  sim::Partition& partition;
  const PeSpec& spec;
  OpWriter& writer;
  DmaEngine& dma;
  topology::NodeId tcm;
  ComputeEngine& gemm;
  ComputeEngine& math;
};

/// What a stream tells and asks the PE whose parts it shares.
class StreamUser {
 public:
  virtual ~StreamUser() = default;
  /// Whether other commands may want the read channel or the units at this instant.
  virtual bool has_own_work() const = 0;
  /// The stream has taken of the units what it can at this instant.
  virtual void on_stream_fed() = 0;
  /// A transfer of the stream has left its channel.
  virtual void on_channel_left() = 0;
  /// The composite is done; `last` is the record that ended it.
  virtual void on_streamed(OpRef last) = 0;
};

class TileStream {
 public:
  TileStream(const StreamParts& parts, StreamUser& user);
  ~TileStream();

  /// A composite command of a program.
  struct Command {
    const isa::Program* program = nullptr;
    isa::CommandIndex index = 0;
    std::uint32_t origin = 0;  // of its records
    Cause cause;               // why it starts now
  };

  bool idle() const { return command_.program == nullptr; }
  void start(const Command& command);
  /// The matrix unit can take another step.
  void on_room() { feed(); }
  /// The PE's own commands for the units start when what comes at this instant has been seen to.
  void feed();
  /// A load has left the read channel, which may have been full.
  void on_channel_room(const Cause& left) {
    room_ = left;
    on_room();
  }

 private:
  class Transfer;
  class Step;
  class Epilogue;
  /// One of the three matrices.
  struct Matrix {
    bool in_memory = false;
    DType dtype = DType::f16;
    int itemsize = 0;
    // For those in memory: where the first element lies, and how far apart they are.
    std::uint64_t address = 0;
    std::int64_t row_stride = 0, col_stride = 0;
  };
  /// Where a step stands in the plan: k runs fastest, then n, then m.
  struct Tile {
    std::int64_t m, n, k;            // indices
    std::int64_t rows, depth, cols;  // extents, smaller at the edges
  };

  void begin();
  void all_have_come();
  void feed_now();
  bool feed_step();
  void start_transfer(Step& step, bool is_a);
  void issue(Transfer& transfer);
  void transfer_retired(Transfer& transfer);
  void try_compute();
  void compute(Step& step);
  void step_fetched(Step& step);
  void step_done(Step& step);
  void epilogue(Step& step, isa::EpiloguePoint point);
  bool last_epilogue(std::size_t index, isa::EpiloguePoint point) const;
  void epilogue_done(Epilogue& work);
  void output_ready(const Tile& tile, const Cause& because);
  void finish_if_done();

  Tile tile_of(std::int64_t step) const;
  Matrix matrix_of(isa::ValueId value) const;
  void fill_pieces(Transfer& transfer, const Matrix& matrix, std::int64_t row, std::int64_t col,
                   std::int64_t rows, std::int64_t cols) const;
  OpRecord record(OpKind kind, Time start) const;
  const isa::Program& program() const { return *command_.program; }
  Time now() const { return pe_.partition.now(); }
  OpRef next_serial() { return pe_.writer.next(pe_.partition.id()); }

  const StreamParts pe_;
  StreamUser& user_;
  Command command_;
  const isa::CompositeSpec* spec_ = nullptr;
  Matrix a_, b_, out_;
  std::int64_t mt_ = 0, nt_ = 0, kt_ = 0, m_ = 0, k_ = 0, n_ = 0;
  std::int64_t steps_ = 0, next_step_ = 0;
  std::int64_t outputs_left_ = 0;
  int buffers_free_ = 0;
  Cause started_, buffer_freed_, room_;
  OpRef last_out_;
  std::vector<Step*> feeding_;  // taken a buffer, not yet computed; oldest first
  Pool<Step, 4> idle_steps_;
  Pool<Transfer, 4> idle_transfers_;
  Pool<Epilogue, 4> idle_epilogues_;
  sim::MemberEvent<&TileStream::begin> begin_;
  sim::MemberEvent<&TileStream::all_have_come> all_have_come_;
};

}  // namespace kernbench::device
