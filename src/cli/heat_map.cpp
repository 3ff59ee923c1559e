// The picture of a matrix: a heat map with its scale, grouped by SIP or cube.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "cli/probe_matrix.hpp"
#include "topology/figures.hpp"
#include "topology/svg.hpp"

namespace kernbench::cli {
namespace {

using topology::Box;
using topology::Svg;

constexpr const char* kStyle = R"(
svg { font-family: "Helvetica Neue", Helvetica, Arial, "DejaVu Sans", sans-serif; fill: #22303c; }
.page { fill: #f8f7f3; }
.strong { font-weight: 600; }
.muted { fill: #5f6f7d; }
.light { fill: #fff; }
.dark { fill: #22303c; }
.none { fill: #e4e4df; }
.frame { fill: none; stroke: #22303c; stroke-opacity: .25; }
.cell:hover rect, rect.cell:hover { stroke: #22303c; }
)";
constexpr double kMargin = 36, kHeader = 104, kGap = 6, kScaleWidth = 18, kScaleSpace = 120;

struct Colour {
  double r, g, b;
};
/// Light to dark: sand over teal to deep blue; its lightness falls steadily, so that it survives grey
/// printing.
constexpr std::array kRamp = {Colour{253, 231, 160}, Colour{190, 222, 170}, Colour{118, 199, 184},
                              Colour{54, 153, 178},  Colour{38, 98, 153},   Colour{28, 45, 98}};

struct Shade {
  std::string css;
  bool dark;
};
Shade shade(double share) {
  const double at = std::clamp(share, 0.0, 1.0) * (kRamp.size() - 1);
  const auto low = std::min(static_cast<std::size_t>(at), kRamp.size() - 2);
  const double part = at - static_cast<double>(low);
  const auto mix = [&](double a, double b) { return static_cast<int>(std::lround(a + (b - a) * part)); };
  const Colour &a = kRamp[low], &b = kRamp[low + 1];
  return {fmt::format("#{:02x}{:02x}{:02x}", mix(a.r, b.r), mix(a.g, b.g), mix(a.b, b.b)), share > 0.55};
}

/// Three digits: 8.26, 16.4, 229.
std::string digits(double value) {
  return fmt::format("{:.{}f}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

class HeatMap {
 public:
  HeatMap(const topology::Machine& machine, const topology::Graph& graph, const Matrix& matrix)
      : machine_(machine), graph_(graph), matrix_(matrix) {
    const std::size_t most = std::max(matrix.rows.size(), matrix.columns.size());
    cell_ = std::clamp(std::floor(960.0 / static_cast<double>(most)), 3.0, 64.0);
    columns_ = places(matrix.columns);
    rows_ = places(matrix.rows);
    left_ = kMargin + label_width();
    top_ = kHeader + 2 * kLabel + 22;
    for (const auto& value : matrix.values) {
      if (!value) continue;
      least_ = std::min(least_, *value);
      most_ = std::max(most_, *value);
    }
  }

  std::string draw() {
    draw_cells();
    draw_labels();
    const double right = left_ + columns_.back() + cell_ + 34;
    draw_scale(right);
    const double width = std::max(right + kScaleSpace, 760.0);
    const double bottom = top_ + std::max(rows_.back() + cell_, scale_height() + kLabel);
    draw_titles(bottom);
    return svg_.document(width, bottom + kMargin + (matrix_.remark.empty() ? 0 : 26), kStyle, title());
  }

 private:
  static constexpr double kLabel = 13;

  std::string title() const {
    const MatrixRequest& r = matrix_.request;
    return fmt::format("{} from {} to {}", r.bandwidth ? "Bandwidth" : "Latency", spoken(r.from),
                       spoken(r.to));
  }
  /// `PE`, `HBM`, `M CPU`: abbreviations as they are written in text.
  static std::string spoken(const std::string& kind) {
    if (kind == "host") return kind;
    std::string text;
    for (const char c : kind)
      text += c == '_' ? ' ' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return text;
  }
  const char* unit() const { return matrix_.request.bandwidth ? "GB/s" : "ns"; }

  /// Offsets of rows or columns, with a gap between groups.
  std::vector<double> places(const std::vector<MatrixPart>& parts) const {
    std::vector<double> at;
    double next = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i > 0 && parts[i].group != parts[i - 1].group) next += kGap;
      at.push_back(next);
      next += cell_;
    }
    return at;
  }

  double label_width() const {
    std::size_t group = 0, label = 0;
    for (const MatrixPart& part : matrix_.rows) {
      group = std::max(group, part.group.size());
      label = std::max(label, part.label.size());
    }
    return static_cast<double>(group + label) * kLabel * 0.6 + 26;
  }

  void draw_cells() {
    const double range = most_ - least_;
    for (std::size_t r = 0; r < rows_.size(); ++r)
      for (std::size_t c = 0; c < columns_.size(); ++c) {
        const Box box{left_ + columns_[c], top_ + rows_[r], cell_ - 1, cell_ - 1};
        const auto value = matrix_.at(r, c);
        const std::string way =
            fmt::format("{} → {}", graph_.path(matrix_.rows[r].node), graph_.path(matrix_.columns[c].node));
        if (!value) {
          svg_.rect(box, 0, {.css_class = "none", .title = way});
          continue;
        }
        const Shade colour = shade(range > 0 ? (*value - least_) / range : 0);
        svg_.rect(box, cell_ > 12 ? 2 : 0,
                  {.css_class = "cell",
                   .title = fmt::format("{}: {:.3f} {}", way, *value, unit()),
                   .colour = colour.css});
      }
    if (cell_ >= 24) draw_values(range);
  }

  void draw_values(double range) {
    const double size = std::min(13.0, cell_ * 0.38);
    for (std::size_t r = 0; r < rows_.size(); ++r)
      for (std::size_t c = 0; c < columns_.size(); ++c)
        if (const auto value = matrix_.at(r, c))
          svg_.text({left_ + columns_[c] + cell_ / 2, top_ + rows_[r] + cell_ / 2 + size * 0.35}, size,
                    shade(range > 0 ? (*value - least_) / range : 0).dark ? "light" : "dark", digits(*value));
  }

  /// Each part by its number in its group, if there is room; each group by its name.
  void draw_labels() {
    const double size = std::min(kLabel, cell_ - 1);
    const double column_size = std::min(size, cell_ / 1.6);  // two digits, and a gap
    const bool each = cell_ >= 9;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const MatrixPart& part = matrix_.columns[c];
      const double x = left_ + columns_[c];
      if (each) svg_.text({x + cell_ / 2, top_ - 8}, column_size, "muted", number_of(part.label));
      if (c == 0 || part.group != matrix_.columns[c - 1].group)
        svg_.text({x, top_ - 28}, kLabel, "strong", fits_group(c) ? part.group : "", Svg::Anchor::start);
    }
    const double label_x = left_ - 10;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      const MatrixPart& part = matrix_.rows[r];
      const double y = top_ + rows_[r] + cell_ / 2 + size * 0.35;
      if (each) svg_.text({label_x, y}, size, "muted", part.label, Svg::Anchor::end);
      if (r == 0 || part.group != matrix_.rows[r - 1].group)
        svg_.text({kMargin, top_ + rows_[r] + std::max(cell_ / 2 + size * 0.35, kLabel)}, kLabel, "strong",
                  part.group, Svg::Anchor::start);
    }
  }

  /// Column labels stand side by side: `cube12` becomes `12` where it must.
  std::string number_of(const std::string& label) const {
    if (static_cast<double>(label.size()) * kLabel * 0.6 < cell_) return label;
    const auto digit = label.find_first_of("0123456789");
    return digit == label.npos ? label : label.substr(digit);
  }

  bool fits_group(std::size_t first) const {
    const std::vector<MatrixPart>& parts = matrix_.columns;
    std::size_t end = first;
    while (end < parts.size() && parts[end].group == parts[first].group) ++end;
    return static_cast<double>(end - first) * cell_ + kGap >
           static_cast<double>(parts[first].group.size()) * 7.5;
  }

  double scale_height() const { return std::clamp(rows_.back() + cell_, 160.0, 360.0); }

  void draw_scale(double x) {
    constexpr int kSteps = 64, kTicks = 5;
    const double height = scale_height();
    const bool flat = !(most_ > least_);
    for (int i = 0; i < (flat ? 1 : kSteps); ++i) {
      const double step = flat ? height : height / kSteps;
      svg_.rect({x, top_ + i * step, kScaleWidth, step + (flat ? 0 : 0.6)}, 0,
                {.css_class = "scale", .colour = shade(flat ? 0 : (i + 0.5) / kSteps).css});
    }
    svg_.rect({x, top_, kScaleWidth, height}, 0, {.css_class = "frame"});
    for (int i = 0; i < (flat ? 1 : kTicks); ++i) {
      const double share = static_cast<double>(i) / (kTicks - 1);
      svg_.text({x + kScaleWidth + 8, top_ + share * height + kLabel * 0.35}, kLabel, "muted",
                digits(least_ + share * (most_ - least_)) + " " + unit(), Svg::Anchor::start);
    }
  }

  /// Colours show the whole ramp, however little there is between its ends.
  std::string narrowness() const {
    constexpr double kNarrow = 0.05;
    if (!(most_ > least_) || most_ - least_ > kNarrow * most_) return "";
    return fmt::format(" (a narrow range: the colours spread {:.1f} %)", 100 * (most_ - least_) / most_);
  }

  void draw_titles(double bottom) {
    const MatrixRequest& r = matrix_.request;
    svg_.text({kMargin, kMargin + 14}, 22, "strong", title(), Svg::Anchor::start);
    svg_.text(
        {kMargin, kMargin + 38}, 14, "muted",
        fmt::format("A {} of {} each, one at a time, in {}: {} to {}{}. Rows are where they start, columns "
                    "where they go.",
                    matrix_.op(), to_string(r.bytes), unit(), digits(least_), digits(most_), narrowness()),
        Svg::Anchor::start);
    svg_.text({kMargin, kMargin + 58}, 14, "muted",
              fmt::format("{}: {}", machine_.source(), topology::headline(machine_)), Svg::Anchor::start);
    if (!matrix_.remark.empty())
      svg_.text({kMargin, bottom + 30}, 14, "muted", matrix_.remark, Svg::Anchor::start);
  }

  const topology::Machine& machine_;
  const topology::Graph& graph_;
  const Matrix& matrix_;
  double cell_, left_, top_;
  std::vector<double> columns_, rows_;
  double least_ = 1e300, most_ = -1e300;
  Svg svg_;
};

}  // namespace

std::string draw_matrix(const topology::Machine& machine, const topology::Graph& graph,
                        const Matrix& matrix) {
  return HeatMap(machine, graph, matrix).draw();
}

}  // namespace kernbench::cli
