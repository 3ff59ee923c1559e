// Which programs of a launch touched which bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "kernbench/tl.hpp"

namespace kernbench::tl {

/// Remembers accesses of the programs of a launch, and finds one of another program at the same bytes. What either costs
/// depends on the runs of neighbouring bytes that an access has, and hardly on how many accesses there were before.
class ByteOwners {
 public:
  struct Access {
    std::uint32_t program;
    std::uint32_t number;  // the caller's name for it
  };

  void add(const Lanes& lanes, int itemsize, Access access);
  /// An access of another program to one of these bytes, if there is one.
  std::optional<Access> other(const Lanes& lanes, int itemsize, std::uint32_t program) const;

  /// Ranges of bytes that are told apart.
  std::size_t ranges() const { return ranges_.size(); }

 private:
  /// Bytes from the key in the map to `end`. Accesses of two programs are kept, of which one at least is not of the program that asks.
  struct Range {
    std::uint64_t end;
    Access first;
    std::optional<Access> second;
  };
  using Map = std::map<std::uint64_t, Range>;  // without overlaps

  void add(std::uint64_t begin, std::uint64_t end, Access access);
  /// The first range that begins at `at` or later; one that reaches over `at` is cut there.
  Map::iterator cut(std::uint64_t at);

  Map ranges_;
};

}  // namespace kernbench::tl
