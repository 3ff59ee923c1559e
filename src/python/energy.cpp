// What a run took in energy. Femtojoules are Python's own integers: they have no limit.
#include <fmt/format.h>
#include <pybind11/stl.h>

#include "kernbench/energy.hpp"
#include "python/host.hpp"

namespace kernbench::python {
namespace {

py::int_ fj_of(Energy energy) { return py::int_(py::str(trace::fj_text(energy))); }

py::dict parts_of(const trace::EnergyByPart& parts) {
  py::dict all;
  for (std::size_t i = 0; i < trace::kEnergyParts; ++i)
    all[py::str(to_string(static_cast<EnergyPart>(i)))] = fj_of(parts[i]);
  return all;
}

py::dict operations_of(const EnergyReport& report) {
  py::dict all;
  for (const trace::OperationEnergy& one : report.operations) all[py::str(one.kind)] = fj_of(one.total());
  return all;
}

py::dict requests_of(const EnergyReport& report) {
  py::dict all;
  for (const trace::RequestEnergy& one : report.requests) all[py::int_(one.request)] = parts_of(one.parts);
  return all;
}

}  // namespace

void bind_energy(py::module_& m) {
  py::class_<EnergyReport>(m, "EnergyReport",
                           "What a run took in energy, in whole femtojoules that add up exactly.")
      .def_property_readonly("total_fj", [](const EnergyReport& e) { return fj_of(e.total()); })
      .def_property_readonly("dynamic_fj", [](const EnergyReport& e) { return fj_of(e.dynamic()); })
      .def_property_readonly("static_fj",
                             [](const EnergyReport& e) { return fj_of(e.part(EnergyPart::static_)); })
      .def_property_readonly("total_pj", [](const EnergyReport& e) { return e.total().pj(); })
      .def_property_readonly(
          "parts", [](const EnergyReport& e) { return parts_of(e.parts); },
          "{part: fJ}: hbm, sram, tcm, routers, ucie, pcie, matrix, vector, launch, static.")
      .def_property_readonly("operations", &operations_of,
                             "{kind: fJ} of operations that took any; `other` and `static` among them.")
      .def_property_readonly("requests", &requests_of, "{number of the request: {part: fJ}}.")
      .def_property_readonly("average_w", &EnergyReport::average_w)
      .def_property_readonly("peak_w", &EnergyReport::peak_w, "Over the busiest window.")
      .def_property_readonly("peak_at_ns", [](const EnergyReport& e) { return e.peak_at().ns(); })
      .def_property_readonly("window_ns", [](const EnergyReport& e) { return e.window.ns(); })
      .def_property_readonly(
          "windows_w",
          [](const EnergyReport& e) {
            std::vector<double> all;
            for (std::size_t i = 0; i < e.windows.size(); ++i) all.push_back(e.window_w(i));
            return all;
          },
          "The power in each window; the last one ends with the run.")
      .def_property_readonly(
          "pj_per_flop",
          [](const EnergyReport& e) {
            return e.macs == 0 ? py::object(py::none()) : py::cast(e.pj_per_flop());
          },
          "None without multiply-adds.")
      .def_property_readonly(
          "dynamic_pj_per_flop",
          [](const EnergyReport& e) {
            return e.macs == 0 ? py::object(py::none()) : py::cast(e.dynamic_pj_per_flop());
          },
          "Without static power.")
      .def_readonly("unpriced", &EnergyReport::unpriced,
                    "Keys of prices that the machine file lacks, although the run did what they are for.")
      .def(
          "to_json", [](const EnergyReport& e) { return trace::to_json(e); },
          "The key `energy` of `kernbench run --json`.")
      .def("__str__", [](const EnergyReport& e) { return trace::to_text(e); })
      .def("__repr__", [](const EnergyReport& e) {
        return fmt::format("<energy {}, {} on average>", to_string(e.total()),
                           trace::watts_text(e.average_w()));
      });
  auto torch = py::reinterpret_borrow<py::class_<PyTorch>>(m.attr("Torch"));
  torch.def("_energy", [](const PyTorch& s) { return s.host->torch_to_look_at().energy(); });
}

}  // namespace kernbench::python
