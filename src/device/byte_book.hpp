// Which bytes of memory the commands of a PE touch, from the issue of a command until it retires.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "device/op_writer.hpp"
#include "isa/transfer.hpp"

namespace kernbench::device {

/// Accesses to overlapping bytes keep program order, unless both read. Many commands wait and few conflict,
/// so an entry is small and a search is a plain walk: the command asked for is mostly among the oldest.
class ByteBook {
 public:
  /// Commands must be noted in program order.
  void note(isa::CommandIndex command, std::span<const isa::Access> touched) {
    for (const isa::Access& bytes : touched) uses_.push_back({bytes.begin, bytes.end, command, bytes.write});
  }

  /// No earlier command works on its bytes. Once so, it stays so.
  bool is_free(isa::CommandIndex command) const {
    const auto [first, end] = find(command);
    for (const Use* mine = first; mine != end; ++mine)
      for (const Use* earlier = uses_.data(); earlier != first; ++earlier)
        if (conflict(*mine, *earlier)) return false;
    return true;
  }

  /// The last earlier command that conflicted with it and has retired since it was noted; null if none did.
  const Cause* freed(isa::CommandIndex command) const {
    const auto found = std::ranges::find(freed_, command, &Freed::command);
    return found == freed_.end() ? nullptr : &found->by;
  }

  void retire(isa::CommandIndex command, const Cause& retired) {
    const auto [first, end] = find(command);
    for (const Use* mine = first; mine != end; ++mine)
      for (const Use* later = end; later != uses_.data() + uses_.size(); ++later)
        if (conflict(*mine, *later)) set_free(later->command, retired);
    const auto begin = uses_.begin() + (first - uses_.data());
    uses_.erase(begin, begin + (end - first));
    if (!freed_.empty()) std::erase_if(freed_, [&](const Freed& f) { return f.command == command; });
  }

 private:
  struct Use {
    std::uint64_t begin, end;
    isa::CommandIndex command;
    bool write;
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

  static bool conflict(const Use& a, const Use& b) {
    return a.begin < b.end && b.begin < a.end && (a.write || b.write);
  }

  void set_free(isa::CommandIndex command, const Cause& by) {
    const auto found = std::ranges::find(freed_, command, &Freed::command);
    if (found != freed_.end())
      found->by = by;
    else
      freed_.push_back({command, by});
  }

  std::vector<Use> uses_;  // by command
  std::vector<Freed> freed_;
};

}  // namespace kernbench::device
