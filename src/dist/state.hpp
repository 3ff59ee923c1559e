// What this layer keeps with a context.
#pragma once

#include "dist/ranks.hpp"

namespace kernbench::dist {

struct State final : runtime::Engine::Extension {
  /// Of this context; made on first use.
  static State& of(runtime::Engine& engine);

  int rank() const { return ranks != nullptr ? ranks->current() : 0; }

  Ranks* ranks = nullptr;  // while `spawn` runs
};

}  // namespace kernbench::dist
