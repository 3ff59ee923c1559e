#include "device/tile_stream.hpp"

#include <algorithm>
#include <utility>

#include "device/address_map.hpp"
#include "device/instant.hpp"

namespace kernbench::device {
namespace {

constexpr DType kAccumulator = DType::f32;

/// Work that is ready starts when the one before it has left the unit's fetch stage.
void consider_room(Cause& cause, const ComputeEngine& unit) {
  if (unit.left_by()) cause.consider(Cause::at(unit.left_by(), unit.room_since(), Reason::engine));
}

}  // namespace

/// A DMA-in or DMA-out of one tile.
class TileStream::Transfer final : public DmaTransfer {
 public:
  explicit Transfer(TileStream& stream) : stream_(stream) {}
  Transfer* next = nullptr;  // idle
  OpRef self;
  Cause cause;
  Time started;
  Step* step = nullptr;  // of a DMA-in
  std::uint64_t bytes = 0;

 private:
  void on_retired() override { stream_.transfer_retired(*this); }
  TileStream& stream_;
};

/// One step of the plan: a tile of A times a tile of B.
class TileStream::Step final : public Work {
 public:
  explicit Step(TileStream& stream) : stream_(stream) {}
  Step* next = nullptr;  // idle
  std::int64_t number = 0;
  Tile tile{};
  bool holds_buffer = false;
  int transfers_to_start = 0;
  int transfers_open = 0;
  Cause operands;  // when the last of them was there
  Cause cause;

 private:
  void on_started() override { consider_room(cause, stream_.pe_.gemm); }
  void on_fetched() override { stream_.step_fetched(*this); }
  void on_done() override { stream_.step_done(*this); }
  TileStream& stream_;
};

/// An epilogue operation on one product or accumulator.
class TileStream::Epilogue final : public Work {
 public:
  explicit Epilogue(TileStream& stream) : stream_(stream) {}
  Epilogue* next = nullptr;  // idle
  Tile tile{};
  Cause cause;
  std::uint64_t elements = 0;
  bool last = false;  // the output tile is ready after it

