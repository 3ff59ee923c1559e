// Values that are known while recording: those made from arange, fill, numbers and operations on them. They
// are found by walking the program back from the value, and only when somebody asks, so that kernels without
// masks pay nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernbench/program.hpp"

namespace kernbench::tl {

class KnownValues {
 public:
  using Numbers = std::vector<double>;  // in row-major order; exact: 64-bit integers beyond 2⁵³ are not known

  struct Answer {
    const Numbers* numbers = nullptr;             // null: not known
    std::optional<isa::CommandIndex> depends_on;  // then: the command whose result is not
  };
  /// Valid until the next call. Integers wrap and floats are rounded to their dtype, as replay does it.
  Answer ask(const isa::Program& program, isa::ValueId id);
  void clear() { known_.clear(), elements_ = 0; }

 private:
  bool is_known(isa::ValueId id) const { return known_.contains(id); }
  bool evaluate(const isa::Program& program, isa::ValueId id);
  Numbers view(const isa::Program& program, isa::ValueId id) const;
  Numbers math(const isa::Program& program, const isa::Command& command) const;

  std::unordered_map<isa::ValueId, Numbers> known_;
  std::size_t elements_ = 0;
};

/// Whether recording can compute this operation.
bool is_evaluated(MathOp op);

}  // namespace kernbench::tl
