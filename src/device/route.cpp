#include "device/route.hpp"

#include <algorithm>
#include <limits>

#include "kernbench/error.hpp"
#include "topology/ejection.hpp"

namespace kernbench::device {

PacketTimes::PacketTimes(Bandwidth bandwidth, PacketFormat format)
    : bandwidth_(bandwidth),
      format_(format),
      full_(bandwidth.time_for(format.wire())),
      uniform_(bandwidth.is_whole_time(format.wire())) {}

namespace {

std::uint64_t key_of(topology::NodeId from, topology::NodeId to) {
  return std::uint64_t{from.index} << 32 | to.index;
}

}  // namespace

SignalRoute& RouteBook::signal_route(topology::NodeId from, topology::NodeId to) {
  const auto [at, is_new] = signal_routes_.try_emplace(key_of(from, to));
  if (!is_new) return at->second;
  KB_ASSERT(from != to, "a message from {} to itself needs no fabric", graph_.path(from));
  at->second = {graph_.latency(graph_.route(from, to)), graph_.partition(from), graph_.partition(to)};
  return at->second;
}

Route& RouteBook::route(topology::NodeId from, topology::NodeId to) {
  std::unique_ptr<Route>& slot = routes_[key_of(from, to)];
  if (!slot) {
    KB_ASSERT(from != to, "a message from {} to itself needs no fabric", graph_.path(from));
    slot = make(from, to, graph_.route(from, to));
  }
  return *slot;
}

Route& RouteBook::route(topology::NodeId from, topology::NodeId via, topology::NodeId to) {
  std::unique_ptr<Route>& slot = detours_[{from.index, via.index, to.index}];
  if (!slot) {
    std::vector<topology::LinkId> links = graph_.route(from, via);
    const std::vector<topology::LinkId> onward = graph_.route(via, to);
    links.insert(links.end(), onward.begin(), onward.end());
    slot = make(from, to, links);
  }
  return *slot;
}

namespace {

/// Its place among those known, which it joins if it is new.
std::uint8_t number_of(Bandwidth bandwidth, std::vector<Bandwidth>& known) {
  const auto at = std::ranges::find(known, bandwidth);
  const auto number = at - known.begin();
  if (at == known.end()) known.push_back(bandwidth);
  KB_ASSERT(number <= std::numeric_limits<std::uint8_t>::max(), "a way over links of {} bandwidths",
            known.size());
  return static_cast<std::uint8_t>(number);
}

}  // namespace

std::unique_ptr<Route> RouteBook::make(topology::NodeId from, topology::NodeId to,
                                       const std::vector<topology::LinkId>& links) const {
  auto route = std::make_unique<Route>();
  route->from = from;
  route->to = to;
  route->partition = graph_.partition(from);
  route->last_partition = graph_.partition(to);
  Bandwidth slowest;
  route->hops.reserve(links.size());
  for (const topology::LinkId id : links) {
    const topology::Link link = graph_.link(id);
    Hop hop;
    hop.link = id;
    hop.partition = static_cast<std::int16_t>(graph_.partition(link.from));
    hop.next_partition = static_cast<std::int16_t>(graph_.partition(link.to));
    hop.crosses = hop.partition != hop.next_partition;
    hop.leg = static_cast<std::uint8_t>(route->last_leg);
    hop.forward = topology::forward(graph_, link);
    hop.before = route->latency;
    route->latency += hop.forward;
    if (route->hops.empty() || link.bandwidth < slowest) slowest = link.bandwidth;
    hop.bandwidth = number_of(link.bandwidth, route->bandwidths);
    route->hops.push_back(hop);
    if (hop.crosses && link.to != to) ++route->last_leg;
  }
  KB_ASSERT(static_cast<std::size_t>(route->last_leg) < kLegs, "a way from {} to {} has {} legs",
            graph_.path(from), graph_.path(to), route->last_leg + 1);
  route->pace = PacketTimes(slowest, format_);
  route->hops.back().last = true;
  Time longest;
  for (Hop& hop : route->hops) {  // two times that never differ have a smaller one that never does
    const Time full = PacketTimes(route->bandwidths[hop.bandwidth], format_).full();
    hop.full = route->pace.full() == Time::never() || full == Time::never()
                   ? Time::never()
                   : std::min(full, route->pace.full());
    // Behind the slowest link nothing gets longer, whatever rounding does to the others.
    if (longest != route->pace.full())
      longest = hop.full == route->pace.full() ? hop.full : std::max(longest, hop.full);
    hop.longest = longest;
  }
  return route;
}

}  // namespace kernbench::device
