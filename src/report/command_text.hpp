// A command in three short texts, for the `commands` table: what it does, on which values, of which shapes. The first
// and the last say the same of equal commands anywhere; value numbers and addresses are in the second alone.
#pragma once

#include <string>
#include <unordered_map>

#include "kernbench/program.hpp"

namespace kernbench::report {

struct CommandText {
  std::string text;      // `dma_read`, `add`, `max axis 1`, `send E`, `composite gemm then relu`
  std::string operands;  // `%2 = %0, 2.5`, `%0 = 0x1000`
  std::string shapes;    // `f16[32, 64] = f16[32, 16], f16[16, 64]`
};

/// Writes the commands of one program. Keeps what it has written before, for programs repeat themselves.
class CommandWriter {
 public:
  explicit CommandWriter(const isa::Program& program) : program_(program) {}
  /// The texts live until the next call.
  const CommandText& write(const isa::Command& command);

 private:
  void dma(const isa::Command& c);
  void transfer_text(const isa::Command& c);
  void compute(const isa::Command& c);
  void composite(const isa::Command& c);
  void queue(const isa::Command& c);
  void result(isa::ValueId id);
  void operand(isa::ValueId id);
  void append_value(isa::ValueId id);
  const std::string& type_of(isa::ValueId id);

  const isa::Program& program_;
  CommandText out_;
  std::unordered_map<std::uint64_t, std::string> types_;  // by shape and dtype
};

}  // namespace kernbench::report
