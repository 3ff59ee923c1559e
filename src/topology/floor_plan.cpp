#include "topology/floor_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "topology/floor_plan_parts.hpp"

namespace kernbench::topology {
namespace {

constexpr double kMargin = 48;
constexpr double kTitleHeight = 110, kLegendHeight = 46;
constexpr double kHostWidth = 150, kHostHeight = 46, kSwitchHeight = 46;
constexpr double kWireGap = 5;            // between wires that run side by side
constexpr std::int64_t kDetailed = 5000;  // routers and PEs that are drawn one by one
constexpr int kWired = 64;                // SIPs whose wires to the switch are drawn

constexpr std::string_view kStyle = R"(
svg { font-family: "Helvetica Neue", Helvetica, Arial, "DejaVu Sans", sans-serif; fill: #22303c; }
text { pointer-events: none; }
.strong { font-weight: 600; }
.muted { fill: #5f6f7d; }
.inv { fill: #fff; font-weight: 600; }
.on { fill: #5a3a05; }
.page { fill: #f8f7f3; }
.sip { fill: #dce3ea; stroke: #b4c0cb; }
.io { fill: #f6e6e4; stroke: #d9a7a2; }
.cube { fill: #fff; stroke: #9db0c0; }
.hbm { fill: #f4bd5b; stroke: #c2862a; stroke-width: .8; }
.slice { fill: #fff; fill-opacity: .16; stroke: #cf9433; stroke-opacity: .45; stroke-width: .6; }
.pe { fill: #3a78cf; }
.router { fill: #44586a; stroke: #fff; stroke-width: .8; }
.sram { fill: #8a63c4; }
.cpu { fill: #3c9a68; }
.ucie { fill: #159a9c; }
.rim { opacity: .35; }
.pcie { fill: #cf5560; }
.noc { fill: #c58a85; }
.dark { fill: #2f4458; }
.link, .cross, .iolink, .wire, .scale { fill: none; }
.link { stroke: #b6c3cf; stroke-width: 1.6; }
.cross { stroke: #159a9c; stroke-width: 2; }
.iolink { stroke: #c58a85; stroke-width: 2; }
.wire { stroke: #cf5560; stroke-width: 2.4; }
.scale { stroke: #5f6f7d; stroke-width: 2; }
)";
/// For coloured links among plain ones.
constexpr std::string_view kBoldStyle = ".bold { fill: none; stroke-width: 3.4; stroke-linecap: round; }\n";

/// How the SIPs stand on the page: in their grid; a ring, which has none, in rows of about a page's shape.
MeshCoord page_grid(const Machine& machine, const SipShape& sip) {
  const MeshCoord grid = machine.sip_grid();
  if (grid.y > 1 || grid.x <= 4) return grid;
  constexpr double kPageShape = 1.7;  // width to height
  const double cols = std::sqrt(grid.x * kPageShape * sip.height() / sip.width());
  const int w = std::clamp(static_cast<int>(std::lround(cols)), 1, grid.x);
  return {w, (grid.x + w - 1) / w};
}

/// Pixels per mm so that a cube's longer side has that many pixels.
double scale_for(const Machine& machine, double cube_px) {
  const auto& mm = machine.at("cube").numbers("size_mm");
  return cube_px / std::max(mm[0], mm[1]);
}

std::int64_t details_per_sip(const Machine& machine) {
  const ParamSet& routers = machine.at("cube.routers");
  return machine.cubes() * (routers.integer("rows") * routers.integer("cols") + machine.pes());
}

/// The system on the page: switch and host above the SIPs.
struct SystemShape {
  SipShape sip;
  MeshCoord grid;
  double gutter;  // left of each column; the wires of the rows below the first run here
  double row_gap;

  SystemShape(const Machine& machine, double px_per_mm)
      : sip(machine, px_per_mm), grid(page_grid(machine, sip)) {
    gutter = machine.sips() > kWired ? 16 : std::max(40.0, (grid.y > 1 ? grid.y + 3 : 0) * kWireGap);
    row_gap = std::max(36.0, sip.gap);
  }
  double width() const { return grid.x * (sip.width() + gutter) - gutter + (grid.y > 1 ? gutter : 0); }
  double top() const { return kHostHeight + 26 + kSwitchHeight; }  // lower edge of the switch
  double height() const { return top() + grid.y * (sip.height() + row_gap); }
  Point sip_at(int id, Point origin) const {
    const MeshCoord at = MeshCoord::of(id, grid.x);
    return {origin.x + (grid.y > 1 ? gutter : 0) + at.x * (sip.width() + gutter),
            origin.y + top() + row_gap + at.y * (sip.height() + row_gap)};
  }
};

/// From a SIP's endpoint to the switch: straight up from the first row, else through the gutter.
std::vector<Point> pcie_wire(const SystemShape& shape, int sip, Point origin) {
  const Point at = shape.sip_at(sip, origin);
  const Point start = shape.sip.pcie_at(at);
  const int row = sip / shape.grid.x;
  const double switch_y = origin.y + shape.top();
  if (row == 0) return {start, {start.x, switch_y}};
  const double x = at.x - (row + 1) * kWireGap;
  const double y = at.y - shape.row_gap * 0.4;
  return {start, {start.x, y}, {x, y}, {x, switch_y}};
}

void draw_host_and_switch(const FloorPlan& plan, const SystemShape& shape, Point origin) {
  const double centre = origin.x + shape.width() / 2;
  const Box host = Box::around({centre, origin.y + kHostHeight / 2}, kHostWidth, kHostHeight);
  const Box bar{origin.x, origin.y + shape.top() - kSwitchHeight, shape.width(), kSwitchHeight};
  const auto figures = [&](const char* path) {
    return fmt::format("{} ns", plan.machine.at(path).number("overhead_ns"));
  };
  plan.wire("wire", {0}, {host.centre(), {centre, bar.y}});
  plan.wire("wire", {1}, {{centre, bar.y}, host.centre()});
  plan.svg.rect(host, 8, plan.look("dark", plan.graph.host(), figures("system.host")));
  plan.svg.text({centre, host.centre().y + 7}, 20, "inv", "host");
  plan.svg.rect(bar, 8, plan.look("dark", plan.graph.system_switch(), figures("system.switch")));
  const std::string text = fmt::format("switch: {} each way to every SIP", rate_text(plan.figures.pcie_gbs));
  const double size = fitting_size(bar.w * 0.96, text, 20);
  plan.svg.text({centre, bar.centre().y + size * 0.36}, size, "inv", text);
}

void draw_system(const FloorPlan& plan, const SystemShape& shape, Point origin, Detail detail) {
  for (int sip = 0; sip < plan.graph.sips(); ++sip)
    draw_sip(plan, shape.sip, sip, shape.sip_at(sip, origin), detail);
  for (int sip = 0; sip < plan.graph.sips() && plan.graph.sips() <= kWired; ++sip) {
    const LinkId up = plan.graph.first_link(sip);
    const std::vector<Point> way = pcie_wire(shape, sip, origin);
    plan.wire("wire", up, way);
    plan.wire("wire", {up.index + 1}, {way.rbegin(), way.rend()});
  }
  draw_host_and_switch(plan, shape, origin);
}

void draw_title(const FloorPlan& plan, const char* note) {
  const auto& source = plan.machine.source();
  const std::string name = source.substr(source.rfind('/') + 1);
  plan.svg.text({kMargin, kMargin + 28}, 38, "strong",
                plan.colours.title.empty() ? name : fmt::format("{} · {}", name, plan.colours.title),
                Svg::Anchor::start);
  plan.svg.text({kMargin, kMargin + 64}, 22, "muted",
                fmt::format("{} · {} · {} HBM at {} · SIPs as {}{}", headline(plan.machine),
                            flops_text(plan.figures.machine.gemm_tflops), to_string(plan.figures.machine.hbm),
                            rate_text(plan.figures.machine.hbm_gbs),
                            plan.machine.at("system.sips").text("topology"), note),
                Svg::Anchor::start);
}

/// What the colours mean, from left to right.
void draw_meanings(const FloorPlan& plan, Point at) {
  constexpr double kBox = 24, kSize = 20, kLetter = 0.56;  // a letter's width, in units of its size
  for (const auto& [colour, text] : plan.colours.legend) {
    plan.svg.rect({at.x, at.y - kBox * 0.8, kBox, kBox}, 4, {.css_class = "page", .colour = colour});
    plan.svg.text({at.x + kBox + 10, at.y}, kSize, "muted", text, Svg::Anchor::start);
    at.x += kBox + 40 + kSize * kLetter * static_cast<double>(text.size());
  }
}

/// Lines no longer than the picture is wide; how high they are but for the first.
double draw_notes(const FloorPlan& plan, Point at, double width) {
  constexpr double kSize = 17, kLetter = 8.5, kLine = 24;
  const std::vector<std::string> ideal = plan.machine.idealised();
  std::vector<std::string> lines = {"Cubes are to scale, the gaps between them are not. Idealised:"};
  for (std::size_t i = 0; i < std::max<std::size_t>(1, ideal.size()); ++i) {
    const std::string note = ideal.empty() ? "nothing" : ideal[i];
    if (static_cast<double>(lines.back().size() + note.size() + 2) * kLetter > width) lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + note + (i + 1 < ideal.size() ? "," : ".");
  }
  for (std::size_t i = 0; i < lines.size(); ++i)
    plan.svg.text({at.x, at.y + kLine * static_cast<double>(i)}, kSize, "muted", lines[i],
                  Svg::Anchor::start);
  return kLine * static_cast<double>(lines.size() - 1);
}

/// The SIPs with everything on them if that is not too much, else in outline with one of them enlarged below.
Extent draw_machine(const FloorPlan& plan, Point origin) {
  const Machine& machine = plan.machine;
  const std::int64_t details = details_per_sip(machine);
  if (machine.sips() * details <= kDetailed) {
    const int cubes_across = machine.cube_mesh().x * std::min(machine.sip_grid().x, 4);
    const SystemShape shape(machine, scale_for(machine, std::clamp(1500.0 / cubes_across, 190.0, 280.0)));
    draw_system(plan, shape, origin, Detail::full);
    draw_title(plan, "");
    return {shape.width(), shape.height()};
  }
  const int sips_across = page_grid(machine, SipShape(machine, scale_for(machine, 26))).x;
  const double cube_px = std::clamp(1600.0 / (sips_across * machine.cube_mesh().x), 12.0, 42.0);
  const SystemShape shape(machine, scale_for(machine, cube_px));
  draw_system(plan, shape, origin, Detail::outline);
  draw_title(plan, machine.sips() > kWired
                       ? " · SIPs in outline, their wires to the switch left out, one SIP enlarged"
                       : " · SIPs in outline, one enlarged");
  const SipShape one(machine, scale_for(machine, 200));
  const double y = origin.y + shape.height() + 60;
  plan.svg.text({origin.x, y}, 22, "strong", "One SIP; the others are alike", Svg::Anchor::start);
  draw_sip(plan, one, 0, {origin.x, y + 20}, details <= kDetailed ? Detail::full : Detail::outline);
  return {std::max(shape.width(), one.width()), y + 20 + one.height() - origin.y};
}

}  // namespace

Svg::Look FloorPlan::look(std::string_view css_class, NodeId node, const std::string& text) const {
  return {css_class, fmt::format("{}: {}", graph.path(node), text), colours.node ? colours.node(node) : ""};
}

void FloorPlan::wire(std::string_view css_class, LinkId id, std::vector<Point> points) const {
  const Link link = graph.link(id);
  const bool both = !is_coloured(id);
  const bool bold = !both && colours.is_rest_plain;
  if (both && link.to < link.from) return;
  if (!both) {  // keep right, so that the directions lie side by side
    const double dx = points[1].x - points[0].x;
    const double dy = points[1].y - points[0].y;
    const double shift = (bold ? 2.2 : 1.5) / std::max(1e-9, std::sqrt(dx * dx + dy * dy));
    for (Point& p : points) p = {p.x - dy * shift, p.y + dx * shift};
  }
  svg.polyline(points, {.css_class = bold ? "bold" : css_class,
                        .title = fmt::format("{} {} {}: {} GB/s{}, {}", graph.path(link.from),
                                             both ? "↔" : "→", graph.path(link.to), link.bandwidth.gbs(),
                                             both ? " each way" : "", to_string(link.wire)),
                        .colour = both ? "" : colours.link(id)});
}

bool FloorPlan::is_coloured(LinkId link) const {
  return colours.link && !(colours.is_rest_plain && colours.link(link).empty());
}

void FloorPlan::wires(int sip, const Place& place) const {
  std::vector<Svg::Segment> plain;  // inside cubes, where all are alike: one shape, unless they are coloured
  for (std::uint32_t i = 0; i < graph.links_per_sip(); ++i) {
    const LinkId id{graph.first_link(sip).index + i};
    const Link link = graph.link(id);
    const Node from = graph.node(link.from);
    const Node to = graph.node(link.to);
    auto a = place(link.from, from);
    auto b = place(link.to, to);
    if (!a || !b) continue;
    if (from.kind == NodeKind::io_noc) a->x = b->x;  // a bar: wires meet it at right angles
    if (to.kind == NodeKind::io_noc) b->x = a->x;
    const bool in_cube = from.cube >= 0 && from.cube == to.cube;
    const bool crossing = !in_cube && (from.cube >= 0 || to.cube >= 0);
    if (!in_cube || is_coloured(id))
      wire(in_cube ? "link" : crossing ? "cross" : "iolink", id, {*a, *b});
    else if (link.from < link.to)
      plain.push_back({*a, *b});
  }
  if (!plain.empty()) svg.lines(plain, {.css_class = "link"});
}

std::string draw_floor_plan(const Machine& machine, const Graph& graph, const FloorPlanColours& colours) {
  Svg svg;
  const FloorPlan plan{svg, machine, graph, colours, figures(machine)};
  const Point origin{kMargin, kMargin + kTitleHeight + (colours.legend.empty() ? 0 : kLegendHeight)};
  draw_meanings(plan, {kMargin, kMargin + kTitleHeight});
  const Extent system = draw_machine(plan, origin);
  const bool wide = system.width > 1.1 * system.height;
  const Extent panel = draw_panel(
      plan,
      wide ? Point{origin.x, origin.y + system.height + 60} : Point{origin.x + system.width + 80, origin.y},
      wide ? Flow::row : Flow::column);
  const double width = wide ? std::max(system.width, panel.width) : system.width + 80 + panel.width;
  const double height = wide ? system.height + 60 + panel.height : std::max(system.height, panel.height);
  const double notes = draw_notes(plan, {origin.x, origin.y + height + 40}, width);
  const std::string style = fmt::format("{}{}", kStyle, colours.is_rest_plain ? kBoldStyle : "");
  return svg.document(width + 2 * kMargin, origin.y + height + 40 + notes + kMargin, style,
                      headline(machine));
}

}  // namespace kernbench::topology
