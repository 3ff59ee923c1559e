// The kernel language.
//
// A kernel is a plain function of a context and its arguments. Calling it records: each call on `tl` appends
// a command to the program of one PE and hands back a tile, which is a handle to a value that does not exist
// yet.
//
//   void ring_step(tl::Context& tl, tl::Ptr t, int n) {
//     const auto shard = tl.shard(t);
//     auto mine = tl.load(shard.ptr, {n}, f16);
//     tl.send("E", mine);
//     auto other = tl.recv("W", {n}, f16);
//     tl.store(shard.ptr, mine + other);
//   }
//
// Tiles are immutable values: every operation makes a new one, copying a handle copies nothing. Broadcasting
// is NumPy's, promotion is dtype.hpp's and math_op.hpp's, a number beside a tile takes the tile's dtype and
// must fit it. Every call keeps its caller's source line, operators included. What cannot be is a
// `KernelError` at the call, with kernel, PE, line and operands. A tile must not be used after its context is
// gone. One context is for one thread.
//
// Testing a kernel needs no machine:
//
//   tl::Context tl({.kernel = "ring_step", .shards = {{.tensor = tl::Ptr(0x1000), .ptr = tl::Ptr(0x1000)}}});
//   run_kernel(ring_step, tl, tl::Ptr(0x1000), 32);
//   EXPECT_EQ(to_string(tl.commands()[1]), "send E %0:f16[32]");
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernbench/error.hpp"
#include "kernbench/isa.hpp"
#include "kernbench/ndarray.hpp"
#include "kernbench/program.hpp"
#include "kernbench/tl_types.hpp"

namespace kernbench::tl {

/// Reads a number from simulated memory while a kernel is recorded.
using ScalarSource = std::function<double(std::uint64_t address, DType dtype)>;

/// Reads bytes from simulated memory while a kernel is recorded.
using MemorySource = std::function<void(std::uint64_t address, std::span<std::byte> out)>;

/// A piece of a tensor argument that the running PE holds.
struct Shard {
  Ptr tensor;                // the argument as the kernel gets it
  Ptr ptr;                   // where the piece begins; row-major with its own width
  Shape shape;               // of the piece
  Shape origin;              // logical index of its first element in the tensor
  DType dtype = DType::f16;  // of the tensor
  std::string name;          // of the tensor, for messages
  bool interleaved = false;  // the tensor has no shards: `shard` says so
};

/// A queue that ends at the running PE.
struct Queue {
  std::string direction;
  Bytes slot_size = Bytes(INT64_MAX);
  bool in_slot = false;  // received tiles stay in their slot and take no scratch: rings in TCM
  bool sends = true, receives = true;
};

/// What a kernel instance sees of its machine and launch.
struct Environment {
  std::string kernel = "kernel";
  PeCoord pe;
  std::array<int, 3> num_programs = {1, 1, 1};  // PEs of a cube, cubes of a SIP, SIPs that take part
  Bytes scratch = Bytes(1 << 20);
  std::optional<std::vector<Queue>> queues;  // not given: any direction is accepted
  std::vector<Shard> shards;  // of all tensor arguments; several of one tensor in dealing order
  std::vector<Ptr> tensors;   // all tensor arguments, also those of which this PE holds nothing
  ScalarSource scalars;       // not given: load_scalar is an error
  MemorySource memory;        // not given: peek is an error
  /// A program that is probably alike, such as the one before. The new one shares with it what is the same.
  /// It may go when the context has been made.
  const isa::Program* like = nullptr;
};

/// Lanes of a transfer that may lie anywhere, in row-major order of its shape: the address of each in bytes, and
/// whether it is on (not given: all are). The address of a lane that is off means nothing.
struct Lanes {
  std::span<const std::uint64_t> addresses;
  std::span<const std::uint8_t> on = {};
};

struct LoadOptions {
  Dims strides;      // of memory, in elements; not given: row-major
  Tile mask;         // i1, known while recording, broadcast to the shape; lanes that are off are not read
  double other = 0;  // what they hold instead
};
struct StoreOptions {
  Dims strides;
  Tile mask;
};
/// Options of vector operations and reductions.
struct MathOptions {
  /// The result is rounded once, to this dtype, instead of the promoted one: a float for floats, an integer dtype for
  /// integers. Comparisons, logic, argmax and copies take none.
  std::optional<DType> out_dtype;
};
struct DotOptions {
  Tile acc;                        // added to the product; broadcasts to it
  std::optional<DType> out_dtype;  // f32 if not given, of i8 operands i32
};
struct EpilogueOp {
  std::string_view op;  // an elementwise operation by name: `add`, `mul`, `exp`, `relu` …
  Operand operand;      // its second operand if it takes two; a tile broadcasts to the output
  isa::EpiloguePoint point = isa::EpiloguePoint::per_output_tile;
};
struct CompositeOptions {
  std::vector<EpilogueOp> epilogue;  // in this order
  std::optional<DType> out_dtype;    // of a result that is a tile; f32 if not given, of i8 operands i32
};
struct RecvOptions {
  Ptr dst_addr;  // the tile is moved there, and takes no scratch; null: it stays where it arrived. Not converted
  address::MemorySpace dst_space = address::MemorySpace::Hbm;
};

class Context {
 public:
  explicit Context(Environment environment = {});
  ~Context();
  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;

