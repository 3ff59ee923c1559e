// A link at whose end messages arrive and that others use, too: the write port of a TCM.
#pragma once

#include <cstdint>
#include <vector>

#include "device/source.hpp"

namespace kernbench::device {

class Port {
 public:
  Port(Fabric& fabric, sim::Partition& partition, LinkState& link, std::uint32_t number)
      : fabric_(fabric), partition_(partition), link_(link), number_(number), all_have_asked_(*this) {}

  /// Takes the link, behind the packets whose heads came before this instant. Of those who come at one instant, uses
  /// go first, by rank, then heads.
  void occupy(const PortUse& use);

 private:
  void take();

  Fabric& fabric_;
  sim::Partition& partition_;
  LinkState& link_;
  const std::uint32_t number_;  // the link's
  std::vector<PortUse> uses_;   // that ask at this instant, by rank
  sim::MemberEvent<&Port::take> all_have_asked_;
};

}  // namespace kernbench::device
