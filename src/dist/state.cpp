#include "dist/state.hpp"

namespace kernbench::dist {

State& State::of(runtime::Engine& engine) {
  if (!engine.extension) engine.extension = std::make_unique<State>();
  return static_cast<State&>(*engine.extension);
}

}  // namespace kernbench::dist
