#include "bench/conditions.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace kernbench::bench {

std::vector<Param> options_with_conditions(const Bench& bench) {
  std::vector<Param> options = bench.options;
  for (Param& option : options)
    if (const Applies* condition = bench.condition_of(option.name))
      option.doc =
          fmt::format("only with {}={}: {}", condition->by, join(condition->values, " or "), option.doc);
  return options;
}

}  // namespace kernbench::bench
