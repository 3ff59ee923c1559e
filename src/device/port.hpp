// A link at whose end messages arrive and that others use, too: the write port of a TCM.
#pragma once

#include <vector>

#include "device/source.hpp"

namespace kernbench::device {

class Port {
 public:
  Port(Fabric& fabric, sim::Partition& partition, LinkState& link)
      : fabric_(fabric), partition_(partition), link_(link) {}

  /// Takes the link, behind the packets whose heads came before this instant. Of those who come at one instant, uses
  /// go first, by rank, then heads.
  void occupy(const PortUse& use);

 private:
  Fabric& fabric_;
  sim::Partition& partition_;
  LinkState& link_;
  Time instant_ = Time::from_ps(-1);  // of the latest use
  Time link_was_free_at_;             // before the uses of that instant
  std::vector<PortUse> uses_;         // of that instant, by rank
};

}  // namespace kernbench::device
