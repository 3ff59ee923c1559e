// A pen for SVG: shapes are appended in drawing order, then taken as text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernbench/graph.hpp"

namespace kernbench::topology {

struct Box {
  double x = 0, y = 0, w = 0, h = 0;  // px; x, y: upper left
  Point centre() const { return {x + w / 2, y + h / 2}; }
  static Box around(Point centre, double w, double h) { return {centre.x - w / 2, centre.y - h / 2, w, h}; }
};

/// The largest letters, up to `most`, with which a text fits a width in most sans-serif faces.
double fitting_size(double width, std::string_view text, double most);

class Svg {
 public:
  /// How a shape looks and what the pointer over it shows. An own colour goes before that of the class.
  struct Look {
    std::string_view css_class;
    std::string title = {};
    std::string colour = {};
  };
  struct Segment {
    Point a, b;
  };
  enum class Anchor { start, middle, end };

  void rect(const Box& box, double radius, const Look& look);
  void circle(Point centre, double radius, const Look& look);
  void polyline(const std::vector<Point>& points, const Look& look);
  /// Many lines as one shape.
  void lines(const std::vector<Segment>& segments, const Look& look);
  void text(Point at, double size, std::string_view css_class, std::string_view content,
            Anchor anchor = Anchor::middle);

  /// A complete document of that size with a style sheet and an accessible title.
  std::string document(double width, double height, std::string_view style, std::string_view title) const;

 private:
  /// Shapes with the same attributes that follow each other share a group, which keeps files small.
  void enter(const std::string& attributes);
  void close(const char* element, const Look& look, const char* paint);

  std::string body_;
  std::string group_;
};

}  // namespace kernbench::topology
