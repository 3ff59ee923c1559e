// Messages that move in one piece.
//
// While no other message uses any link of a message's route, all its times follow from the formula of the
// unloaded fabric, and one event stands for all its packets. Messages of the same route may follow each
// other: they are offered at the pace of the slowest link, so that none catches up with the one before it. As
// soon as another message claims one of the links, the message is taken apart: every packet is put exactly
// where it would be had it moved on its own.
#pragma once

#include "device/fabric.hpp"

namespace kernbench::device {

class RunMode {
 public:
  explicit RunMode(Fabric& fabric) : fabric_(fabric) {}

  /// Starts the message in one piece if it has its route to itself; else does nothing.
  bool try_start(Message& message);
  /// Takes all messages of the route apart.
  void take_apart(Route& route);
  /// The message has arrived in one piece.
  void finish(Message& message);

 private:
  bool has_route_to_itself(const Route& route, Time first_start) const;
  void plan_starts(Message& message, Time first_start);
  void take_apart(Message& message);
  std::int64_t started_by(const Message& message, Time now, Time before) const;
  void place_packets(Message& message, Time now);
  void settle_links(Message& message, Time now);
  static void unlink(Message& message);

  Fabric& fabric_;
};

}  // namespace kernbench::device
