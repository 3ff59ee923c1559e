// What stands behind a Context: the program being recorded, and the steps that all operations share (check
// the operands, find the result's type, append the command). The operations themselves are members of
// Context.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isa/program_builder.hpp"
#include "kernbench/tl.hpp"
#include "tl/constants.hpp"

namespace kernbench::tl {

/// `[32, 64]`
std::string text_of(const Dims& dims);
bool broadcasts_to(const Shape& from, const Shape& to);

inline std::size_t at_axis(int axis) { return static_cast<std::size_t>(axis); }

/// Axes of a tile from the outermost to the innermost in memory.
using AxisOrder = std::vector<std::int64_t>;

class Recorder {
 public:
  explicit Recorder(Environment environment);

  void begin();
  const isa::Program& finish();
  isa::Program take();
  /// What was recorded, and nothing else. If the model has more, the program is no longer compared with it.
  const isa::Program& program();
  /// Where to look up what was recorded, by its id; see ProgramBuilder.
  const isa::Program& tables() const { return finished_ ? finished_program_ : builder_.tables(); }
  const Environment& environment() const { return environment_; }
  void set_line(const char* file, std::uint32_t line);

  // ── errors ──
  struct Complaint {
    const char* id;  // without `tl.`
    std::string what;
    std::string hint;
  };
  [[noreturn]] void fail(At at, Complaint complaint) const;
  [[noreturn]] void fail(isa::SourceLine line, Complaint complaint) const;
  [[noreturn]] void fail_program_axis(const char* call, int axis, At at) const;
  [[noreturn]] static void reject_pointer_tile(Ptr p, const PointerTile& offsets);
  /// Runs `fn`; an InputError of a lower layer becomes a KernelError at this place, after `what`.
  template <class Fn, class Describe>
  auto placed(At at, const char* id, Describe describe, Fn fn) const {
    try {
      return fn();
    } catch (const KernelError&) {
      throw;
    } catch (const InputError& e) {
      fail(at, {id, describe() + ": " + e.message(), e.hint()});
    }
  }

  // ── operands ──
  /// The value behind a handle that `op` reads: not empty, of this recording, no reference.
  isa::ValueId tile(const Tile& t, std::string_view op, At at) const {
    const auto id = tile_or_reference(t, op, at);
    if (value(id).kind == isa::ValueKind::reference) [[unlikely]]
      fail_handle(t, op, at);
    return id;
  }
  /// The same, references allowed.
  isa::ValueId tile_or_reference(const Tile& t, std::string_view op, At at) const {
    if (!is_own(t)) [[unlikely]]
      fail_handle(t, op, at);
    return t.id_;
  }
  /// `%3:f16[32]`
  std::string describe(isa::ValueId id) const;
  std::string describe(std::span<const isa::ValueId> ids) const;
  Tile handle(isa::ValueId id) { return Tile(this, id, recording_); }
  Op op(isa::CommandIndex command) const { return Op(this, command, recording_); }
  void check_op(const Op& op, At at) const;

  const isa::Value& value(isa::ValueId id) const { return builder_.tables().value(id); }
  const Shape& shape(isa::ValueId id) const { return builder_.tables().shape(id); }
  isa::Layout layout(isa::ValueId id) const { return builder_.tables().layout(id); }
  isa::ProgramBuilder& builder() { return builder_; }

  std::uint32_t shape_id(const Dims& dims, std::string_view op, At at);
  /// Strides for an access of that shape, kNone if none are given.
  std::uint32_t strides_id(const Dims& strides, const Shape& shape, bool writes, std::string_view op, At at);
  void check_pointer(Ptr ptr, std::string_view op, At at) const;
  /// The same for an access of that dtype: the tensor's, if the pointer knows one.
  void check_pointer(Ptr ptr, DType dtype, std::string_view op, At at) const;
  /// Lanes that are on, kNone if all are.
  std::uint32_t mask_id(const Tile& mask, const Shape& shape, std::string_view op, At at);
  /// As many addresses and flags as lanes.
  /// That it is an operation which atomics have, for a tile of that dtype.
  void check_atomic(MathOp op, isa::ValueId id, At at) const;
  void check_lanes(const Lanes& lanes, std::int64_t count, std::string_view op, At at) const;
  /// Sets address, strides and mask of a transfer of these lanes. Returns the order of axes in which they are moved, so
  /// that elements that are neighbours in memory follow each other; empty if it is that of the tile.
  AxisOrder place_lanes(isa::Command& c, const Lanes& lanes, const Shape& shape, DType dtype, bool writes);
  /// A number as a value of that dtype; an error if it does not fit.
  void check_number(double number, DType dtype, std::string_view op, At at) const;
  void check_exact(const Operand& number, DType dtype, std::string_view op, At at) const;
  isa::ValueId scalar(double number, DType dtype, std::string_view op, At at);

