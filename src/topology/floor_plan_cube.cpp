#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "topology/floor_plan_parts.hpp"

namespace kernbench::topology {
namespace {

bool is_horizontal(int side) {
  return side == static_cast<int>(Side::N) || side == static_cast<int>(Side::S);
}

/// The hole of the router grid; with none, a third of the cube.
Box hbm_box(const FloorPlan& plan, const CubeShape& shape, Point origin) {
  const auto& hole = plan.machine.at("cube.routers").numbers("hole");
  const Point centre{origin.x + shape.w / 2, origin.y + shape.h / 2};
  if (hole[0] == 0) return Box::around(centre, shape.w / 3, shape.h / 3);
  return Box::around(centre, hole[1] * shape.cell_w * 0.94, hole[0] * shape.cell_h * 0.94);
}

/// The stack with one field per slice, in the order of the corners.
void draw_hbm(const FloorPlan& plan, const CubeShape& shape, CubeCoord cube, Point origin,
              const std::vector<std::string>& caption) {
  const Box box = hbm_box(plan, shape, origin);
  for (const double layer : {2.0, 1.0, 0.0}) {  // dies on top of each other
    const double shift = layer * shape.cell_w * 0.07;
    plan.svg.rect({box.x + shift, box.y + shift, box.w, box.h}, shape.cell_w * 0.1, {.css_class = "hbm"});
  }
  const int pes = plan.graph.pes();
  const int cols = (pes + 1) / 2;
  const std::string figures = fmt::format("HBM slice {}, {}", to_string(plan.machine.hbm_slice()),
                                          rate_text(plan.figures.pe.hbm_gbs));
  const double w = box.w / cols;
  const double h = box.h / (pes > 1 ? 2 : 1);
  for (int pe = 0; pe < pes; ++pe) {
    const MeshCoord at = MeshCoord::of(pe, cols);
    const Box slice{box.x + at.x * w, box.y + at.y * h, w, h};
    plan.svg.rect(slice, 0, plan.look("slice", plan.graph.hbm_ctrl({cube.sip, cube.cube, pe}), figures));
  }
  const double lines = static_cast<double>(caption.size());
  double size = box.h * 0.8 / std::max(2.0, lines) * 0.8;
  size = fitting_size(box.w * 0.92, "cube 12", size);  // letters as large on all cubes
  for (const std::string& line : caption) size = fitting_size(box.w * 0.92, line, size);
  double y = box.centre().y - (lines - 1) * size * 0.62 + size * 0.36;
  for (std::size_t i = 0; i < caption.size(); ++i, y += size * 1.24)
    plan.svg.text({box.centre().x, y}, size, i == 0 ? "on strong" : "on", caption[i]);
}

void draw_service(const FloorPlan& plan, const CubeShape& shape, NodeId id, Point origin, const char* name,
                  std::string_view css_class, const std::string& figures) {
  const Point at = *shape.place(plan.graph.node(id), origin);
  const Box box = Box::around(at, shape.cell_w * 0.78, shape.cell_h * 0.46);
  plan.svg.rect(box, box.h * 0.2, plan.look(css_class, id, figures));
  const double size = fitting_size(box.w * 0.9, name, box.h * 0.62);
  plan.svg.text({at.x, at.y + size * 0.36}, size, "inv", name);
}

struct PePlace {
  int pe;
  Box box;
  bool alone;  // on its router
};

/// PEs of the same router share the square around it.
std::vector<PePlace> pe_places(const FloorPlan& plan, const CubeShape& shape, Point origin) {
  const Graph& graph = plan.graph;
  std::map<std::pair<double, double>, std::vector<int>> at_router;
  for (int pe = 0; pe < graph.pes(); ++pe) {
    const Point at = graph.node(graph.pe({0, 0, pe}, NodeKind::pe_dma)).at;
    at_router[{at.x, at.y}].push_back(pe);
  }
  std::vector<PePlace> places;
  for (const auto& [at, pes] : at_router) {
    const Point centre{origin.x + at.first * shape.scale, origin.y + at.second * shape.scale};
    const Box all = Box::around(centre, shape.cell_w * 0.84, shape.cell_h * 0.8);
    const bool alone = pes.size() == 1;
    const double w = all.w / static_cast<double>(pes.size());
    for (std::size_t i = 0; i < pes.size(); ++i)
      places.push_back(
          {pes[i], {all.x + static_cast<double>(i) * w, all.y, alone ? w : w * 0.94, all.h}, alone});
  }
  return places;
}

void draw_pes(const FloorPlan& plan, const CubeShape& shape, CubeCoord cube, Point origin) {
  const std::vector<PePlace> places = pe_places(plan, shape, origin);
  const std::string figures =
      fmt::format("{} matrix, {} vector, TCM {}", flops_text(plan.figures.pe.gemm_tflops),
                  ops_text(plan.figures.pe.math_gops), to_string(plan.figures.pe.tcm));
  for (const auto& [pe, box, alone] : places) {
    const PeCoord coord{cube.sip, cube.cube, pe};
    Svg::Look look = plan.look("pe", plan.graph.pe(coord, NodeKind::pe_dma), "");
    look.title = fmt::format("{}: {}", to_string(coord), figures);
    plan.svg.rect(box, std::min(box.h, box.w) * 0.12, look);
  }
  for (const auto& [pe, box, alone] : places) {
    const std::string name = fmt::format("{}{}", alone ? "PE" : "", pe);
    const double size = fitting_size(box.w * 0.9, name, box.h * 0.3);
    plan.svg.text({box.centre().x, box.y + box.h * 0.07 + size * 0.74}, size, "inv", name);
  }
}

void draw_routers(const FloorPlan& plan, const CubeShape& shape, CubeCoord cube, Point origin) {
  const ParamSet& params = plan.machine.at("cube.routers");
  const double radius = std::min(shape.cell_w, shape.cell_h) * 0.1;
  const auto rows = static_cast<int>(params.integer("rows"));
  const auto cols = static_cast<int>(params.integer("cols"));
  const std::string figures = fmt::format("router, {} ns", params.number("overhead_ns"));
  for (int row = 0; row < rows; ++row)
    for (int col = 0; col < cols; ++col)
      if (plan.graph.has_router(row, col)) {
        const NodeId id = plan.graph.router(cube, row, col);
        plan.svg.circle(*shape.place(plan.graph.node(id), origin), radius, plan.look("router", id, figures));
      }
}

/// Is there a cube, or the IO chiplet, beyond this side?
bool has_neighbour(MeshCoord mesh, int cube, Side side) {
  const MeshCoord at = MeshCoord::of(cube, mesh.x);
  return side == Side::N || (side == Side::W && at.x > 0) || (side == Side::E && at.x + 1 < mesh.x) ||
         (side == Side::S && at.y + 1 < mesh.y);
}

void draw_ucie(const FloorPlan& plan, const CubeShape& shape, CubeCoord cube, Point origin) {
  const ParamSet& params = plan.machine.at("cube.ucie");
  const double pad = std::min(shape.cell_w, shape.cell_h) * 0.34;
  const auto connections = static_cast<int>(params.integer("connections"));
  const std::string figures = fmt::format("UCIe connection, {} GB/s each way, {} ns", params.number("bw_gbs"),
                                          params.number("overhead_ns"));
  for (const Side side : kSides) {
    for (int k = 0; k < connections; ++k) {
      const NodeId id = plan.graph.ucie(cube, side, k);
      const Node node = plan.graph.node(id);
      const bool flat = is_horizontal(node.side);
      plan.svg.rect(Box::around(*shape.place(node, origin), flat ? pad * 1.5 : pad, flat ? pad : pad * 1.5),
                    pad * 0.2,
                    plan.look(has_neighbour(plan.graph.cube_mesh(), cube.cube, side) ? "ucie" : "ucie rim",
                              id, figures));
    }
  }
}

}  // namespace

CubeShape::CubeShape(const Machine& machine, double px_per_mm) : scale(px_per_mm) {
  const auto& size = machine.at("cube").numbers("size_mm");
  w = size[0] * scale;
  h = size[1] * scale;
  cell_w = w / static_cast<double>(machine.at("cube.routers").integer("cols"));
  cell_h = h / static_cast<double>(machine.at("cube.routers").integer("rows"));
}

std::optional<Point> CubeShape::place(const Node& node, Point origin) const {
  const Point at{origin.x + node.at.x * scale, origin.y + node.at.y * scale};
  switch (node.kind) {
    case NodeKind::router:
    case NodeKind::m_cpu:
    case NodeKind::sram:
      return at;
    case NodeKind::ucie:
      if (is_horizontal(node.side))
        return Point{at.x, origin.y + (node.side == static_cast<int>(Side::N) ? 0 : h)};
      return Point{origin.x + (node.side == static_cast<int>(Side::W) ? 0 : w), at.y};
    default:
      return std::nullopt;
  }
}

void draw_cube_ground(const FloorPlan& plan, const CubeShape& shape, CubeCoord cube, Point origin) {
  plan.svg.rect(
      {origin.x, origin.y, shape.w, shape.h}, shape.cell_w * 0.14,
      {.css_class = "cube",
       .title = fmt::format("{}: {}, HBM {}, {}", to_string(cube), flops_text(plan.figures.cube.gemm_tflops),
                            to_string(plan.figures.cube.hbm), rate_text(plan.figures.cube.hbm_gbs)),
       .colour = plan.colours.cube ? plan.colours.cube(cube) : ""});
}

void draw_cube_parts(const FloorPlan& plan, const CubeShape& shape, CubeCoord cube, Point origin,
                     const std::vector<std::string>& caption) {
  const ParamSet& sram = plan.machine.at("cube.sram");
  draw_hbm(plan, shape, cube, origin, caption);
  draw_ucie(plan, shape, cube, origin);
  draw_pes(plan, shape, cube, origin);
  draw_routers(plan, shape, cube, origin);
  draw_service(plan, shape, plan.graph.sram(cube), origin, "SRAM", "sram",
               fmt::format("{}, {} GB/s, {} ns", to_string(plan.figures.cube.sram), sram.number("bw_gbs"),
                           sram.number("overhead_ns")));
  draw_service(plan, shape, plan.graph.m_cpu(cube), origin, "M CPU", "cpu",
               fmt::format("management CPU, {} ns", plan.machine.at("cube.m_cpu").number("overhead_ns")));
}

}  // namespace kernbench::topology
