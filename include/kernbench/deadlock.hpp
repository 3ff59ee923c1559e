// Deadlocks: programs that wait for each other's messages and credits, with nothing left that could happen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernbench/coords.hpp"
#include "kernbench/error.hpp"

namespace kernbench {

/// A PE whose program cannot go on.
struct BlockedPe {
  struct Wait {
    std::string command;         // `recv W`, `send E`, `fence`
    std::string line;            // `ring.cpp:12`
    std::string what;            // `no message from sip0.cube0.pe1`, `no credit from …`
    std::vector<PeCoord> peers;  // who could end it
  };
  struct Ring {
    std::string direction;
    int slots = 0;
    std::uint32_t my_head = 0, peer_tail_cache = 0;  // messages sent, and of these known to be consumed
    std::uint32_t peer_head_cache = 0, my_tail = 0;  // messages announced, and of these received
    bool sends = true, receives = true;              // else those counters mean nothing
  };
  struct LiveTile {  // holds the credit of its slot
    std::string direction;
    int slot = 0;
    std::string received;  // the line of its receive
    std::string reader;    // `send E at ring.cpp:14`: the last command that reads it
  };

  PeCoord pe;
  std::string kernel;
  std::vector<Wait>
      waits;  // commands that wait for another PE; if none does, the oldest that has not retired
  std::vector<Ring> rings;
  std::vector<LiveTile> live_tiles;
};

/// `what()` shows the PEs, of many one for all that wait at the same lines, the circle, and what to do; the rest is here.
class IpcqDeadlock : public SimulationError {
 public:
  IpcqDeadlock(std::vector<BlockedPe> blocked, std::vector<PeCoord> circle);

  /// In the order of coordinates.
  const std::vector<BlockedPe>& blocked() const { return blocked_; }
  /// Each waits for the next one, the last for the first; empty if there is no such circle.
  const std::vector<PeCoord>& circle() const { return circle_; }

 private:
  std::vector<BlockedPe> blocked_;
  std::vector<PeCoord> circle_;
};

std::string to_string(const BlockedPe& blocked);

}  // namespace kernbench
