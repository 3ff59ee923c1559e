// Every algorithm on the machine model, with every number of ranks and every kind of buffer: the same bits and as many
// messages as in the functional runner.
#pragma once

#include <gtest/gtest.h>

#include <ostream>

#include "ccl/like_functional.hpp"

namespace kernbench::ccl {

struct GridCase {
  std::string algorithm;
  Group group = Group::pe;
  int ranks = 1;

  // NOLINTNEXTLINE(readability-identifier-naming): GoogleTest looks for it
  friend void PrintTo(const GridCase& c, std::ostream* out) {
    *out << c.algorithm << " of " << c.ranks << " " << to_string(c.group) << "s";
  }
};

inline auto grid_of(std::initializer_list<int> world_sizes) {
  std::vector<GridCase> cases;
  for (const auto& a : registry().algorithms())
    for (const auto group : a.serves)
      for (const int ranks : world_sizes) {
        if (group != Group::pe && ranks > 64) continue;                     // machines of at most 64 SIPs
        if (a.collective == Collective::send_recv && ranks != 2) continue;  // one of two members
        cases.push_back({a.name, group, ranks});
      }
  return ::testing::ValuesIn(cases);
}

inline const auto kGridName = [](const auto& made) {
  return fmt::format("{}_{}_{}", made.param.algorithm, to_string(made.param.group), made.param.ranks);
};

/// Ranks are PEs of the default machine, or SIPs of one cube, each a member.
inline topology::Machine machine_for(const GridCase& c) {
  if (c.group == Group::pe) return topology::load_machine("default", {}, topology::builtin_registry());
  return machine_of({.sips = c.ranks, .cubes = {1, 1}});
}

/// In slots of 16 elements of f16.
inline void expect_like_functional_in_every_buffer(const GridCase& c, std::int64_t elements) {
  for (const auto* kind : {"tcm", "hbm", "sram"}) {
    SCOPED_TRACE(kind);
    std::vector<std::string> set = {fmt::format("ccl.defaults.buffer_kind={}", kind),
                                    "ccl.defaults.slot_size=32"};
    if (c.group == Group::pe)
      set.push_back(fmt::format("ccl.algorithms.{}.world_size={}", c.algorithm, c.ranks));
    expect_like_functional(settings_of(c.algorithm, set), machine_for(c), c.group, elements);
  }
}

}  // namespace kernbench::ccl
