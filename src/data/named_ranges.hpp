// Which tensor a byte of memory belongs to, for messages.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "kernbench/address.hpp"

namespace kernbench::data {

class NamedRanges {
 public:
  /// `size` bytes from `begin` on are called `name` from now on, whatever they were called before.
  void add(address::PhysAddr begin, Bytes size, std::string name);
  void remove(address::PhysAddr begin, Bytes size);

  /// Empty if it has no name.
  std::string name_of(address::PhysAddr at) const;
  /// `tensor 'x' +0x10, HBM sip=0 cube=0 +0x1010`, or the address alone.
  std::string describe(address::PhysAddr at) const;

 private:
  struct Range {
    std::uint64_t end;
    std::uint64_t origin;  // where the tensor's range began, even if its front was cut off since
    std::string name;
  };
  using Map = std::map<std::uint64_t, Range>;  // by first byte; ranges do not overlap

  Map::const_iterator find(std::uint64_t at) const;
  void cut_at(std::uint64_t at);

  Map ranges_;
};

}  // namespace kernbench::data
