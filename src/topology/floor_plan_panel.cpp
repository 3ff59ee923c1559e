#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "topology/floor_plan_parts.hpp"

namespace kernbench::topology {
namespace {

constexpr double kCubeWidth = 640, kCubeHeight = 500;  // what the enlarged cube may take
constexpr double kTitleSize = 22, kTextSize = 20, kSmallSize = 17, kLine = 54, kSwatch = 26;
constexpr double kBetween = 50;  // blocks

struct Entry {
  const char* css_class;
  std::string name, figures;
};

std::vector<Entry> entries(const FloorPlan& plan) {
  const Machine& machine = plan.machine;
  const auto number = [&](const char* path, const char* name) { return machine.at(path).number(name); };
  const ParamSet& routers = machine.at("cube.routers");
  return {
      {"pe", "PE",
       fmt::format("{} per cube, {}, TCM {}", machine.pes(), flops_text(plan.figures.pe.gemm_tflops),
                   to_string(plan.figures.pe.tcm))},
      {"hbm", "HBM stack",
       fmt::format("{}, {}, {}", to_string(plan.figures.cube.hbm), rate_text(plan.figures.cube.hbm_gbs),
                   count_text(machine.pes(), "slice", "slices, one per PE"))},
      {"sram", "SRAM",
       fmt::format("{}, {} GB/s, {} ns", to_string(plan.figures.cube.sram), number("cube.sram", "bw_gbs"),
                   number("cube.sram", "overhead_ns"))},
      {"router", "router",
       fmt::format("{} × {} grid, {} ns; links {} GB/s each way", routers.integer("rows"),
                   routers.integer("cols"), routers.number("overhead_ns"), routers.number("bw_gbs"))},
      {"ucie", "UCIe connection",
       fmt::format("{} GB/s each way, {} a port = {}; {} ns a crossing", number("cube.ucie", "bw_gbs"),
                   machine.at("cube.ucie").integer("connections"), rate_text(plan.figures.ucie_port_gbs),
                   2 * number("cube.ucie", "overhead_ns"))},
      {"cpu", "M CPU and IO CPU",
       fmt::format("{} and {} ns", number("cube.m_cpu", "overhead_ns"),
                   number("sip.io.io_cpu", "overhead_ns"))},
      {"pcie", "PCIe endpoint and links",
       fmt::format("{} each way; endpoint {} ns, switch {} ns", rate_text(plan.figures.pcie_gbs),
                   number("sip.io.pcie_ep", "overhead_ns"), number("system.switch", "overhead_ns"))},
  };
}

/// 1, 2 or 5 times a power of ten: the largest that fits.
double round_length(double most) {
  if (!(most > 0)) return 0;
  double power = 1;
  while (power > most) power /= 10;
  while (power * 10 <= most) power *= 10;
  for (const double step : {5.0, 2.0})
    if (step * power <= most) return step * power;
  return power;
}

Extent draw_legend(const FloorPlan& plan, Point at) {
  const double top = at.y;
  for (const Entry& entry : entries(plan)) {
    const Point middle{at.x + kSwatch / 2, at.y + kSwatch / 2 + 6};
    if (std::string_view(entry.css_class) == "router")
      plan.svg.circle(middle, kSwatch * 0.3, {.css_class = entry.css_class});
    else
      plan.svg.rect(Box::around(middle, kSwatch, kSwatch), 4, {.css_class = entry.css_class});
    const double text_x = at.x + kSwatch + 16;
    plan.svg.text({text_x, at.y + kTextSize * 0.8}, kTextSize, "strong", entry.name, Svg::Anchor::start);
    plan.svg.text({text_x, at.y + kTextSize * 0.8 + kSmallSize * 1.3}, kSmallSize, "muted", entry.figures,
                  Svg::Anchor::start);
    at.y += kLine;
  }
  return {550, at.y - top};
}

/// Peaks and capacities of a PE, a cube, a SIP and the machine.
Extent draw_peaks(const FloorPlan& plan, Point at) {
  constexpr double kNameWidth = 80, kColumn = 126, kRow = 34;
  const std::array<const LevelFigures*, 4> levels = {&plan.figures.pe, &plan.figures.cube, &plan.figures.sip,
                                                     &plan.figures.machine};
  double y = at.y + kTextSize * 0.8;
  const auto row = [&](const char* css_class, const char* name, const std::array<std::string, 4>& values) {
    plan.svg.text({at.x, y}, kSmallSize, "strong", name, Svg::Anchor::start);
    for (std::size_t i = 0; i < values.size(); ++i)
      plan.svg.text({at.x + kNameWidth + kColumn * static_cast<double>(i + 1), y}, kSmallSize, css_class,
                    values[i], Svg::Anchor::end);
    y += kRow;
  };
  const auto figures = [&](const char* name, const auto& text) {
    row("muted", name, {text(*levels[0]), text(*levels[1]), text(*levels[2]), text(*levels[3])});
  };
  row("strong", "peak", {"PE", "cube", "SIP", "machine"});
  figures("matrix", [](const LevelFigures& l) { return flops_text(l.gemm_tflops); });
  figures("vector", [](const LevelFigures& l) { return ops_text(l.math_gops); });
  figures("HBM", [](const LevelFigures& l) { return rate_text(l.hbm_gbs); });
  figures("", [](const LevelFigures& l) { return to_string(l.hbm); });
  figures("SRAM", [](const LevelFigures& l) { return l.sram == 0_B ? std::string("–") : to_string(l.sram); });
  figures("TCM", [](const LevelFigures& l) { return to_string(l.tcm); });
  return {kNameWidth + 4 * kColumn, y - at.y};
}

Extent draw_large_cube(const FloorPlan& plan, Point origin) {
  const auto& mm = plan.machine.at("cube").numbers("size_mm");
  const CubeShape shape(plan.machine, std::min(kCubeWidth / mm[0], kCubeHeight / mm[1]));
  const CubeCoord cube{0, 0};
  plan.svg.text({origin.x, origin.y + kTitleSize * 0.8}, kTitleSize, "strong",
                fmt::format("One cube, {:g} × {:g} mm", mm[0], mm[1]), Svg::Anchor::start);
  const Point at{origin.x, origin.y + kTitleSize * 2.2};
  draw_cube_ground(plan, shape, cube, at);
  plan.wires(0, [&](NodeId, const Node& node) -> std::optional<Point> {
    if (node.cube != cube.cube) return std::nullopt;
    return shape.place(node, at);
  });
  draw_cube_parts(plan, shape, cube, at,
                  {"HBM", to_string(plan.figures.cube.hbm), rate_text(plan.figures.cube.hbm_gbs)});
  draw_scale_bar(plan, shape.scale, {at.x, at.y + shape.h + 40}, shape.w / 3);
  return {kCubeWidth, kTitleSize * 2.2 + shape.h + 60};
}

}  // namespace

void draw_scale_bar(const FloorPlan& plan, double px_per_mm, Point at, double most) {
  const double mm = round_length(most / px_per_mm);
  const double end = at.x + mm * px_per_mm;
  plan.svg.polyline({{at.x, at.y - 6}, {at.x, at.y}, {end, at.y}, {end, at.y - 6}}, {.css_class = "scale"});
  plan.svg.text({end + 10, at.y + 2}, kSmallSize, "muted", fmt::format("{:g} mm", mm), Svg::Anchor::start);
}

Extent draw_panel(const FloorPlan& plan, Point origin, Flow flow) {
  Extent used{0, 0};
  const auto place = [&](Extent (*draw)(const FloorPlan&, Point), double drop) {
    const bool in_row = flow == Flow::row;
    const double gap = used.width == 0 ? 0 : kBetween;
    const Point at = in_row ? Point{origin.x + used.width + gap, origin.y + drop}
                            : Point{origin.x, origin.y + used.height + gap / 2};
    const Extent block = draw(plan, at);
    if (in_row)
      used = {at.x - origin.x + block.width, std::max(used.height, drop + block.height)};
    else
      used = {std::max(used.width, block.width), at.y - origin.y + block.height};
  };
  place(draw_large_cube, 0);
  place(draw_legend, kTitleSize * 2.2);  // in line with the cube, below its title
  place(draw_peaks, kTitleSize * 2.2);
  return used;
}

}  // namespace kernbench::topology
