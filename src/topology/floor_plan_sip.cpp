#include <fmt/format.h>

#include <algorithm>

#include "topology/floor_plan_parts.hpp"

namespace kernbench::topology {
namespace {

/// The IO chiplet: endpoint and CPU above the bar of its network, whose ports face the cubes below.
struct IoShape {
  Box body, pcie_ep, io_cpu, noc;

  IoShape(const SipShape& sip, Point origin) {
    const double inner = sip.width() - 2 * sip.margin;
    body = {origin.x + sip.margin, origin.y + sip.header, inner, sip.io_h};
    const double w = std::min(inner * 0.3, sip.cube.w * 0.6);
    const double h = sip.io_h * 0.34;
    const double y = body.y + sip.io_h * 0.12;
    pcie_ep = {body.centre().x - w / 2, y, w, h};
    io_cpu = {pcie_ep.x + w * 1.2, y, w, h};
    noc = {body.x + sip.gap * 0.25, body.y + sip.io_h * 0.58, inner - sip.gap * 0.5, sip.io_h * 0.18};
  }
};

void label(const FloorPlan& plan, const Box& box, double size, const char* text) {
  plan.svg.text({box.centre().x, box.centre().y + size * 0.36}, size, "inv", text);
}

void draw_io_parts(const FloorPlan& plan, const SipShape& shape, const IoShape& io, int sip) {
  const auto figures = [&](const char* path, const char* what) {
    return fmt::format("{}, {} ns", what, plan.machine.at(path).number("overhead_ns"));
  };
  const double radius = io.pcie_ep.h * 0.18;
  const double size = std::min(io.pcie_ep.h * 0.62, io.pcie_ep.w * 0.2);
  plan.svg.rect(
      io.noc, radius * 0.6,
      plan.look("noc", plan.graph.io(sip, NodeKind::io_noc), figures("sip.io.io_noc", "IO network")));
  plan.svg.rect(
      io.pcie_ep, radius,
      plan.look("pcie", plan.graph.io(sip, NodeKind::pcie_ep), figures("sip.io.pcie_ep", "PCIe endpoint")));
  label(plan, io.pcie_ep, size, "PCIe EP");
  plan.svg.rect(io.io_cpu, radius,
                plan.look("cpu", plan.graph.io(sip, NodeKind::io_cpu), figures("sip.io.io_cpu", "IO CPU")));
  label(plan, io.io_cpu, size, "IO CPU");
  plan.svg.text({io.noc.x, io.pcie_ep.centre().y + size * 0.36}, size, "muted", "IO chiplet",
                Svg::Anchor::start);
  const auto connections = static_cast<int>(plan.machine.at("cube.ucie").integer("connections"));
  const double pad = std::min(shape.cube.cell_w, shape.cube.cell_h) * 0.34;
  for (int col = 0; col < shape.mesh.x; ++col)
    for (int k = 0; k < connections; ++k) {
      const Node facing = plan.graph.node(plan.graph.ucie({sip, col}, Side::N, k));
      const double x = shape.cube.place(facing, {io.body.x + col * (shape.cube.w + shape.gap), 0})->x;
      plan.svg.rect(
          Box::around({x, io.body.y + io.body.h}, pad * 1.5, pad), pad * 0.2,
          plan.look("ucie", plan.graph.io_ucie(sip, col, k), figures("cube.ucie", "UCIe connection")));
    }
}

/// Where the wires of a SIP end.
FloorPlan::Place sip_places(const FloorPlan& plan, const SipShape& shape, const IoShape& io, Point origin) {
  return [&plan, shape, io, origin](NodeId, const Node& node) -> std::optional<Point> {
    if (node.cube >= 0) return shape.cube.place(node, shape.cube_at(node.cube, origin));
    switch (node.kind) {
      case NodeKind::pcie_ep:
        return io.pcie_ep.centre();
      case NodeKind::io_cpu:
        return io.io_cpu.centre();
      case NodeKind::io_noc:
        return io.noc.centre();
      case NodeKind::io_ucie: {
        const Node facing = plan.graph.node(plan.graph.ucie({node.sip, node.col}, Side::N, node.conn));
        return Point{shape.cube.place(facing, shape.cube_at(node.col, origin))->x, io.body.y + io.body.h};
      }
      default:
        return std::nullopt;
    }
  };
}

void draw_full(const FloorPlan& plan, const SipShape& shape, const IoShape& io, int sip, Point origin) {
  for (int cube = 0; cube < plan.graph.cubes(); ++cube)
    draw_cube_ground(plan, shape.cube, {sip, cube}, shape.cube_at(cube, origin));
  plan.wires(sip, sip_places(plan, shape, io, origin));
  draw_io_parts(plan, shape, io, sip);
  for (int cube = 0; cube < plan.graph.cubes(); ++cube)
    draw_cube_parts(plan, shape.cube, {sip, cube}, shape.cube_at(cube, origin),
                    {fmt::format("cube {}", cube), to_string(plan.figures.cube.hbm)});
}

/// Cubes as plain boxes. Only coloured ones have something to tell.
void draw_outline(const FloorPlan& plan, const SipShape& shape, int sip, Point origin) {
  for (int cube = 0; cube < plan.graph.cubes(); ++cube) {
    const Point at = shape.cube_at(cube, origin);
    Svg::Look look{.css_class = "cube"};
    if (plan.colours.cube) look.colour = plan.colours.cube({sip, cube});
    if (!look.colour.empty()) look.title = to_string(CubeCoord{sip, cube});
    plan.svg.rect({at.x, at.y, shape.cube.w, shape.cube.h}, 0, look);
  }
}

}  // namespace

SipShape::SipShape(const Machine& machine, double px_per_mm)
    : cube(machine, px_per_mm), mesh(machine.cube_mesh()) {
  const double unit = std::max(cube.w, cube.h);
  gap = unit * 0.2;
  margin = unit * 0.14;
  header = std::clamp(unit * 0.24, 20.0, 46.0);
  io_h = unit * 0.46;
}

Point SipShape::cube_at(int id, Point origin) const {
  const MeshCoord at = MeshCoord::of(id, mesh.x);
  return {origin.x + margin + at.x * (cube.w + gap), origin.y + header + io_h + gap + at.y * (cube.h + gap)};
}

Point SipShape::pcie_at(Point origin) const {
  const Box endpoint = IoShape(*this, origin).pcie_ep;
  return {endpoint.centre().x, endpoint.y};
}

void draw_sip(const FloorPlan& plan, const SipShape& shape, int sip, Point origin, Detail detail) {
  const double unit = std::max(shape.cube.w, shape.cube.h);
  const IoShape io(shape, origin);
  plan.svg.rect(
      {origin.x, origin.y, shape.width(), shape.height()}, unit * 0.1,
      {.css_class = "sip",
       .title = fmt::format("sip{}: {}, {}, HBM {}, {}", sip, count_text(plan.figures.sip.pes, "PE", "PEs"),
                            flops_text(plan.figures.sip.gemm_tflops), to_string(plan.figures.sip.hbm),
                            rate_text(plan.figures.sip.hbm_gbs))});
  plan.svg.text({origin.x + shape.margin, origin.y + shape.header * 0.72}, shape.header * 0.6, "strong",
                fmt::format("SIP {}", sip), Svg::Anchor::start);
  plan.svg.rect(io.body, unit * 0.04, {.css_class = "io", .title = fmt::format("sip{}: IO chiplet", sip)});
  if (detail == Detail::full)
    draw_full(plan, shape, io, sip, origin);
  else
    draw_outline(plan, shape, sip, origin);
}

}  // namespace kernbench::topology
