#include "bench/workload_outline.hpp"

#include <algorithm>

#include "isa/program_book.hpp"
#include "isa/transfer.hpp"
#include "kernbench/math_op.hpp"

namespace kernbench::bench {

using isa::CommandKind;
using isa::ValueId;

namespace {

constexpr DType kAccumulator = DType::f32;  // of an epilogue

}  // namespace

/// Goes through one program.
class Workload::Outline::Maker {
 public:
  Maker(Outline& out, const Rates& rates, const isa::Program& program)
      : out_(out), rates_(rates), program_(program) {}

  void add(isa::CommandIndex i) {
    const isa::Command& command = program_.command(i);
    switch (command.kind) {
      case CommandKind::dma_read:
        return add_move(i, read);
      case CommandKind::dma_write:
        return add_move(i, write);
      case CommandKind::atomic:
        add_move(i, read);
        return add_move(i, write);
      case CommandKind::load_scalar:
        return out_.others.push_back(i);
      case CommandKind::gemm:
      case CommandKind::math:
        return add_compute(command);
      case CommandKind::composite:
        out_.others.push_back(i);
        return add_composite(program_.composite(command));
      case CommandKind::ipcq_send:
        return add_send(i);
      case CommandKind::ipcq_recv:
        return add_receive(i);
      case CommandKind::wait:
      case CommandKind::fence:
        return;
    }
  }

 private:
  /// Lanes with addresses of their own lie elsewhere in each program: the command is only listed.
  void add_move(isa::CommandIndex i, Direction direction) {
    const isa::Command& command = program_.command(i);
    if (!program_.run_addresses(command).empty()) {
      if (direction == (command.kind == CommandKind::dma_read ? read : write)) out_.others.push_back(i);
      return;
    }
    std::array<isa::Access, 3> touched;
    if (isa::accesses(program_, command, touched) == 0) return;
    const auto distance = [](std::uint64_t from, std::uint64_t to) {
      return Bytes(static_cast<std::int64_t>(to - from));
    };
    Outline::Move move{.command = i,
                       .direction = direction,
                       .first = distance(program_.address(command), touched[0].begin),
                       .span = distance(touched[0].begin, touched[0].end)};
    const int size = itemsize(program_.value(program_.moved(command)).dtype);
    isa::for_each_segment(program_, command, [&](const isa::Segment& segment) {
      const Bytes bytes(segment.elements * size);
      move.bytes += bytes;
      move.largest = std::max(move.largest, bytes);
    });
    out_.moves.push_back(move);
  }

  void add_send(isa::CommandIndex i) {
    const isa::Command& command = program_.command(i);
    Queued& direction = out_.queued[command.detail];
    if (program_.value(command.read[0]).kind == isa::ValueKind::reference)
      out_.others.push_back(i);
    else
      direction.sent += program_.bytes(command.read[0]);
  }

  /// From any direction: nobody knows which.
  void add_receive(isa::CommandIndex i) {
    const isa::Command& command = program_.command(i);
    if (command.detail != isa::kNone) out_.queued[command.detail].received += program_.bytes(command.result);
    if (program_.has_destination(command)) out_.others.push_back(i);
  }

  void add_compute(const isa::Command& command) {
    const auto reads = program_.reads(command);
    models::Moved all{.fetch = {}, .store = program_.bytes(command.result)};
    for (const ValueId id : reads)
      if (program_.value(id).kind != isa::ValueKind::scalar) all.fetch += program_.distinct_bytes(id);
    if (command.kind == CommandKind::gemm) {
      const isa::GemmSize size = program_.gemm_size(command);
      const models::Product product{size.m,          size.k,          size.n,
                                    dtype(reads[0]), dtype(reads[1]), dtype(command.result)};
      add_moved(rates_.matrix->moved(product, all));
      return add_product(product, size.batches);
    }
    DType widest = dtype(command.result);
    for (const ValueId id : reads)
      if (itemsize(dtype(id)) > itemsize(widest)) widest = dtype(id);
    const models::VectorWork vector_work{command.op, program_.math_elements(command), widest};
    add_moved(rates_.vector->moved(vector_work, all));
    add_vector(vector_work);
  }

  void add_moved(const models::Moved& bytes, std::int64_t times = 1) {
    out_.tcm_read += bytes.fetch * times;
    out_.tcm_write += bytes.store * times;
  }

  DType dtype(ValueId id) const { return program_.value(id).dtype; }

