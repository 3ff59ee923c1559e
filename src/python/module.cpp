// The module kernbench._core: what the public headers offer, for the package in python/kernbench to put a face on.
#include <pybind11/stl.h>
#include "kernbench/version.hpp"
#include "python/calls.hpp"
#include "python/collectives.hpp"
#include "python/host.hpp"
#include "python/models.hpp"
#include "python/recording.hpp"

PYBIND11_MODULE(_core, m) {
  namespace kp = kernbench::python;
  m.doc() = "KernBench's C++ library.";
  m.attr("__version__") = std::string(kernbench::version());
  pybind11::options options;
  options.disable_enum_members_docstring();
  m.def("dtypes", [] {
    pybind11::list all;
    for (const auto dtype : kernbench::kAllDTypes) all.append(kp::to_python(dtype));
    return all;
  });
  m.def("dtype_of", [](const pybind11::object& dtype) { return kp::to_python(kp::dtype_of(dtype)); });
  m.def("numpy_dtype", [](const pybind11::object& dtype) { return kp::numpy_dtype(kp::dtype_of(dtype)); });
  kp::bind_errors(m);
  kp::bind_commands(m);
  kp::bind_tile(m);
  kp::bind_tl(m);
  kp::bind_byte_owners(m);
  kp::bind_address(m);
  kp::bind_machine(m);
  kp::bind_placement(m);
  kp::bind_tensor(m);
  kp::bind_trace(m);
  kp::bind_context(m);
  kp::bind_log(m);
  kp::bind_energy(m);
  kp::bind_dist(m);
  kp::bind_collectives(m);
  kp::bind_bench(m);
  kp::bind_models(m);
  kp::bind_nn(m);
  kp::bind_tp(m);
  kp::bind_dtensor(m);
  kp::bind_prototype(m);
  kp::explain_wrong_calls(m);
  kp::register_end();
}
