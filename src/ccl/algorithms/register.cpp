#include "ccl/algorithms/algorithms.hpp"
#include "ccl/builtin.hpp"

namespace kernbench::ccl {

void register_algorithms(Registry& registry) {
  registry.add(describe_hello_send());
  registry.add(describe_ring_allreduce());
  registry.add(describe_ring_allreduce_rs());
  registry.add(describe_mesh_allreduce());
  registry.add(describe_tree_allreduce());
  registry.add(describe_intersip_allreduce());
  registry.add(describe_intercube_allreduce());
  registry.add(describe_intercube_allreduce_allpe());
  registry.add(describe_hierarchical_allreduce());
  registry.add(describe_all_gather());
  registry.add(describe_reduce_scatter());
  registry.add(describe_broadcast());
  registry.add(describe_reduce());
  registry.add(describe_all_to_all());
  registry.add(describe_send_recv());
  registry.add(describe_barrier());
}

}  // namespace kernbench::ccl