  /// A direction: its queue, null if this PE's queues are not known; and its number in the program.
  struct Way {
    const Queue* queue = nullptr;
    std::uint32_t direction = isa::kNone;
  };
  enum class Side : std::uint8_t { send, recv };
  /// Looks up a direction by name. The one asked for last is kept, for mostly it is asked for again.
  Way way(std::string_view direction, Side side, At at) {
    auto& last = last_ways_[static_cast<std::size_t>(side)];
    if (last.name != direction || direction.empty()) [[unlikely]]
      last = {std::string(direction), find_way(direction, side, at)};
    return last.way;
  }
  /// A tile that can be a message of that queue.
  void check_message(const Queue* queue, Bytes size, std::string_view op, At at) const;

  // ── results ──
  /// Appends a receive from a direction; `async` is 0 or Command::kAsync.
  Tile receive(std::string_view direction, const Dims& shape, DType dtype, const RecvOptions& options,
               std::uint8_t async, At at);
  /// What the next command, a receive, will produce.
  isa::ValueId received(const Queue* queue, std::uint32_t shape, DType dtype, const RecvOptions& options,
                        At at);
  /// A tile of scratch as the result of the next command; an error if it alone exceeds the scratch.
  isa::ValueId new_tile(DType dtype, std::uint32_t shape, At at);
  /// Appends the command; `c.line` is set here.
  isa::CommandIndex append(isa::Command c, std::span<const isa::ValueId> reads, At at);
  isa::CommandIndex append(isa::Command c, std::initializer_list<isa::ValueId> reads, At at) {
    return append(c, std::span(reads.begin(), reads.size()), at);
  }
  Tile math(MathOp op, std::span<const Operand> operands, At at, const MathOptions& options = {});
  Tile math(MathOp op, std::initializer_list<Operand> operands, At at, const MathOptions& options = {}) {
    return math(op, std::span(operands.begin(), operands.size()), at, options);
  }
  /// The same for callers that may name any operation.
  Tile checked_math(MathOp op, std::span<const Operand> operands, At at, const MathOptions& options);
  Tile unary(MathOp op, const Tile& x, At at, const MathOptions& options = {});
  Tile create(MathOp op, const Dims& shape, double first, DType dtype, At at);
  Tile reduce(MathOp op, const Tile& x, std::optional<int> axis, bool keep_dims, At at,
              const MathOptions& options = {});
  Tile cat(std::span<const Tile> tiles, int axis, At at);
  /// A scan or a sort; `reversed` as Program has it.
  Tile along(MathOp op, const Tile& x, int axis, bool reversed, const MathOptions& options, At at);
  Tile arrangement(MathOp op, std::span<const isa::ValueId> reads, int axis, DType dtype, const Shape& shape,
                   bool reversed, At at);
  /// Another look at the same elements; of a reference another reference.
  Tile view(isa::ValueId of, std::uint32_t shape, const isa::Strides& strides, std::int64_t offset);
  Tile reshape(isa::ValueId id, std::uint32_t shape, At at);
  Tile expand_dims(isa::ValueId id, int axis);
  Tile slice(const Tile& x, std::span<const Slice> slices, At at);

  /// Where to look up what the tile is.
  static const isa::Program& tables_of(const Tile& tile);
  /// For the operators of Tile, which have no context: it is that of the first tile among them.
  static Tile operation(MathOp op, std::initializer_list<Operand> operands);

 private:
  bool is_own(const Tile& t) const {
    return t.recorder_ == this && t.recording_ == recording_ && t.id_ < builder_.next_value();
  }
  struct Typed {  // operands of a math command with their common type
    std::array<isa::ValueId, 3> ids;
    std::array<DType, 3> dtypes;
    std::size_t count;
  };
  Typed resolve(MathOp op, std::span<const Operand> operands, At at);
  DType scalar_dtype(MathOp op, std::span<const Operand> operands) const;
  DType result_dtype(MathOp op, const Typed& typed, At at) const;
  /// The dtype asked for, if any; an error if the operation does not round to it.
  DType out_dtype(MathOp op, DType natural, const MathOptions& options, At at) const;
  std::uint32_t common_shape(MathOp op, const Typed& typed, At at);
  isa::SourceLine source_line(At at) const;
  std::int64_t peak_granules();
  Way find_way(std::string_view direction, Side side, At at);
  [[noreturn]] void fail_scratch(isa::CommandIndex command) const;
  [[noreturn]] void fail_large_tile(DType dtype, std::uint32_t shape, At at) const;
  [[noreturn]] void fail_handle(const Tile& t, std::string_view op, At at) const;

  Environment environment_;
  std::uint32_t recording_;  // no other of this process has the same number, nor a handle to it
  std::uint64_t scratch_granules_;
  isa::ProgramBuilder builder_;
  isa::Program finished_program_;
  bool finished_ = false;
  KnownValues known_;
  struct NamedWay {
    std::string name;
    Way way;
  };
  std::array<NamedWay, 2> last_ways_;  // by side
  const char* forced_file_ = nullptr;
  std::uint32_t forced_line_ = 0;
};

}  // namespace kernbench::tl
