// Options of benches as help and forms show them.
#pragma once

#include <vector>

#include "kernbench/bench.hpp"

namespace kernbench::bench {

/// The options of a bench; the sentence of one that does not always apply begins with its condition.
std::vector<Param> options_with_conditions(const Bench& bench);

}  // namespace kernbench::bench
