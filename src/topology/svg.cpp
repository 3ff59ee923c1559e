#include "topology/svg.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace kernbench::topology {
namespace {

/// One decimal at most: `12.3`, `12`.
std::string num(double v) {
  std::string text = fmt::format("{:.1f}", v);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

}  // namespace

double fitting_size(double width, std::string_view text, double most) {
  constexpr double kLetterWidth = 0.68;  // of a bold letter in a wide face, in units of the size
  const auto letters = std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
  return std::min(most, width / (kLetterWidth * static_cast<double>(std::max<std::ptrdiff_t>(1, letters))));
}

void Svg::enter(const std::string& attributes) {
  if (attributes == group_) return;
  if (!group_.empty()) body_ += "</g>\n";
  body_ += fmt::format("<g {}>\n", attributes);
  group_ = attributes;
}

void Svg::close(const char* element, const Look& look, const char* paint) {
  if (!look.colour.empty()) body_ += fmt::format(" style=\"{}:{}\"", paint, as_markup(look.colour));
  body_ +=
      look.title.empty() ? "/>\n" : fmt::format("><title>{}</title></{}>\n", as_markup(look.title), element);
}

void Svg::rect(const Box& box, double radius, const Look& look) {
  enter(fmt::format("class=\"{}\"", look.css_class));
  body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", num(box.x), num(box.y),
                       num(box.w), num(box.h));
  if (radius > 0) body_ += fmt::format(" rx=\"{}\"", num(radius));
  close("rect", look, "fill");
}

void Svg::circle(Point centre, double radius, const Look& look) {
  enter(fmt::format("class=\"{}\"", look.css_class));
  body_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\"", num(centre.x), num(centre.y), num(radius));
  close("circle", look, "fill");
}

void Svg::polyline(const std::vector<Point>& points, const Look& look) {
  std::vector<Segment> segments;
  for (std::size_t i = 0; i + 1 < points.size(); ++i) segments.push_back({points[i], points[i + 1]});
  lines(segments, look);
}

void Svg::lines(const std::vector<Segment>& segments, const Look& look) {
  enter(fmt::format("class=\"{}\"", look.css_class));
  body_ += "<path d=\"";
  std::string at;
  for (const auto& [a, b] : segments) {
    const std::string begin = fmt::format("M{} {}", num(a.x), num(a.y));
    const std::string end = fmt::format("M{} {}", num(b.x), num(b.y));
    if (begin != at) body_ += begin;
    if (num(a.y) == num(b.y))
      body_ += fmt::format("H{}", num(b.x));
    else if (num(a.x) == num(b.x))
      body_ += fmt::format("V{}", num(b.y));
    else
      body_ += fmt::format("L{} {}", num(b.x), num(b.y));
    at = end;
  }
  body_ += "\"";
  close("path", look, "stroke");
}

void Svg::text(Point at, double size, std::string_view css_class, std::string_view content, Anchor anchor) {
  constexpr std::string_view kAnchors[] = {"start", "middle", "end"};
  enter(fmt::format("class=\"{}\" font-size=\"{}\" text-anchor=\"{}\"", css_class, num(size),
                    kAnchors[static_cast<int>(anchor)]));
  body_ += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", num(at.x), num(at.y), as_markup(content));
}

std::string Svg::document(double width, double height, std::string_view style, std::string_view title) const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "role=\"img\">\n<title>{2}</title>\n<style>{3}</style>\n"
      "<rect class=\"page\" width=\"{0}\" height=\"{1}\"/>\n{4}{5}</svg>\n",
      num(width), num(height), as_markup(title), style, body_, group_.empty() ? "" : "</g>\n");
}

}  // namespace kernbench::topology
