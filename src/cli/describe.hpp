// What `kernbench describe` says of collectives.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernbench/ccl.hpp"
#include "kernbench/param.hpp"

namespace kernbench::cli {

/// Parameters, one after the other, below a title; nothing if there are none.
std::string params_text(const std::string& title, const std::vector<Param>& params);

/// An algorithm, an entry or a section of ccl.yaml, a neighbour topology, a mapper or a validator; empty if it is none.
std::string describe_collective(std::string_view name, const ccl::Registry& registry);
std::vector<std::string> collective_names(const ccl::Registry& registry);

}  // namespace kernbench::cli
