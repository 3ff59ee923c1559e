#include "bench/shipped.hpp"

namespace kernbench {

Registry builtin_registry() {
  Registry registry{topology::builtin_registry(), {}, ccl::builtin_registry()};
  registry.benches.add(bench::ccl_allreduce());
  registry.benches.add(bench::ccl_neighbour());
  registry.benches.add(bench::matmul_composite());
  registry.benches.add(bench::gpt3_qkv());
  registry.benches.add(bench::milestone_gqa_llama70b());
  registry.benches.add(bench::va_offset_verify());
  registry.benches.add(bench::tp_mlp());
  registry.benches.add(bench::llama());
  registry.benches.add(bench::traffic());
  registry.benches.add(bench::memory());
  return registry;
}

}  // namespace kernbench