  void add_product(const models::Product& product, std::int64_t batches = 1) {
    const auto cycles = rates_.matrix->at_least(product);
    if (cycles) out_.work.gemm += rates_.time(*cycles) * batches;
    out_.has_gemm_bound &= cycles.has_value();
  }

  void add_math(MathOp op, Time time) {
    out_.work.math += time;
    out_.by_operation[static_cast<std::size_t>(op)] += time;
  }

  void add_vector(const models::VectorWork& vector_work) {
    const auto cycles = rates_.vector->at_least(vector_work);
    if (cycles) add_math(vector_work.op, rates_.time(*cycles));
    out_.has_math_bound &= cycles.has_value();
  }

  void add_composite(const isa::CompositeSpec& spec) {
    const models::Product product{program_.shape(spec.a)[0],
                                  program_.shape(spec.a)[1],
                                  program_.shape(spec.b)[1],
                                  dtype(spec.a),
                                  dtype(spec.b),
                                  dtype(spec.out)};
    add_product(product);
    const auto epilogue = program_.epilogue(spec);
    add_steps(product, epilogue.empty());
    for (const isa::EpilogueStep& step : epilogue) add_epilogue(step, product.m, product.k, product.n);
    if (!epilogue.empty()) out_.tcm_write += Bytes(product.m * product.n * itemsize(product.out));
  }

  /// Tiles of one extent: so many of this size.
  struct Cut {
    std::int64_t size, count;
  };
  static std::array<Cut, 2> cuts(std::int64_t extent, std::int64_t tile) {
    const std::int64_t count = tiles(extent, tile);
    return {Cut{tile, count - 1}, Cut{extent - (count - 1) * tile, 1}};
  }

  /// What the matrix unit moves for the steps of a composite. The last step of an output tile stores it, if no epilogue does.
  void add_steps(const models::Product& whole, bool stores) {
    const Bytes a(itemsize(whole.a)), b(itemsize(whole.b)), out(itemsize(whole.out));
    for (const Cut& m : cuts(whole.m, rates_.tile.m))
      for (const Cut& n : cuts(whole.n, rates_.tile.n))
        for (const bool last : {false, true}) {
          const Cut k = cuts(whole.k, rates_.tile.k)[last ? 1 : 0];
          const std::int64_t times = m.count * n.count * k.count;
          if (times == 0) continue;
          models::Product step = whole;
          step.m = m.size, step.k = k.size, step.n = n.size;
          const models::Moved all{a * (m.size * k.size) + b * (k.size * n.size),
                                  last && stores ? out * (m.size * n.size) : Bytes()};
          add_moved(rates_.matrix->moved(step, all), times);
        }
  }

  void add_epilogue(const isa::EpilogueStep& step, std::int64_t m, std::int64_t k, std::int64_t n) {
    const std::int64_t times = step.point == isa::EpiloguePoint::per_k_step ? tiles(k, rates_.tile.k) : 1;
    const std::int64_t elements = m * n * times;  // edge tiles may waste lanes beyond this
    add_vector({step.op, elements, kAccumulator});
    const bool reads_tile =
        step.operand != isa::kNone && program_.value(step.operand).kind != isa::ValueKind::scalar;
    if (reads_tile) out_.tcm_read += Bytes(elements * itemsize(program_.value(step.operand).dtype));
  }

  Outline& out_;
  const Rates& rates_;
  const isa::Program& program_;
};

Workload::Outline::Outline(const Rates& rates, const isa::Program& program)
    : by_operation(math_ops().size()) {
  const auto commands = static_cast<isa::CommandIndex>(program.commands().size());
  work.issue = rates.overhead + rates.dispatch * static_cast<std::int64_t>(commands);
  Maker maker(*this, rates, program);
  for (isa::CommandIndex i = 0; i < commands; ++i) maker.add(i);
}

/// A very long outline is made but not kept.
std::shared_ptr<const Workload::Outline> Workload::OutlineBook::of(const Rates& rates,
                                                                   const isa::Program& program) {
  constexpr std::size_t kMostKept = 16384;
  const auto part = isa::ProgramBook::shared_part(program);
  for (const Known& known : known_)
    if (known.part.lock() == part && known.outline) return known.outline;
  auto outline = std::make_shared<const Outline>(rates, program);
  if (outline->moves.size() + outline->others.size() > kMostKept) return outline;
  known_[next_] = {part, outline};
  next_ = (next_ + 1) % known_.size();
  return outline;
}

}  // namespace kernbench::bench
