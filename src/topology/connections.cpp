#include "topology/connections.hpp"

namespace kernbench::topology {
namespace {

/// PEs of a cube whose corners are NW, NE, SW, SE: the first half stands in the north, each half from west to east.
struct Layout {
  int pes;
  int half() const { return pes / 2; }
  bool in_south(int pe) const { return pe >= half(); }
  bool in_east(int pe) const { return pe % half() >= half() / 2; }
  int mirrored_in_x(int pe) const { return pe - pe % half() + half() - 1 - pe % half(); }
  int mirrored_in_y(int pe) const { return (pe + half()) % pes; }
};

/// Eastward, of a sender in the north: a number below `pes`, different for each receiver.
int rank_eastward(const Layout& all, int from, int to) {
  const int sum = (from + to) % all.pes;
  return 2 * (sum % all.half()) + sum / all.half();
}

/// Northward, of a sender in the west: the same.
int rank_northward(const Layout& all, int from, int to) {
  const int sum = from % all.half() + to % all.half() + (all.in_south(from) ? 0 : 1);
  return 2 * (sum % all.half()) + (all.in_south(from) != all.in_south(to) ? 1 : 0);
}

}  // namespace

int connection_between(int from, int to, Side side, int pes, int connections) {
  if (pes % 4 != 0) return (from + to) % pes * connections / pes;  // no mirror images
  const Layout all{pes};
  const bool across = side == Side::E || side == Side::W;
  const auto mirror = [&](bool in_x) {
    from = in_x ? all.mirrored_in_x(from) : all.mirrored_in_y(from);
    to = in_x ? all.mirrored_in_x(to) : all.mirrored_in_y(to);
  };
  if (side == Side::W || side == Side::S) mirror(across);  // to E or N, which does not change the connection
  const bool turned = across ? all.in_south(from) : all.in_east(from);
  if (turned) mirror(!across);  // to N or W, which changes it to the one opposite
  const int rank = across ? rank_eastward(all, from, to) : rank_northward(all, from, to);
  const int connection = rank * connections / pes;
  return turned ? connections - 1 - connection : connection;
}

}  // namespace kernbench::topology
