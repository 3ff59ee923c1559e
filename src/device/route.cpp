#include "device/route.hpp"

#include <algorithm>

#include "kernbench/error.hpp"

namespace kernbench::device {

PacketTimes::PacketTimes(Bandwidth bandwidth, Bytes packet)
    : bandwidth_(bandwidth),
      packet_(packet),
      full_(bandwidth.time_for(packet)),
      uniform_(bandwidth.is_whole_time(packet)) {}

Route& RouteBook::route(topology::NodeId from, topology::NodeId to) {
  const std::uint64_t key = std::uint64_t{from.index} << 32 | to.index;
  std::unique_ptr<Route>& slot = routes_[key];
  if (!slot) slot = make(from, to);
  return *slot;
}

std::unique_ptr<Route> RouteBook::make(topology::NodeId from, topology::NodeId to) const {
  KB_ASSERT(from != to, "a message from {} to itself needs no fabric", graph_.path(from));
  auto route = std::make_unique<Route>();
  route->from = from;
  route->to = to;
  route->partition = graph_.partition(from);
  route->last_partition = graph_.partition(to);
  route->local = true;
  Bandwidth slowest;
  for (const topology::LinkId id : graph_.route(from, to)) {
    const topology::Link link = graph_.link(id);
    Hop hop;
    hop.link = id;
    hop.partition = static_cast<std::int16_t>(graph_.partition(link.from));
    hop.next_partition = static_cast<std::int16_t>(graph_.partition(link.to));
    hop.crosses = hop.partition != hop.next_partition;
    hop.bandwidth = link.bandwidth;
    hop.forward = link.wire + graph_.node(link.to).latency();
    hop.before = route->latency;
    route->latency += hop.forward;
    route->local &= hop.next_partition == route->partition;
    if (route->hops.empty() || link.bandwidth < slowest) slowest = link.bandwidth;
    route->hops.push_back(hop);
  }
  route->pace = PacketTimes(slowest, packet_);
  route->hops.back().last = true;
  for (Hop& hop : route->hops) {  // two times that never differ have a smaller one that never does
    const Time full = PacketTimes(hop.bandwidth, packet_).full();
    hop.full = route->pace.full() == Time::never() || full == Time::never()
                   ? Time::never()
                   : std::min(full, route->pace.full());
  }
  return route;
}

}  // namespace kernbench::device