  // ── program ──
  /// Axis 0: the PE in its cube, 1: the cube in its SIP, 2: the SIP.
  int program_id(int axis, At at = At::current()) const;
  int num_programs(int axis, At at = At::current()) const;
  /// ⌈a / b⌉ of integers, b > 0.
  template <std::integral A, std::integral B>
  std::common_type_t<A, B> cdiv(A a, B b, At at = At::current()) const {
    using T = std::common_type_t<A, B>;
    if (b <= 0) reject_not_positive("divisor", static_cast<std::int64_t>(b), at);
    return static_cast<T>(static_cast<T>(a) / static_cast<T>(b) +
                          (static_cast<T>(a) % static_cast<T>(b) > 0 ? 1 : 0));
  }
  /// 0 … end−1, or begin … end−1 by step > 0.
  template <std::integral T>
  IntRange<T> static_range(T end) const {
    return {0, end, 1};
  }
  template <std::integral T>
  IntRange<T> static_range(T begin, T end, T step = 1, At at = At::current()) const {
    if (step <= 0) reject_not_positive("step", static_cast<std::int64_t>(step), at);
    return {begin, end, step};
  }
  /// The number at `ptr` as the host last wrote it. The PE waits for it, so kernels may branch on it.
  double load_scalar(Ptr ptr, DType dtype, At at = At::current());
  template <class T>
  T load_scalar(Ptr ptr, At at = At::current()) {
    return static_cast<T>(load_scalar(ptr, kDTypeOf<T>, at));
  }
  /// The running PE's piece of a tensor argument, or all of them: several, or none.
  const Shard& shard(Ptr tensor, At at = At::current()) const;
  std::vector<Shard> shards(Ptr tensor, At at = At::current()) const;

  // ── create and reshape ── views cost nothing
  Tile zeros(const Dims& shape, DType dtype, At at = At::current());
  Tile full(const Dims& shape, double value, DType dtype, At at = At::current());
  /// begin … end−1 as i32.
  Tile arange(std::int64_t begin, std::int64_t end, At at = At::current());
  Tile cast(const Tile& x, DType dtype, At at = At::current());
  /// The same bits as another dtype of that size; not of i1.
  Tile bitcast(const Tile& x, DType dtype, At at = At::current());
  Tile copy(const Tile& x, At at = At::current());
  /// One extent may be −1. A view if the elements of `x` are in row-major order, else of a copy of it.
  Tile reshape(const Tile& x, const Dims& shape, At at = At::current());
  /// Swaps the last two axes, or orders the axes as given.
  Tile trans(const Tile& x, const Dims& axes = {}, At at = At::current());
  Tile expand_dims(const Tile& x, int axis, At at = At::current());
  Tile broadcast_to(const Tile& x, const Dims& shape, At at = At::current());
  /// One Slice for each of the leading axes; see also Tile::slice.
  Tile slice(const Tile& x, std::initializer_list<Slice> slices, At at = At::current());
  Tile slice(const Tile& x, std::span<const Slice> slices, At at = At::current());
  /// Tiles of one dtype one after the other along an axis; their other extents are equal. Costs a copy.
  Tile cat(std::initializer_list<Tile> tiles, int axis = 0, At at = At::current());
  Tile cat(std::span<const Tile> tiles, int axis = 0, At at = At::current());
  /// Two tiles of one shape side by side: a new last axis of 2.
  Tile join(const Tile& a, const Tile& b, At at = At::current());

