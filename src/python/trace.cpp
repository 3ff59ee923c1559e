// What happened: traces, the op log, its summary, critical path, hash.
#include <fmt/format.h>
#include <pybind11/stl.h>

#include "kernbench/error.hpp"
#include "kernbench/trace.hpp"
#include "python/host.hpp"

namespace kernbench::python {
namespace {

void bind_request_trace(py::module_& m) {
  py::class_<Trace>(m, "Trace", "A request of the host, completed. Times are simulated nanoseconds.")
      .def_property_readonly("phase", [](const Trace& t) { return std::string(to_string(t.phase)); })
      .def_readonly("name", &Trace::name)
      .def_readonly("sip", &Trace::sip)
      .def_property_readonly("submitted_ns", [](const Trace& t) { return t.submitted.ns(); })
      .def_property_readonly("queued_ns", &Trace::queued_ns)
      .def_property_readonly("total_ns", &Trace::total_ns)
      .def_property_readonly("pe_exec_ns", &Trace::pe_exec_ns)
      .def_property_readonly("network_ns", &Trace::network_ns)
      .def_readonly("late_starts", &Trace::late_starts)
      .def("__repr__", [](const Trace& t) {
        return fmt::format("<{} '{}' on sip{}: {:.3f} ns, pe_exec {:.3f} ns>", to_string(t.phase), t.name,
                           t.sip, t.total_ns(), t.pe_exec_ns());
      });
}

py::list shares(const std::vector<trace::Share>& list) {
  py::list all;
  for (const auto& share : list) all.append(py::make_tuple(share.name, share.time.ns(), share.fraction));
  return all;
}

void bind_critical_path(py::module_& m) {
  using trace::CriticalPath;
  py::class_<CriticalPath>(m, "CriticalPath",
                           "Where the time went, from the first submit to the last completion.")
      .def_property_readonly("length_ns", [](const CriticalPath& p) { return p.length().ns(); })
      .def_property_readonly(
          "by_resource", [](const CriticalPath& p) { return shares(p.by_resource); },
          "(name, ns, fraction of the run), largest first.")
      .def_property_readonly("by_reason", [](const CriticalPath& p) { return shares(p.by_reason); })
      .def_property_readonly("by_line", [](const CriticalPath& p) { return shares(p.by_line); })
      .def("to_json", [](const CriticalPath& p) { return trace::to_json(p); })
      .def("__str__", [](const CriticalPath& p) { return trace::to_text(p); })
      .def("__repr__",
           [](const CriticalPath& p) { return fmt::format("<critical path of {}>", to_string(p.length())); });
}

}  // namespace

void bind_trace(py::module_& m) {
  bind_request_trace(m);
  bind_critical_path(m);
}

}  // namespace kernbench::python
