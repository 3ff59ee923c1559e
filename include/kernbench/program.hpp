// Programs: what one PE is to do, as recorded from its kernel.
//
// A program is an ordered list of commands over a table of values. Values are immutable: a command produces
// at most one and reads some; a view, a scalar and a reference to memory are values too, so that whoever
// executes or replays a program treats the operands of every kind of command alike:
//
//   for (isa::CommandIndex i = 0; i < program.commands().size(); ++i) {
//     const auto& c = program.command(i);
//     for (const auto id : program.reads(c)) …  // program.value(id).producer must have retired
//     …                                         // c.result, if any: take program.value(c.result).granules
//   }
//
// Storage is compact (64 to 72 bytes per command with its result) and allocates nothing per command. Addresses,
// shapes, strides, masks, direction names and source lines are tables that commands point into. PEs that do the
// same with other addresses share all but these. Programs are read-only once recorded and may be read from several
// threads. For a readable form of a command see isa.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernbench/address.hpp"
#include "kernbench/coords.hpp"
#include "kernbench/dtype.hpp"
#include "kernbench/math_op.hpp"
#include "kernbench/shape.hpp"
#include "kernbench/table.hpp"
#include "kernbench/units.hpp"

namespace kernbench::isa {

using ValueId = std::uint32_t;       // a value of this program, in order of creation
using CommandIndex = std::uint32_t;  // a command of this program, in program order
inline constexpr std::uint32_t kNone = UINT32_MAX;

/// Scratch is counted in granules of this many bytes.
inline constexpr std::int64_t kGranuleBytes = 64;

enum class CommandKind : std::uint8_t {
  dma_read,     // memory → result
  dma_write,    // reads[0] → memory
  load_scalar,  // memory → the recording kernel; a read that stalls issue
  gemm,         // result = reads[0] · reads[1] (+ reads[2]), for each index of their leading axes
  math,         // result = op(reads…)
  composite,    // streamed by the scheduler, see CompositeSpec
  ipcq_send,    // reads[0] → the peer's ring
  ipcq_recv,    // the oldest message of a ring → result
  wait,         // issue holds until a command has retired
  fence,        // issue holds until every earlier command has retired
  atomic,       // memory = op(memory, reads[0]): a read and a write
};
std::string_view to_string(CommandKind kind);

/// One command. Program's accessors say what the last four members mean for each kind.
struct Command {
  static constexpr std::uint8_t kAsync = 0x80;
  CommandKind kind = CommandKind::fence;
  MathOp op = MathOp::copy;     // of math and atomic
  std::uint8_t read_count = 0;  // use Program::reads
  /// load_scalar: DType; scan and sort: 1 if reversed; ipcq_recv: 1 + MemorySpace of the destination, or 0, and
  /// kAsync if the program does not wait for the message there.
  std::uint8_t detail8 = 0;
  std::uint32_t line = 0;         // use Program::line
  ValueId result = kNone;         // what it produces, if anything
  std::array<ValueId, 3> read{};  // use Program::reads
  std::uint32_t place = kNone;    // dma, load_scalar, destination of ipcq_recv: use Program::address
  std::uint32_t strides = kNone;  // dma: use Program::strides
  std::uint32_t detail = kNone;   // dma: mask; math: axis; queues: direction; wait: command; composite: spec
  friend bool operator==(const Command&, const Command&) = default;
};
static_assert(sizeof(Command) == 36);

enum class ValueKind : std::uint8_t {
  tile,       // produced by a command, lives in scratch (or in the slot it was received in)
  placed,     // received to a given address: a tile that takes no scratch
  view,       // other strides over a tile's elements; costs nothing
  scalar,     // one number, known while recording
  reference,  // a tensor in memory, an operand of composite commands
};

/// One value. Scratch, producer and readers of a view are those of its base.
struct Value {
  std::uint32_t shape = 0;      // use Program::shape
  std::uint32_t place = kNone;  // use Program::layout, scalar, address
  /// The command that makes it (a view: its base); kNone for scalars and references, which are always ready.
  CommandIndex producer = kNone;
  /// For tiles: the last command that reads it or a view of it; its producer if none does.
  CommandIndex last_reader = kNone;
  /// For tiles: how many commands read it or a view of it.
  std::uint32_t readers = 0;
  /// Scratch it takes from its producer's issue until its readers have retired; 0 for all but tiles.
  std::uint32_t granules = 0;
  DType dtype = DType::f32;
  ValueKind kind = ValueKind::tile;
  friend bool operator==(const Value&, const Value&) = default;
};
static_assert(sizeof(Value) == 28);

/// Strides of a value's axes, in elements; entries beyond its rank are 0.
using Strides = std::array<std::int64_t, Shape::kMaxRank>;
Strides row_major(const Shape& shape);

/// Where a value's elements are: element (i, j, …) is base[offset + i·strides[0] + j·strides[1] …], the
/// elements of `base` being counted in row-major order. For references counted from their address.
struct Layout {
  ValueId base;
  std::int64_t offset;
  Strides strides;
};

/// Lanes [begin, end) of a transfer, counted in row-major order of its shape.
struct LaneRange {
  std::int64_t begin;
  std::int64_t end;
  friend bool operator==(LaneRange, LaneRange) = default;
};

enum class CompositeOp : std::uint8_t { gemm };
std::string_view to_string(CompositeOp op);

/// When an epilogue step acts: on each k step's product before it is added, or once on the accumulator.
enum class EpiloguePoint : std::uint8_t { per_k_step, per_output_tile };

struct EpilogueStep {
  MathOp op;  // elementwise; its first operand is the product or accumulator
  EpiloguePoint point;
  ValueId operand;  // its second, or kNone
  friend bool operator==(const EpilogueStep&, const EpilogueStep&) = default;
};

/// out[M, N] = a[M, K] · b[K, N] with an epilogue. `a` and `b` are tiles or references; `out` is a reference, or the
/// tile that the command makes.
struct CompositeSpec {
  CompositeOp op;
  ValueId a, b, out;
  std::uint32_t first_step, step_count;  // use Program::epilogue
  friend bool operator==(const CompositeSpec&, const CompositeSpec&) = default;
};

struct GemmSize {
  std::int64_t batches, m, k, n;
  std::int64_t macs() const { return batches * m * k * n; }
};

struct SourceLine {
  std::string_view file;  // as the compiler was given it
  std::uint32_t line;
  friend bool operator==(SourceLine, SourceLine) = default;
};
/// `ring.cpp:12`: the file's name without its folders.
std::string to_string(SourceLine at);

class Program {
 public:
  const std::string& kernel() const { return body_->kernel; }
  PeCoord pe() const { return pe_; }

