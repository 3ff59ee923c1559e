// Operations along an axis: reductions that are rarer than sums, scans, and elements in other places.
#include <pybind11/stl.h>
#include "python/recording.hpp"

namespace kernbench::python {
namespace {

using Class = py::class_<PyTl>;

tl::Context& at_line(const PyTl& self) { return self.recording->at_line(); }

PyTile cat(const PyTl& self, const py::list& tiles, int axis) {
  std::vector<tl::Tile> parts;
  for (const py::handle tile : tiles) parts.push_back(tile.cast<const PyTile&>().get());
  return {self.recording, at_line(self).cat(std::span<const tl::Tile>(parts), axis)};
}

void bind_reduction(Class& c, const char* name, MathOp op, const char* doc) {
  c.def(
      name,
      [op](const PyTl& s, const PyTile& x, std::optional<int> axis, bool keep_dims) {
        return PyTile{s.recording, at_line(s).reduce(op, x.get(), axis, keep_dims)};
      },
      py::arg("x"), py::arg("axis") = py::none(), py::arg("keep_dims") = false, doc);
}

void bind_scan(Class& c, const char* name, MathOp op, const char* doc) {
  c.def(
      name,
      [op](const PyTl& s, const PyTile& x, int axis, bool reverse) {
        return PyTile{s.recording, at_line(s).scan(op, x.get(), axis, reverse)};
      },
      py::arg("x"), py::arg("axis") = 0, py::arg("reverse") = false, doc);
}

}  // namespace

void bind_arrangements(Class& c) {
  bind_reduction(c, "argmin", MathOp::argmin, "The index of the first smallest, over one axis or over all.");
  bind_reduction(c, "max_number", MathOp::max_number, "The largest; a NaN only where there is no number.");
  bind_reduction(c, "min_number", MathOp::min_number, "The smallest; a NaN only where there is no number.");
  bind_reduction(c, "argmax_number", MathOp::argmax_number,
                 "The index of the first largest; a NaN is passed over where there is a number.");
  bind_reduction(c, "argmin_number", MathOp::argmin_number,
                 "The index of the first smallest; a NaN is passed over where there is a number.");
  bind_reduction(c, "prod", MathOp::prod, "The product, over one axis or over all.");
  bind_reduction(c, "xor_sum", MathOp::xor_sum, "Integers joined by ^, over one axis or over all.");
  bind_scan(c, "cumsum", MathOp::cumsum, "Element i is the sum of elements 0 … i; reversed, of i … last.");
  bind_scan(c, "cumprod", MathOp::cumprod,
            "Element i is the product of elements 0 … i; reversed, of i … last.");
  bind_scan(c, "cummax", MathOp::cummax,
            "Element i is the largest of elements 0 … i; reversed, of i … last.");
  bind_scan(c, "cummin", MathOp::cummin,
            "Element i is the smallest of elements 0 … i; reversed, of i … last.");
  c.def("cat", &cat, py::arg("tiles"), py::arg("axis") = 0, "Tiles as one, along an axis.");
  c.def(
      "flip",
      [](const PyTl& s, const PyTile& x, int axis) {
        return PyTile{s.recording, at_line(s).flip(x.get(), axis)};
      },
      py::arg("x"), py::arg("axis") = -1, "The last element first.");
  c.def(
      "sort",
      [](const PyTl& s, const PyTile& x, int axis, bool descending) {
        return PyTile{s.recording, at_line(s).sort(x.get(), axis, descending)};
      },
      py::arg("x"), py::arg("axis") = -1, py::arg("descending") = false, "NaN is the largest.");
  c.def(
      "gather",
      [](const PyTl& s, const PyTile& x, const PyTile& index, int axis) {
        return PyTile{s.recording, at_line(s).gather(x.get(), index.get(), axis)};
      },
      py::arg("x"), py::arg("index"), py::arg("axis") = -1,
      "x at the places that the index names along the axis.");
  c.def(
      "histogram",
      [](const PyTl& s, const PyTile& x, std::int64_t bins) {
        return PyTile{s.recording, at_line(s).histogram(x.get(), bins)};
      },
      py::arg("x"), py::arg("bins"), "How many elements of an integer tile are 0, 1, … bins−1.");
}

}  // namespace kernbench::python
