// A registry for tests of sweeps.
#pragma once

#include <csignal>

#include "kernbench/error.hpp"
#include "sweep/sweep.hpp"

namespace kernbench::sweep {

/// The built-in benches and `odd`, which gives twice its option `n`, fails for 13, and kills its process for 17.
inline const Registry& registry_with_odd_bench() {
  static const Registry made = [] {
    Registry r = builtin_registry();
    r.benches.add({"odd",
                   "for tests",
                   {Param::integer("n", 1, {0, 1000}, "what to do")},
                   [](Torch& torch, const Options& options, BenchReport& report) {
                     const auto n = options.integer("n");
                     if (n == 17) ::raise(SIGKILL);
                     if (n == 13) throw InputError({"odd.n", "n", "13 brings bad luck", "take another"});
                     const Tensor x = torch.zeros({n + 1}, DType::f32);
                     torch.synchronize();
                     report.result("twice", 2 * n);
                   }});
    return r;
  }();
  return made;
}

}  // namespace kernbench::sweep