 private:
  void on_started() override { consider_room(cause, stream_.pe_.math); }
  void on_done() override { stream_.epilogue_done(*this); }
  TileStream& stream_;
};

TileStream::TileStream(const StreamParts& parts, StreamUser& user)
    : pe_(parts), user_(user), begin_(*this), all_have_come_(*this) {}
TileStream::~TileStream() = default;

void TileStream::start(const Command& command) {
  command_ = command;
  spec_ = &program().composite(program().commands()[command.index]);
  a_ = matrix_of(spec_->a);
  b_ = matrix_of(spec_->b);
  out_ = matrix_of(spec_->out);
  m_ = program().shape(spec_->a)[0];
  k_ = program().shape(spec_->a)[1];
  n_ = program().shape(spec_->b)[1];
  mt_ = pe_.spec.tiles(m_, pe_.spec.tile.m);
  kt_ = pe_.spec.tiles(k_, pe_.spec.tile.k);
  nt_ = pe_.spec.tiles(n_, pe_.spec.tile.n);
  steps_ = mt_ * nt_ * kt_;
  outputs_left_ = mt_ * nt_;
  next_step_ = 0;
  buffers_free_ = pe_.spec.pipeline_depth;
  pe_.partition.schedule(begin_, pe_.spec.composite_overhead);
}

void TileStream::begin() {
  started_ = command_.cause;  // the scheduler's overhead is issue
  started_.reason = Reason::issue;
  started_.met = now();
  buffer_freed_ = room_ = started_;
  feed();
}

TileStream::Tile TileStream::tile_of(std::int64_t step) const {
  const PeSpec& spec = pe_.spec;
  Tile t{.m = step / kt_ / nt_, .n = step / kt_ % nt_, .k = step % kt_};
  t.rows = std::min(spec.tile.m, m_ - t.m * spec.tile.m);
  t.depth = std::min(spec.tile.k, k_ - t.k * spec.tile.k);
  t.cols = std::min(spec.tile.n, n_ - t.n * spec.tile.n);
  return t;
}

/// The channels and the units are shared with the PE's own commands. Who takes them at an instant must not depend on the order of
/// its events: loads go first, then the stream, then stores and the commands for the units.
void TileStream::feed() {
  if (idle()) return;
  if (!user_.has_own_work()) return feed_now();
  if (all_have_come_.scheduled()) return;
  pe_.partition.choose(all_have_come_, choice_rank(Chooser::stream, pe_.tcm.index));
}

void TileStream::all_have_come() {
  feed_now();
  user_.on_stream_fed();
}

/// Starts what can be started, if the scheduler is done: transfers of the newest step, then further steps.
void TileStream::feed_now() {
  while (!idle() && !begin_.scheduled() && feed_step()) {
  }
}

bool TileStream::feed_step() {
  if (!feeding_.empty() && feeding_.back()->transfers_to_start > 0) {
    Step& step = *feeding_.back();
    if (!pe_.dma.channel(Direction::read).has_room()) return false;
    const bool both = a_.in_memory && b_.in_memory;
    const int left = step.transfers_to_start--;
    start_transfer(step, both ? left == 2 : a_.in_memory);
    return true;
  }
  if (next_step_ == steps_) return false;
  const int transfers = (a_.in_memory ? 1 : 0) + (b_.in_memory ? 1 : 0);
  if (transfers > 0 ? buffers_free_ == 0 : !feeding_.empty()) return false;
  if (transfers == 0 && !pe_.gemm.has_room()) return false;
  Step& step = idle_steps_.take(*this);
  step.number = next_step_++;
  step.tile = tile_of(step.number);
  step.transfers_to_start = step.transfers_open = transfers;
  step.holds_buffer = transfers > 0;
  step.operands = started_;
  if (step.holds_buffer) --buffers_free_;
  feeding_.push_back(&step);
  try_compute();
  return true;
}

void TileStream::start_transfer(Step& step, bool is_a) {
  Transfer& transfer = idle_transfers_.take(*this);
  const Tile& t = step.tile;
  const PeSpec& spec = pe_.spec;
  transfer.step = &step;
  transfer.direction = Direction::read;
  is_a ? fill_pieces(transfer, a_, t.m * spec.tile.m, t.k * spec.tile.k, t.rows, t.depth)
       : fill_pieces(transfer, b_, t.k * spec.tile.k, t.n * spec.tile.n, t.depth, t.cols);
  transfer.cause = started_;
  transfer.cause.consider(buffer_freed_);
  transfer.cause.consider(room_);
  issue(transfer);
}

/// A tile of a matrix without rows or columns has nothing to move: it retires at once.
void TileStream::issue(Transfer& transfer) {
  transfer.self = next_serial();
  transfer.started = transfer.at_memory = transfer.through_memory = now();
  transfer.held = Time();
  transfer.end = pe_.tcm;
  transfer.pieces.empty() ? transfer_retired(transfer) : pe_.dma.issue(transfer);
}

TileStream::Matrix TileStream::matrix_of(isa::ValueId value) const {
  Matrix matrix{.in_memory = program().value(value).kind == isa::ValueKind::reference,
                .dtype = program().value(value).dtype,
                .itemsize = itemsize(program().value(value).dtype)};
  if (!matrix.in_memory) return matrix;
  const isa::Layout layout = program().layout(value);
  matrix.address = program().address(value) + static_cast<std::uint64_t>(layout.offset * matrix.itemsize);
  matrix.row_stride = layout.strides[0];
  matrix.col_stride = layout.strides[1];
  return matrix;
}

void TileStream::fill_pieces(Transfer& transfer, const Matrix& matrix, std::int64_t row, std::int64_t col,
                             std::int64_t rows, std::int64_t cols) const {
  const std::int64_t first = row * matrix.row_stride + col * matrix.col_stride;
  const std::uint64_t address = matrix.address + static_cast<std::uint64_t>(first * matrix.itemsize);
  transfer.pieces.clear();
  if (rows == 0 || cols == 0) return;
  translate(pe_.device, pe_.mmu,
            Rectangle{address, rows, cols, matrix.row_stride, matrix.col_stride, matrix.itemsize},
            {command_.program, command_.index}, transfer.pieces);
}

OpRecord TileStream::record(OpKind kind, Time start) const {
  return {.start = start, .end = now(), .origin = command_.origin, .command = command_.index, .kind = kind};
}

void TileStream::transfer_retired(Transfer& transfer) {
  const bool in = transfer.direction == Direction::read;
  OpRecord r = record(in ? OpKind::tile_dma_in : OpKind::tile_dma_out, transfer.started);
  for (const DmaTransfer::Piece& piece : transfer.pieces)
    r.amount += static_cast<std::uint64_t>(piece.extent.bytes().count());
  r.phase[0] = packed_phase(transfer.at_memory - transfer.started);
  r.phase[1] = packed_phase(transfer.through_memory - transfer.at_memory);
  r.phase[kHeldPhase] = packed_phase(transfer.held);
  pe_.writer.write(transfer.self, transfer.cause, r);
  const Cause retired = Cause::at(transfer.self, now(), in ? Reason::operand : Reason::engine);
  idle_transfers_.give_back(transfer);
  if (in) {
    room_ = Cause::at(transfer.self, now(), Reason::engine);
    transfer.step->operands.consider(retired);
    --transfer.step->transfers_open;
    try_compute();
  } else {
    last_out_ = transfer.self;
    --outputs_left_;
  }
  user_.on_channel_left();
  feed();
  finish_if_done();
}

/// Steps go to the matrix unit in order, when their operands are there.
void TileStream::try_compute() {
  while (!feeding_.empty() && feeding_.front()->transfers_open == 0) {
    Step& step = *feeding_.front();
    feeding_.erase(feeding_.begin());
    compute(step);
  }
}

void TileStream::compute(Step& step) {
  const Tile& t = step.tile;
  const bool last = t.k + 1 == kt_;
  const bool has_epilogue = spec_->step_count > 0;
  const models::Product product{t.rows, t.depth, t.cols, a_.dtype, b_.dtype, out_.dtype, step.number > 0};
  step.compute = pe_.spec.time_of(product);
  step.move(pe_.spec.matrix->moved(product,
                                   {Bytes(t.rows * t.depth * a_.itemsize + t.depth * t.cols * b_.itemsize),
                                    last && !has_epilogue ? Bytes(t.rows * t.cols * out_.itemsize) : 0_B}));
  step.self = next_serial();
  step.cause = step.operands;
  pe_.gemm.push(step);
}

void TileStream::step_fetched(Step& step) {
  if (step.holds_buffer) {
    ++buffers_free_;
    buffer_freed_ = Cause::at(step.self, now(), Reason::engine);
  }
  feed();
}

void TileStream::step_done(Step& step) {
  OpRecord r = record(OpKind::tile_gemm, step.started);
  r.amount = static_cast<std::uint64_t>(step.tile.rows * step.tile.depth * step.tile.cols);
  step.fill_phases(r);
  pe_.writer.write(step.self, step.cause, r);
  epilogue(step, isa::EpiloguePoint::per_k_step);
  const bool last = step.tile.k + 1 == kt_;
  if (last && spec_->step_count > 0) epilogue(step, isa::EpiloguePoint::per_output_tile);
  idle_steps_.give_back(step);
  if (last && spec_->step_count == 0) output_ready(step.tile, Cause::at(step.self, now(), Reason::operand));
  feed();
}

/// Puts the epilogue operations of this point on the vector unit, behind each other.
void TileStream::epilogue(Step& step, isa::EpiloguePoint point) {
  const auto steps = program().epilogue(*spec_);
  const bool last_step = step.tile.k + 1 == kt_;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].point != point) continue;
    Epilogue& work = idle_epilogues_.take(*this);
    work.tile = step.tile;
    work.elements = static_cast<std::uint64_t>(step.tile.rows * step.tile.cols);
    const models::VectorWork what{steps[i].op, step.tile.rows * step.tile.cols, kAccumulator};
    work.compute = pe_.spec.time_of(what);
    models::Moved moved;
    if (steps[i].operand != isa::kNone && program().value(steps[i].operand).kind != isa::ValueKind::scalar)
      moved.fetch = Bytes(what.elements * itemsize(program().value(steps[i].operand).dtype));
    work.last = last_step && last_epilogue(i, point);
    if (work.last) moved.store = Bytes(what.elements * out_.itemsize);
    work.move(pe_.spec.vector->moved(what, moved));
    work.self = next_serial();
    work.cause = Cause::at(step.self, now(), Reason::operand);
    pe_.math.push(work);
  }
}

