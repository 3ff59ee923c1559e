// Commands as people read them: what `tl.commands()` returns, for tests of a kernel's control flow.
//
//   EXPECT_EQ(to_string(tl.commands()[1]), "send E %0:f16[32]");
//   EXPECT_EQ(tl.commands()[1].as<isa::IpcqSend>().direction, "E");
//   EXPECT_EQ(tl.commands()[1], isa::IpcqSend({.direction = "E", .tile = {.id = 0, .dtype = f16, .shape =
//   {32}}}));
//
// kernbench/matchers.hpp has GoogleTest matchers for them. The compact form that a program holds is in
// program.hpp.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kernbench/program.hpp"

namespace kernbench::isa {

/// An operand or result. Prints as `%3:f16[32, 64]`, a scalar as `2.5:f16`, a reference as `@0x1000:f16[32,
/// 64]`.
struct Operand {
  ValueKind kind = ValueKind::tile;
  ValueId id = 0;  // of tiles and views, in order of creation; 0 for scalars and references
  DType dtype = DType::f32;
  Shape shape;
  double scalar = 0;          // of scalars
  std::uint64_t address = 0;  // of references and placed tiles
  friend bool operator==(const Operand&, const Operand&) = default;
};

/// Which lanes a transfer moves; none given: all of them.
using ActiveLanes = std::optional<std::vector<LaneRange>>;

struct DmaRead {
  std::uint64_t address = 0;
  Operand result;
  std::vector<std::int64_t> strides;  // in elements; empty: row-major
  ActiveLanes lanes;
  double other = 0;                        // what the other lanes read as
  std::vector<std::uint64_t> places = {};  // of scattered lanes: where each run of them begins
  friend bool operator==(const DmaRead&, const DmaRead&) = default;
};
struct DmaWrite {
  std::uint64_t address = 0;
  Operand tile;
  std::vector<std::int64_t> strides;
  ActiveLanes lanes;
  std::vector<std::uint64_t> places = {};
  friend bool operator==(const DmaWrite&, const DmaWrite&) = default;
};
/// Prints as `atomic add 0x1000 %0:f32[4]`.
struct Atomic {
  MathOp op = MathOp::add;
  std::uint64_t address = 0;
  Operand tile;
  std::vector<std::int64_t> strides;
  ActiveLanes lanes;
  std::vector<std::uint64_t> places = {};
  friend bool operator==(const Atomic&, const Atomic&) = default;
};
struct LoadScalar {
  std::uint64_t address = 0;
  DType dtype = DType::i32;
  friend bool operator==(const LoadScalar&, const LoadScalar&) = default;
};
struct Gemm {
  Operand a, b;
  std::optional<Operand> acc;
  Operand result;
  friend bool operator==(const Gemm&, const Gemm&) = default;
};
struct Math {
  MathOp op = MathOp::add;
  std::vector<Operand> operands;
  Operand result;
  std::optional<int> axis;  // of reductions, scans and arrangements
  bool reversed = false;    // of scans and sorts
  friend bool operator==(const Math&, const Math&) = default;
};
struct Epilogue {
  MathOp op = MathOp::add;
  EpiloguePoint point = EpiloguePoint::per_output_tile;
  std::optional<Operand> operand;
  friend bool operator==(const Epilogue&, const Epilogue&) = default;
};
struct Composite {
  CompositeOp op = CompositeOp::gemm;
  Operand a, b, out;
  std::vector<Epilogue> epilogue;
  friend bool operator==(const Composite&, const Composite&) = default;
};
struct IpcqSend {
  std::string direction;
  Operand tile;
  friend bool operator==(const IpcqSend&, const IpcqSend&) = default;
};
struct IpcqRecv {
  std::string direction;                      // empty: any
  Operand result;                             // kind `placed` if it was received to an address
  std::optional<address::MemorySpace> space;  // of that address
  bool is_async = false;                      // recorded by recv_async
  friend bool operator==(const IpcqRecv&, const IpcqRecv&) = default;
};
struct Wait {
  CommandIndex command = 0;
  friend bool operator==(const Wait&, const Wait&) = default;
};
struct Fence {
  friend bool operator==(const Fence&, const Fence&) = default;
};

using AnyCommandBase = std::variant<DmaRead, DmaWrite, LoadScalar, Gemm, Math, Composite, IpcqSend, IpcqRecv,
                                    Wait, Fence, Atomic>;

/// One of the above. `std::visit`, `std::get` and `==` work on it as on any variant.
class AnyCommand : public AnyCommandBase {
 public:
  using AnyCommandBase::AnyCommandBase;

  template <class T>
  bool is() const {
    return std::holds_alternative<T>(*this);
  }
  /// InputError that shows the command if it is another kind.
  template <class T>
  const T& as() const {
    if (!is<T>()) wrong_kind();
    return std::get<T>(*this);
  }

  friend bool operator==(const AnyCommand& a, const AnyCommand& b) {
    return static_cast<const AnyCommandBase&>(a) == static_cast<const AnyCommandBase&>(b);
  }

 private:
  [[noreturn]] void wrong_kind() const;
};

AnyCommand decode(const Program& program, const Command& command);
std::vector<AnyCommand> decode(const Program& program);
Operand operand(const Program& program, ValueId id);

/// `%2:f16[32] = add %0:f16[32], %1:f16[32]`, `%0:f16[32] = dma_read 0x1000`, `send E %0:f16[32]`, `fence`.
std::string to_string(const Operand& operand);
std::string to_string(const AnyCommand& command);
/// One command a line, numbered, with its source line.
std::string listing(const Program& program);

std::ostream& operator<<(std::ostream& out, const AnyCommand& command);

}  // namespace kernbench::isa
