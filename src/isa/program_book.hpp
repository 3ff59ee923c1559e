// Programs that differ in addresses alone keep the rest of it once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "kernbench/program.hpp"

namespace kernbench::isa {

/// Knows the bodies of programs that are still around. Not for several threads at once.
class ProgramBook {
 public:
  /// If a known program that is still around is alike in all but addresses and PE, the two share that from now on.
  void share(Program& program);
  /// An identity of what programs may share: compare it, do not look inside.
  static std::shared_ptr<const void> shared_part(const Program& program) { return program.body_; }

 private:
  /// Of one size, those that came last: programs of a launch have a few bodies, or each its own.
  struct Shelf {
    std::array<std::weak_ptr<const Program::Body>, 4> bodies;
    std::size_t next = 0;  // to be replaced
  };
  static std::uint64_t size_of(const Program::Body& body);

  std::unordered_map<std::uint64_t, Shelf> shelves_;
};

}  // namespace kernbench::isa