  const Table<Command>& commands() const { return body_->commands; }
  const Command& command(CommandIndex i) const { return body_->commands[i]; }
  const Table<Value>& values() const { return body_->values; }
  const Value& value(ValueId id) const { return body_->values[id]; }

  /// The values a command reads, in the order of its operands: tiles, views, scalars and references. `c` must
  /// be a command of this program, not a copy.
  std::span<const ValueId> reads(const Command& c) const {
    return c.read_count <= c.read.size() ? std::span<const ValueId>(c.read.data(), c.read_count)
                                         : std::span(body_->more_reads).subspan(c.read[0], c.read_count);
  }
  SourceLine line(const Command& c) const;

  const Shape& shape(ValueId id) const { return body_->shapes[body_->values[id].shape]; }
  const Shape& shape_of(std::uint32_t shape) const { return body_->shapes[shape]; }
  /// Its elements × itemsize.
  Bytes bytes(ValueId id) const { return Bytes(shape(id).elements() * itemsize(body_->values[id].dtype)); }
  /// The same without the axes along which a view repeats its elements: what must be fetched.
  Bytes distinct_bytes(ValueId id) const;
  /// The tile whose scratch holds it: itself unless it is a view.
  ValueId base(ValueId id) const {
    return body_->values[id].kind == ValueKind::view ? body_->places[body_->values[id].place].base : id;
  }
  Layout layout(ValueId id) const;
  /// For a scalar: the number, already rounded to its dtype.
  double scalar(ValueId id) const { return body_->scalars[body_->values[id].place]; }
  /// Where a reference or placed tile lies.
  std::uint64_t address(ValueId id) const {
    return addresses_[static_cast<std::size_t>(body_->places[body_->values[id].place].offset)];
  }
  /// What a dma command, a load_scalar or an atomic touches first; where a receive puts its tile. Virtual, in bytes.
  std::uint64_t address(const Command& c) const { return addresses_[c.place]; }

  /// For a dma command or an atomic: the value whose shape and dtype the transfer has.
  ValueId moved(const Command& c) const { return c.kind == CommandKind::dma_read ? c.result : c.read[0]; }
  /// For a dma command or an atomic: memory strides in elements, row-major if the kernel gave none.
  Strides strides(const Command& c) const;
  /// For a dma command or an atomic: whether lanes are off, which are on (ascending, not touching), and how many.
  bool masked(const Command& c) const { return c.detail != kNone; }
  std::span<const LaneRange> active_runs(const Command& c) const;
  std::int64_t active_lanes(const Command& c) const;
  /// For a dma command whose lanes lie anywhere: where each run of active lanes begins; its elements follow each other
  /// in memory, and strides say nothing. Empty for all others.
  std::span<const std::uint64_t> run_addresses(const Command& c) const;
  /// For a masked dma_read: what lanes that are off read as.
  double other(const Command& c) const { return c.read_count == 0 ? 0.0 : scalar(c.read[0]); }
  /// What load_scalar reads.
  DType scalar_dtype(const Command& c) const { return static_cast<DType>(c.detail8); }
  /// The axis of a reduction, a scan or an arrangement.
  int axis(const Command& c) const { return static_cast<int>(c.detail); }
  /// A scan runs from the last element to the first; a sort has the largest first.
  bool reversed(const Command& c) const { return c.detail8 != 0; }
  /// For math: how many elements the vector unit works on: those of the result, or, reducing, of the operand; as often as
  /// the operation passes over them.
  std::int64_t math_elements(const Command& c) const;
  /// For gemm: `batches` products of [m, k] and [k, n].
  GemmSize gemm_size(const Command& c) const;

