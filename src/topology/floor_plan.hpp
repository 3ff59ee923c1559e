// The machine as a picture: an SVG floor plan that a browser shows.
//
// Packages with their IO chiplets and cubes, each cube with its routers around the HBM stack, PEs, SRAM and M
// CPU where they stand, UCIe connections between them, the switch and the host; below it one cube enlarged
// with a legend. Cubes are to scale, the gaps between them are not. Machines of many SIPs show their SIPs in
// outline, and one SIP enlarged. The pointer shows every part's path and figures.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernbench/graph.hpp"
#include "kernbench/machine.hpp"

namespace kernbench::topology {

/// Own colours for parts, as CSS (`#d33`, `hsl(…)`); an empty string leaves a part as it is. This is how
/// loads are shown: with `link` given, the two directions of a connection are drawn side by side.
struct FloorPlanColours {
  std::function<std::string(NodeId)> node = {};
  std::function<std::string(LinkId)> link = {};
  std::function<std::string(CubeCoord)> cube = {};
  /// Links without a colour stay as they are on a plan without colours, and coloured ones are bold.
  bool is_rest_plain = false;
  /// What the colours mean, in a line below the title.
  struct Meaning {
    std::string colour, text;
  };
  std::vector<Meaning> legend = {};
  std::string title = {};  // empty: the name of the machine
};

std::string draw_floor_plan(const Machine& machine, const Graph& graph, const FloorPlanColours& colours = {});

}  // namespace kernbench::topology
