// Ejection ports: with `cube.routers.eject: port`, messages for a router itself leave the network over one link there, from the router to
// itself. It is the last link of every route to that router and adds no latency.
#pragma once

#include "kernbench/graph.hpp"
#include "kernbench/machine.hpp"

namespace kernbench::topology {

/// Whether routers have ejection ports: `auto` is `port` with `flow: credits`.
inline bool has_ejection_ports(const Machine& machine) {
  const ParamSet& routers = machine.at("cube.routers");
  const std::string& eject = routers.text("eject");
  return eject == "port" || (eject == "auto" && routers.text("flow") == "credits");
}

inline bool is_ejection_port(const Link& link) { return link.from == link.to; }

/// Wire, and latency of the node that the link leads to: from the head at the link to the head at the next one.
inline Time forward(const Graph& graph, const Link& link) {
  return is_ejection_port(link) ? Time() : link.wire + graph.node(link.to).latency();
}

}  // namespace kernbench::topology
