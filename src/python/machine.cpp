// Machines: load, override, look at, draw.
#include <fmt/format.h>
#include <pybind11/stl.h>

#include "kernbench/bench.hpp"
#include "kernbench/error.hpp"
#include "kernbench/machine.hpp"
#include "python/host.hpp"
#include "python/registry.hpp"
#include "topology/floor_plan.hpp"

namespace kernbench::python {
namespace {

using topology::Machine;

Machine load(const std::string& file_or_name, py::handle overrides) {
  return topology::load_machine(file_or_name, words_of(overrides), registry().components);
}

Machine from_text(const std::string& text, py::handle overrides, const std::string& file) {
  return topology::load_machine_text(text, file, words_of(overrides), registry().components);
}

py::dict values_of(const topology::Group& group) {
  py::dict values;
  for (const Param& param : group.params.params())
    values[py::str(param.name)] = to_python(group.params.value(param.name));
  return values;
}

std::string svg(const Machine& machine) {
  const topology::Graph graph(machine);
  return topology::draw_floor_plan(machine, graph);
}

std::string repr(const Machine& m) {
  return fmt::format("<Machine {}: {} SIPs × {} cubes × {} PEs>", m.source(), m.sips(), m.cubes(), m.pes());
}

}  // namespace

void bind_machine(py::module_& m) {
  py::class_<Machine>(m, "Machine", "A machine: everything the topology file says, checked.")
      .def(py::init(&load), py::arg("file_or_name") = "default", py::arg("overrides") = py::none(),
           "A shipped machine by its name, or a file. Overrides are 'path=value'.")
      .def_static("from_text", &from_text, py::arg("text"), py::arg("overrides") = py::none(),
                  py::arg("file") = "<text>")
      .def_property_readonly("source", &Machine::source)
      .def_property_readonly("sips", &Machine::sips)
      .def_property_readonly("cubes", &Machine::cubes, "Of each SIP.")
      .def_property_readonly("pes", &Machine::pes, "Of each cube.")
      .def_property_readonly("total_pes", &Machine::total_pes)
      .def_property_readonly(
          "cube_mesh", [](const Machine& x) { return py::make_tuple(x.cube_mesh().x, x.cube_mesh().y); })
      .def_property_readonly("sip_grid",
                             [](const Machine& x) { return py::make_tuple(x.sip_grid().x, x.sip_grid().y); })
      .def_property_readonly("hbm_slice_bytes", &Machine::hbm_slice)
      .def_property_readonly(
          "pe_peak_tflops", [](const Machine& x) { return x.pe_peak_tflops(); },
          "One PE's matrix unit in f16.")
      .def(
          "peak_tflops", [](const Machine& x, DType dtype) { return x.pe_peak_tflops(dtype); },
          py::arg("dtype"), "One PE's matrix unit in operands of a dtype.")
      .def_property_readonly("idealised", &Machine::idealised,
                             "What this machine models as free, or nearly so.")
      .def_property_readonly("paths",
                             [](const Machine& x) {
                               std::vector<std::string> paths;
                               for (const auto& group : x.groups()) paths.push_back(group.path);
                               return paths;
                             })
      .def(
          "__getitem__",
          [](const Machine& x, const std::string& path) {
            if (!x.has(path))
              throw InputError({"machine.path", x.source(), fmt::format("the machine has no '{}'", path),
                                "`machine.paths` lists its sections and components"});
            return values_of(x.group(path));
          },
          py::arg("path"), "The values of a section or component: machine['cube.hbm'].")
      .def(
          "where", [](const Machine& x, const std::string& path) { return x.where(path); }, py::arg("path"),
          "Where a value was given: file:line:col.")
      .def(
          "to_yaml", [](const Machine& x) { return topology::to_yaml(x); },
          "A file that loads to an equal machine.")
      .def("svg", &svg, "The floor plan.")
      .def("_repr_svg_", &svg)
      .def(
          "__eq__", [](const Machine& a, const Machine& b) { return a == b; }, py::is_operator())
      .def("__repr__", &repr);
  m.def(
      "shipped_machines",
      [] {
        py::dict machines;
        for (const auto& machine : topology::shipped_machines())
          machines[py::str(machine.name)] = machine.summary;
        return machines;
      },
      "Names of the machines that ship, each with a sentence.");
}

}  // namespace kernbench::python