/// Whether the output tile is ready after this operation: the last of those per output tile, or, if there is
/// none, the last of those per step.
bool TileStream::last_epilogue(std::size_t index, isa::EpiloguePoint point) const {
  const auto steps = program().epilogue(*spec_);
  const auto is_output = [](const isa::EpilogueStep& s) {
    return s.point == isa::EpiloguePoint::per_output_tile;
  };
  const bool any_output = std::any_of(steps.begin(), steps.end(), is_output);
  if (any_output != (point == isa::EpiloguePoint::per_output_tile)) return false;
  return std::none_of(steps.begin() + static_cast<std::ptrdiff_t>(index) + 1, steps.end(),
                      [&](const isa::EpilogueStep& s) { return s.point == point; });
}

void TileStream::epilogue_done(Epilogue& work) {
  OpRecord r = record(OpKind::tile_math, work.started);
  r.amount = work.elements;
  work.fill_phases(r);
  pe_.writer.write(work.self, work.cause, r);
  idle_epilogues_.give_back(work);
  if (work.last) output_ready(work.tile, Cause::at(work.self, now(), Reason::operand));
}

/// An output that is a tile has been stored to the TCM: nothing is left to move.
void TileStream::output_ready(const Tile& t, const Cause& because) {
  if (!out_.in_memory) {
    last_out_ = because.ref;
    --outputs_left_;
    return finish_if_done();
  }
  Transfer& transfer = idle_transfers_.take(*this);
  transfer.step = nullptr;
  transfer.direction = Direction::write;
  fill_pieces(transfer, out_, t.m * pe_.spec.tile.m, t.n * pe_.spec.tile.n, t.rows, t.cols);
  transfer.cause = because;
  issue(transfer);
}

void TileStream::finish_if_done() {
  if (idle() || outputs_left_ > 0) return;
  command_.program = nullptr;
  user_.on_streamed(last_out_);
}

}  // namespace kernbench::device
