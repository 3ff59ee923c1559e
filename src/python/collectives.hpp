// Collectives of one's own, in Python, and the functional runner.
#pragma once

#include "kernbench/ccl.hpp"
#include "python/convert.hpp"

namespace kernbench::python {

/// Those that ship and those that Python has added.
ccl::Registry& collectives();
/// From (rank, direction, rank) for each link between ranks on these PEs.
ccl::Links links_from(const py::handle& links, const std::vector<PeCoord>& ranks);
void bind_collectives(py::module_& m);

}  // namespace kernbench::python
