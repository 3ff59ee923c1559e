// How GoogleTest shows our types when an expectation fails.
#pragma once

#include <ostream>

#include "kernbench/units.hpp"

namespace kernbench {

inline void PrintTo(Time t, std::ostream* out) { *out << to_string(t); }
inline void PrintTo(Bytes b, std::ostream* out) { *out << b.count() << " B"; }

}  // namespace kernbench
