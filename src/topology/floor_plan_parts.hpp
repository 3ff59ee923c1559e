// The parts a floor plan is put together from. All lengths are px unless they say mm.
#pragma once

#include <functional>
#include <optional>

#include "topology/figures.hpp"
#include "topology/floor_plan.hpp"
#include "topology/svg.hpp"

namespace kernbench::topology {

/// What every part needs to draw itself.
struct FloorPlan {
  Svg& svg;
  const Machine& machine;
  const Graph& graph;
  const FloorPlanColours& colours;
  Figures figures;

  /// A class and the tooltip `path: text`, in the node's own colour if it has one.
  Svg::Look look(std::string_view css_class, NodeId node, const std::string& text) const;
  /// Is each direction of this link drawn by itself?
  bool is_coloured(LinkId link) const;
  /// A link along points. Without own colours only one of its two directions is drawn.
  void wire(std::string_view css_class, LinkId link, std::vector<Point> points) const;
  /// Every link of a SIP whose ends both have a place.
  using Place = std::function<std::optional<Point>(NodeId, const Node&)>;
  void wires(int sip, const Place& place) const;
};

/// Sizes of a cube in a drawing.
struct CubeShape {
  double scale = 1;               // px per mm
  double w = 0, h = 0;            // of the cube
  double cell_w = 0, cell_h = 0;  // of the square a router stands in

  CubeShape(const Machine& machine, double px_per_mm);
  /// Where a node of a cube stands; UCIe connections stand on the rim. Nothing for what is drawn without
  /// wires.
  std::optional<Point> place(const Node& node, Point origin) const;
};

void draw_cube_ground(const FloorPlan& plan, const CubeShape& shape, CubeCoord cube, Point origin);
/// Everything on a cube but its wires. `caption` stands on the HBM stack.
void draw_cube_parts(const FloorPlan& plan, const CubeShape& shape, CubeCoord cube, Point origin,
                     const std::vector<std::string>& caption);

/// Sizes of a SIP: the IO chiplet, and below it the mesh of cubes.
struct SipShape {
  CubeShape cube;
  MeshCoord mesh;
  double gap = 0, margin = 0, header = 0, io_h = 0;

  SipShape(const Machine& machine, double px_per_mm);
  double width() const { return 2 * margin + mesh.x * cube.w + (mesh.x - 1) * gap; }
  double height() const { return header + io_h + mesh.y * (cube.h + gap) + margin; }
  Point cube_at(int id, Point origin) const;
  Point pcie_at(Point origin) const;  // where the wire to the switch leaves
};

/// A SIP with everything on it, or its cubes as plain boxes.
enum class Detail { full, outline };
void draw_sip(const FloorPlan& plan, const SipShape& shape, int sip, Point origin, Detail detail);

/// A cube at a larger scale, the legend of all parts with their figures, and the peaks: side by side or below
/// each other.
enum class Flow { row, column };
struct Extent {
  double width, height;
};
Extent draw_panel(const FloorPlan& plan, Point origin, Flow flow);

/// A bar of a round number of mm that is at most `most` px long.
void draw_scale_bar(const FloorPlan& plan, double px_per_mm, Point at, double most);

}  // namespace kernbench::topology
