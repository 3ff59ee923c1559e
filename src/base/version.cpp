#include "kernbench/version.hpp"

namespace kernbench {

std::string_view version() { return KERNBENCH_VERSION; }

}  // namespace kernbench