  // ── memory ── pointers count bytes, strides elements. A pointer that knows its tensor's dtype: `load`, `ref`
  // and `load_scalar` of another one are errors (`ptr.as(dtype)` reinterprets on purpose), `store` converts.
  Tile load(Ptr ptr, const Dims& shape, DType dtype, const LoadOptions& options = {}, At at = At::current());
  Op store(Ptr ptr, const Tile& tile, const StoreOptions& options = {}, At at = At::current());
  /// The same for lanes that may lie anywhere. Addresses that are affine in the index become one strided transfer;
  /// all others are moved run by run of neighbouring addresses, each like a transfer of its own. Lanes that are off
  /// are neither moved nor translated; they read as `other`. Nothing is converted: a pointer's tensor is not known here.
  Tile load_at(const Lanes& lanes, const Dims& shape, DType dtype, double other = 0, At at = At::current());
  Op store_at(const Lanes& lanes, const Tile& tile, At at = At::current());
  /// What lies at those places when the launch begins, for kernels that steer by numbers they load; lanes that are off
  /// are zero. It records nothing: `load_at` does.
  std::vector<std::byte> peek(const Lanes& lanes, DType dtype, At at = At::current());
  /// memory = op(memory, tile) in one step: add, maximum, minimum, bit_and, bit_or or bit_xor. It costs a read and a write;
  /// atomics of one kind on the same bytes are no hazard, and take effect in the order of the simulation, on which the bits
  /// of float sums may depend.
  Op atomic(MathOp op, Ptr ptr, const Tile& tile, const StoreOptions& options = {}, At at = At::current());
  /// The same for lanes that may lie anywhere, also several on one place: each of them counts. Nothing is converted.
  Op atomic_at(MathOp op, const Lanes& lanes, const Tile& tile, At at = At::current());
  Op atomic_add(Ptr ptr, const Tile& tile, const StoreOptions& options = {}, At at = At::current());
  Op atomic_max(Ptr ptr, const Tile& tile, const StoreOptions& options = {}, At at = At::current());
  Op atomic_min(Ptr ptr, const Tile& tile, const StoreOptions& options = {}, At at = At::current());
  Op atomic_and(Ptr ptr, const Tile& tile, const StoreOptions& options = {}, At at = At::current());
  Op atomic_or(Ptr ptr, const Tile& tile, const StoreOptions& options = {}, At at = At::current());
  /// A tensor in memory as an operand of `composite`. Its views are references too.
  Tile ref(Ptr ptr, const Dims& shape, DType dtype, const Dims& strides = {}, At at = At::current());
  /// Issue holds until the command has retired; of a tile, the one that makes it.
  void wait(const Op& op, At at = At::current());
  void wait(const Tile& tile, At at = At::current());
  Tile wait(const PendingTile& pending, At at = At::current());
  /// Issue holds until every earlier command has retired.
  void fence(At at = At::current());

  // ── matrix ──
  /// a[…, M, K] · b[…, K, N] (+ acc). Leading axes are batches and broadcast.
  Tile dot(const Tile& a, const Tile& b, const DotOptions& options = {}, At at = At::current());
  /// `op` is "gemm": out[M, N] = a · b, streamed tile by tile. `a` and `b` are tiles or references, `out` is
  /// a reference.
  Op composite(std::string_view op, const Tile& a, const Tile& b, const Tile& out,
               const CompositeOptions& options = {}, At at = At::current());
  /// The same into a new tile: nothing goes to memory.
  Tile composite(std::string_view op, const Tile& a, const Tile& b, const CompositeOptions& options = {},
                 At at = At::current());

