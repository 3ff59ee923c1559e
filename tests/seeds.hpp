// How many cases a random test tries. Each case is made from its seed alone, so a failure that names its seed can be tried
// again: KERNBENCH_FIRST_SEED=17 KERNBENCH_SEEDS=1. KERNBENCH_SEEDS=1000 tries more of them than a test does by itself.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

namespace kernbench::testing {

struct Seeds {
  std::uint32_t first, end;
};

inline Seeds seeds(std::uint32_t first, std::uint32_t count) {
  const auto number = [](const char* name, std::uint32_t otherwise) {
    const char* text = std::getenv(name);
    return text != nullptr ? static_cast<std::uint32_t>(std::stoul(text)) : otherwise;
  };
  first = number("KERNBENCH_FIRST_SEED", first);
  return {first, first + number("KERNBENCH_SEEDS", count)};
}

}  // namespace kernbench::testing
