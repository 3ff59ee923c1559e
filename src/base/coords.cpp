#include "kernbench/coords.hpp"

#include <fmt/format.h>

namespace kernbench {

std::string to_string(CubeCoord c) { return fmt::format("sip{}.cube{}", c.sip, c.cube); }
std::string to_string(PeCoord p) { return fmt::format("{}.pe{}", to_string(p.in_cube()), p.pe); }

}  // namespace kernbench