  // ── elementwise ── beside the operators of Tile, which are `add sub mul div` without options
  Tile add(const Operand& a, const Operand& b, const MathOptions& options = {}, At at = At::current());
  Tile sub(const Operand& a, const Operand& b, const MathOptions& options = {}, At at = At::current());
  Tile mul(const Operand& a, const Operand& b, const MathOptions& options = {}, At at = At::current());
  Tile div(const Operand& a, const Operand& b, const MathOptions& options = {}, At at = At::current());
  Tile floordiv(const Operand& a, const Operand& b, const MathOptions& options = {}, At at = At::current());
  Tile where(const Tile& mask, const Operand& a, const Operand& b, const MathOptions& options = {},
             At at = At::current());
  Tile maximum(const Operand& a, const Operand& b, const MathOptions& options = {}, At at = At::current());
  Tile minimum(const Operand& a, const Operand& b, const MathOptions& options = {}, At at = At::current());
  Tile fma(const Operand& a, const Operand& b, const Operand& c, const MathOptions& options = {},
           At at = At::current());
  Tile clamp(const Operand& x, const Operand& least, const Operand& most, const MathOptions& options = {},
             At at = At::current());
  Tile exp(const Tile& x, const MathOptions& options = {}, At at = At::current());
  Tile exp2(const Tile& x, const MathOptions& options = {}, At at = At::current());
  Tile log(const Tile& x, const MathOptions& options = {}, At at = At::current());
  Tile sqrt(const Tile& x, const MathOptions& options = {}, At at = At::current());
  Tile rsqrt(const Tile& x, const MathOptions& options = {}, At at = At::current());
  Tile abs(const Tile& x, const MathOptions& options = {}, At at = At::current());
  Tile sigmoid(const Tile& x, const MathOptions& options = {}, At at = At::current());
  Tile tanh(const Tile& x, const MathOptions& options = {}, At at = At::current());
  Tile erf(const Tile& x, const MathOptions& options = {}, At at = At::current());
  Tile sin(const Tile& x, const MathOptions& options = {}, At at = At::current());
  Tile cos(const Tile& x, const MathOptions& options = {}, At at = At::current());
  Tile log2(const Tile& x, const MathOptions& options = {}, At at = At::current());
  Tile floor(const Tile& x, const MathOptions& options = {}, At at = At::current());
  Tile ceil(const Tile& x, const MathOptions& options = {}, At at = At::current());
  /// The upper half of the product of two integers taken as unsigned.
  Tile umulhi(const Operand& a, const Operand& b, At at = At::current());
  /// Any elementwise operation of math_op.hpp, for bindings.
  Tile math(MathOp op, std::span<const Operand> operands, const MathOptions& options = {},
            At at = At::current());

  // ── reduce ── over one axis, or over all if none is given
  Tile sum(const Tile& x, std::optional<int> axis = {}, bool keep_dims = false,
           const MathOptions& options = {}, At at = At::current());
  Tile max(const Tile& x, std::optional<int> axis = {}, bool keep_dims = false,
           const MathOptions& options = {}, At at = At::current());
  Tile min(const Tile& x, std::optional<int> axis = {}, bool keep_dims = false,
           const MathOptions& options = {}, At at = At::current());
  /// The index along the axis (of all elements in row-major order) of the first largest.
  Tile argmax(const Tile& x, std::optional<int> axis = {}, bool keep_dims = false, At at = At::current());
  Tile argmin(const Tile& x, std::optional<int> axis = {}, bool keep_dims = false, At at = At::current());
  Tile prod(const Tile& x, std::optional<int> axis = {}, bool keep_dims = false,
            const MathOptions& options = {}, At at = At::current());
  Tile xor_sum(const Tile& x, std::optional<int> axis = {}, bool keep_dims = false, At at = At::current());
  /// Any reduction of math_op.hpp, for bindings.
  Tile reduce(MathOp op, const Tile& x, std::optional<int> axis = {}, bool keep_dims = false,
              const MathOptions& options = {}, At at = At::current());
  /// Recorded as max, sub, exp, sum, div.
  Tile softmax(const Tile& x, int axis = -1, At at = At::current());

