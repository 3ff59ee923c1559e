// The models of docs/own-models.md, beside those that ship.
#pragma once

#include "kernbench/registry.hpp"
#include "own_models/first_ready.hpp"
#include "own_models/small_first.hpp"
#include "own_models/systolic.hpp"
#include "own_models/windowed_dma.hpp"

namespace kernbench::testing {

inline topology::Registry registry_with_own_models() {
  topology::Registry registry = topology::builtin_registry();
  registry.add_impl("pe_gemm", acme::systolic());
  registry.add_impl("router", acme::small_first());
  registry.add_impl("router", acme::late_fee());
  registry.add_impl("hbm", acme::first_ready());
  registry.add_impl("pe_dma", acme::windowed_dma());
  return registry;
}

}  // namespace kernbench::testing
