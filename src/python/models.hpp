// Kernels of models that are written in C++, for Python kernels to call.
#pragma once

#include "python/convert.hpp"

namespace kernbench::python {

void bind_models(py::module_& m);

}  // namespace kernbench::python
