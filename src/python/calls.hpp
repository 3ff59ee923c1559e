#pragma once

#include <pybind11/pybind11.h>

namespace kernbench::python {

namespace py = pybind11;

/// From now on a call of the module with wrong arguments is told what is wrong with them. After everything is bound.
void explain_wrong_calls(py::module_& m);

}  // namespace kernbench::python
