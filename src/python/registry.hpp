// Everything a process can use and extend: components, collectives and benches that ship, and those of Python.
#pragma once

#include "kernbench/bench.hpp"

namespace kernbench::python {

Registry& registry();

}  // namespace kernbench::python
