// What models are made of: operations, layers, distributed tensors, and kernels that are written in C++ for Python's to call.
#pragma once

#include <initializer_list>

#include "python/host.hpp"

namespace kernbench::python {

/// InputError unless all are of one context that is not over.
void check_one_context(const PyTensor& first, std::initializer_list<const PyTensor*> more);

void bind_models(py::module_& m);
void bind_nn(py::module_& m);
void bind_tp(py::module_& m);
void bind_dtensor(py::module_& m);

}  // namespace kernbench::python