  /// The directions the program names; `c.detail` of a queue command counts in them.
  std::span<const std::string> directions() const { return body_->directions; }
  /// The direction of ipcq_send and ipcq_recv; empty for a receive from any direction.
  std::string_view direction(const Command& c) const;
  /// For ipcq_recv: whether the tile is moved to `address(c)`, and which memory that is in.
  bool has_destination(const Command& c) const { return (c.detail8 & ~Command::kAsync) != 0; }
  address::MemorySpace destination_space(const Command& c) const {
    return static_cast<address::MemorySpace>((c.detail8 & ~Command::kAsync) - 1);
  }
  /// For ipcq_recv: whether commands behind it go on before its message has come, in every mode.
  bool is_async(const Command& c) const { return (c.detail8 & Command::kAsync) != 0; }
  /// For wait: the command that must have retired.
  CommandIndex waited(const Command& c) const { return c.detail; }

  const CompositeSpec& composite(const Command& c) const { return body_->composites[c.detail]; }
  std::span<const EpilogueStep> epilogue(const CompositeSpec& s) const {
    return std::span(body_->steps).subspan(s.first_step, s.step_count);
  }

  /// Which kernel instance a command belongs to, where a PE runs several one after the other. They are in no order: what
  /// one writes and another touches is a hazard.
  std::uint32_t instance(CommandIndex command) const;

  /// The most scratch that is live at one command, in program order.
  Bytes peak_scratch() const { return Bytes(body_->peak_granules * kGranuleBytes); }
  /// The bytes this program occupies in the host's memory, those it shares with others included.
  std::size_t memory_bytes() const;
  /// Whether they have all but addresses and the PE in common, in the host's memory.
  bool shares_with(const Program& other) const { return body_ == other.body_; }
  /// A hash of all of the above; of source files only the name counts, not the folder. Equal programs have
  /// equal fingerprints, on any machine.
  std::uint64_t fingerprint() const;
  /// The fingerprint of each program. Faster than one call each where neighbours share all but their
  /// addresses.
  static std::vector<std::uint64_t> fingerprints(std::span<const Program* const> programs);
  /// Whether they are alike in everything.
  friend bool operator==(const Program& a, const Program& b);

 private:
  friend class ProgramBuilder;
  friend class ProgramBook;
  template <std::size_t N>
  friend class Fingerprints;

  struct Place {
    ValueId base;           // of a view; else kNone
    std::uint32_t strides;  // into body_->strides, or kNone: row-major
    std::int64_t
        offset;  // of a view, in elements; of a reference or placed tile its place among the addresses
    friend bool operator==(const Place&, const Place&) = default;
  };
  struct Mask {
    std::uint32_t first_run, run_count;
    std::int64_t lanes;
    std::uint32_t first_address = kNone;  // of a transfer to or from scattered places
    friend bool operator==(const Mask&, const Mask&) = default;
  };
  struct Line {
    std::uint32_t file, line;
    friend bool operator==(const Line&, const Line&) = default;
  };

  Strides strides_or_row_major(std::uint32_t id, const Shape& shape) const;

  /// All that programs of several PEs may have in common.
  struct Body {
    std::string kernel;
    Table<Command> commands;
    Table<Value> values;
    std::vector<ValueId> more_reads;  // of commands that read more than three
    std::vector<Shape> shapes;
    std::vector<Strides> strides;
    Table<Place> places;
    Table<double> scalars;
    std::vector<Mask> masks;
    std::vector<LaneRange> runs;
    std::vector<std::string> directions;
    std::vector<CompositeSpec> composites;
    std::vector<EpilogueStep> steps;
    std::vector<std::string> files;
    std::vector<Line> lines;
    std::vector<CommandIndex> instances;  // the first command of each but the first
    std::int64_t peak_granules = 0;
    bool operator==(const Body& other) const;
  };

  PeCoord pe_;
  std::shared_ptr<const Body> body_ = no_body();
  Table<std::uint64_t> addresses_;
  std::vector<std::uint64_t> run_addresses_;

  static const std::shared_ptr<const Body>& no_body();
};

}  // namespace kernbench::isa
