#include "kernbench/bench.hpp"

namespace kernbench {

Registry builtin_registry() { return {topology::builtin_registry(), {}}; }

}  // namespace kernbench
