// Which bytes of memory the commands of a PE touch, from the issue of a command until it retires.
#pragma once

#include <span>
#include <vector>

#include "device/op_writer.hpp"
#include "isa/transfer.hpp"

namespace kernbench::device {

/// Accesses to overlapping bytes keep program order, unless both read. Many commands wait and few conflict,
/// so a search is a plain walk: the command asked for is mostly among the oldest.
class ByteBook {
 public:
  /// Commands must be noted in program order.
  void note(isa::CommandIndex command, std::span<const isa::Access> touched) {
    for (const isa::Access& bytes : touched) uses_.push_back({bytes, command});
  }

  /// No earlier command works on its bytes. Once so, it stays so.
  bool is_free(isa::CommandIndex command) const {
    const auto [first, end] = find(command);
    for (const Use* mine = first; mine != end; ++mine)
      for (const Use* earlier = uses_.data(); earlier != first; ++earlier)
        if (conflict(mine->bytes, earlier->bytes)) return false;
    return true;
  }

  /// The last earlier command that conflicted with it and has retired since it was noted; null if none did.
  const Cause* freed(isa::CommandIndex command) const;

  void retire(isa::CommandIndex command, const Cause& retired);

 private:
  struct Use {
    isa::Access bytes;
    isa::CommandIndex command;
  };
  struct Freed {
    isa::CommandIndex command;
    Cause by;
  };

  struct Range {
    const Use* first;
    const Use* end;
  };
  Range find(isa::CommandIndex command) const {
    const Use* const all = uses_.data() + uses_.size();
    const Use* first = uses_.data();
    while (first != all && first->command < command) ++first;
    const Use* end = first;
    while (end != all && end->command == command) ++end;
    return {first, end};
  }

  static bool conflict(const isa::Access& a, const isa::Access& b) {
    return a.begin < b.end && b.begin < a.end && (a.write || b.write);
  }

  void set_free(isa::CommandIndex command, const Cause& by);

  std::vector<Use> uses_;  // by command
  std::vector<Freed> freed_;
};

}  // namespace kernbench::device