  // ── along an axis ── the result has the operand's shape
  /// Element i is made of elements 0 … i; reversed, of i … last.
  Tile cumsum(const Tile& x, int axis = 0, bool reverse = false, const MathOptions& options = {},
              At at = At::current());
  Tile cumprod(const Tile& x, int axis = 0, bool reverse = false, const MathOptions& options = {},
               At at = At::current());
  /// `op` is add, mul, maximum or minimum.
  Tile scan(MathOp op, const Tile& x, int axis = 0, bool reverse = false, const MathOptions& options = {},
            At at = At::current());
  Tile flip(const Tile& x, int axis = -1, At at = At::current());
  /// NaN is the largest.
  Tile sort(const Tile& x, int axis = -1, bool descending = false, At at = At::current());
  /// x[…, index[…, i, …], …]: `index` is of integers and has the shape of `x` but for the axis.
  Tile gather(const Tile& x, const Tile& index, int axis = -1, At at = At::current());
  /// How many elements of an integer tile are 0, 1, … bins−1, as i32[bins].
  Tile histogram(const Tile& x, std::int64_t bins, At at = At::current());

  // ── queues ── what is sent is a tile, or a reference: read where it lies, sent as it comes; it fits in a slot
  Op send(std::string_view direction, const Tile& tile, At at = At::current());
  Tile recv(std::string_view direction, const Dims& shape, DType dtype, const RecvOptions& options = {},
            At at = At::current());
  /// The same, without waiting for the message: commands behind it go on, also with `pe_cpu.issue: in_order`. What uses the
  /// tile waits for it, and so does `wait`, which returns the tile.
  PendingTile recv_async(std::string_view direction, const Dims& shape, DType dtype,
                         const RecvOptions& options = {}, At at = At::current());
  /// The oldest message of any direction that no earlier receive claims.
  Tile recv_any(const Dims& shape, DType dtype, At at = At::current());

  // ── the recording ──
  const Environment& environment() const;
  /// Starts a new program. `run_kernel` does.
  void begin();
  /// What follows belongs to another instance of the kernel on the same PE. Instances overlap as the machine allows, and
  /// are in no order: where one writes bytes that another touches, that is a hazard.
  void begin_instance();
  /// Checks the scratch over the whole program. `run_kernel` does. KernelError that lists the largest live
  /// tiles.
  const isa::Program& finish();
  /// What was recorded since the last `begin`. Asked for in the middle of a kernel, the rest is recorded without
  /// `Environment::like`.
  const isa::Program& program() const;
  /// Hands the program over; the context begins a new one.
  isa::Program take_program();
  /// The program's commands in the form of isa.hpp.
  std::vector<isa::AnyCommand> commands() const { return isa::decode(program()); }
  /// From now on calls count as made at this line, for bindings whose callers are not C++; `file` must
  /// outlive the recording. nullptr: the caller's own line again.
  void set_line(const char* file, std::uint32_t line);

 private:
  [[noreturn]] void reject_not_positive(const char* what, std::int64_t number, At at) const;

  /// The recorder, or an error once the context was moved from.
  class Held {
   public:
    explicit Held(std::unique_ptr<Recorder> recorder);
    ~Held();
    Held(Held&&) noexcept;
    Held& operator=(Held&&) noexcept;
    Recorder* operator->() const { return recorder_ ? recorder_.get() : reject_moved_from(); }
    Recorder& operator*() const { return *operator->(); }

   private:
    [[noreturn]] static Recorder* reject_moved_from();
    std::unique_ptr<Recorder> recorder_;
  };
  Held recorder_;
};

/// Records `kernel(tl, args…)` as a new program, without any machine.
template <class Kernel, class... Args>
const isa::Program& run_kernel(Kernel&& kernel, Context& tl, Args&&... args) {
  tl.begin();
  std::invoke(std::forward<Kernel>(kernel), tl, std::forward<Args>(args)...);
  return tl.finish();
}

}  // namespace kernbench::tl

namespace kernbench {
using tl::run_kernel;
}
