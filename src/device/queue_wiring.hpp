// Queues between PEs as they are to be installed: who talks to whom, in which rings. A wiring is computed
// first, by a pure function; messages then carry it to the PEs.
//
// Each direction of a PE that receives has a ring of its own, in the PE's memory, into which its peer sends; a ring
// carries one way. Rings are `slots · slot_size` bytes and disjoint, over all PEs and wirings.
#pragma once

#include <string>
#include <vector>

#include "kernbench/address.hpp"
#include "kernbench/coords.hpp"
#include "kernbench/units.hpp"

namespace kernbench::device {

enum class CreditPolicy {
  on_last_use,  // a slot is free when the last reader of its tile has retired
  on_recv,      // a slot is free when it has been received; overwriting a live tile is a hazard
};

enum class Backpressure {
  sleep,  // a sender without credit goes on when one comes
  poll,   // it looks every `poll` after its first try
};

struct QueueRules {
  int slots = 4;  // of each ring
  Bytes slot_size = Bytes(4096);
  address::MemorySpace memory = address::MemorySpace::Tcm;  // the PE's TCM, its HBM slice, its cube's SRAM
  CreditPolicy credit = CreditPolicy::on_last_use;
  Backpressure backpressure = Backpressure::sleep;
  Time poll = Time::from_ps(100'000);
  Bytes credit_bytes = Bytes(16);  // of the message that returns a credit
};

/// A direction of a PE.
struct QueueEnd {
  std::string direction;
  PeCoord peer;
  address::PhysAddr receives_from;     // the ring at this PE that the peer sends into
  address::PhysAddr sends_to;          // the ring at the peer
  bool sends = true, receives = true;  // else there is no such ring
};

struct PeQueues {
  PeCoord pe;
  std::vector<QueueEnd> ends;
};

struct QueueWiring {
  std::string name;
  QueueRules rules;
  std::vector<PeQueues> pes;
};

}  // namespace kernbench::device
