#include "ccl/bound.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace kernbench::ccl {
namespace {

using topology::Graph;
using topology::LinkId;
using topology::NodeKind;

/// The ways from some PEs to one.
class Ways {
 public:
  Ways(const Graph& graph, PeCoord to) : graph_(graph), to_(graph.pe(to, NodeKind::pe_tcm)) {}

  void add(PeCoord from) {
    way_.clear();
    graph_.route(graph_.pe(from, NodeKind::pe_tcm), to_, way_);
    const Time latency = graph_.latency(way_);
    shortest_ = std::min(shortest_, latency);
    longest_ = std::max(longest_, latency);
    std::ranges::reverse(way_);
    if (!any_) shared_ = way_;
    any_ = true;
    const auto differ = std::ranges::mismatch(shared_, way_);
    shared_.erase(differ.in1, shared_.end());
  }

  bool any() const { return any_; }
  Time longest() const { return longest_; }
  /// The earliest that so many bytes can be there.
  Time of(Bytes bytes) const { return shortest_ + slowest().time_for(bytes); }
  Bandwidth slowest() const {
    const auto slower = [&](LinkId a, LinkId b) {
      return graph_.link(a).bandwidth < graph_.link(b).bandwidth;
    };
    return graph_.link(*std::ranges::min_element(shared_, slower)).bandwidth;
  }

 private:
  const Graph& graph_;
  const topology::NodeId to_;
  Time shortest_ = Time::never(), longest_;
  std::vector<LinkId> way_, shared_;  // last link first; what all have in common
  bool any_ = false;
};

void consider(AllReduceBound& bound, Time time, std::string why) {
  if (time > bound.time) bound = {time, std::move(why)};
}

std::string at_rate(Bytes bytes, const std::string& to, Bandwidth rate) {
  return fmt::format("{} to {} at {:g} GB/s", to_string(bytes), to, rate.gbs());
}

/// Who may send to a SIP. SIPs are alike and meet in the switch: of the members at one place of other SIPs, two on
/// different ones stand for all.
class Senders {
 public:
  explicit Senders(const std::vector<PeCoord>& lane) {
    for (const PeCoord member : lane) {
      on_sip_[member.sip].push_back(member);
      auto& there = at_place_[{member.cube, member.pe}];
      if (there.size() < 3 && std::ranges::find(there, member.sip, &PeCoord::sip) == there.end())
        there.push_back(member);
    }
  }

  std::vector<PeCoord> to(int sip) const {
    std::vector<PeCoord> senders = on_sip_.at(sip);
    for (const auto& [place, members] : at_place_) {
      int others = 0;
      for (const PeCoord member : members)
        if (member.sip != sip && ++others <= 2) senders.push_back(member);
    }
    return senders;
  }

 private:
  std::map<int, std::vector<PeCoord>> on_sip_;
  std::map<std::pair<int, int>, std::vector<PeCoord>>
      at_place_;  // by cube and PE: the first three on different SIPs
};

/// What must come to the first member of the lane on a SIP, from all others and from those of other SIPs.
AllReduceBound bound_of(const Graph& graph, const Senders& lane, PeCoord to, Bytes bytes,
                        std::int64_t lanes) {
  Ways all(graph, to), from_outside(graph, to);
  for (const PeCoord from : lane.to(to.sip)) {
    if (from != to) all.add(from);
    if (from.sip != to.sip) from_outside.add(from);
  }
  AllReduceBound bound;
  if (!all.any()) return bound;
  consider(bound, all.longest(), fmt::format("word from the farthest to {}", to_string(to)));
  consider(bound, all.of(bytes), at_rate(bytes, to_string(to), all.slowest()));
  if (!from_outside.any()) return bound;
  // All that comes to a SIP comes over one link from the switch; every lane has as much to bring.
  const LinkId border = graph.route(graph.system_switch(), graph.io(to.sip, NodeKind::pcie_ep))[0];
  const Bandwidth rate = graph.link(border).bandwidth;
  consider(bound, from_outside.of(bytes), at_rate(bytes, to_string(to), from_outside.slowest()));
  consider(bound, rate.time_for(bytes * lanes), at_rate(bytes * lanes, fmt::format("sip{}", to.sip), rate));
  return bound;
}

}  // namespace

AllReduceBound all_reduce_bound(const Graph& graph, const std::vector<std::vector<PeCoord>>& lanes,
                                Bytes bytes) {
  AllReduceBound least{Time::never(), ""};
  if (lanes.empty()) return {};
  const Senders senders(lanes.front());
  std::set<int> seen;
  for (const PeCoord to : lanes.front()) {
    if (!seen.insert(to.sip).second) continue;
    const AllReduceBound bound = bound_of(graph, senders, to, bytes, static_cast<std::int64_t>(lanes.size()));
    if (bound.time < least.time) least = bound;
  }
  return seen.empty() ? AllReduceBound() : least;
}

}  // namespace kernbench::ccl
