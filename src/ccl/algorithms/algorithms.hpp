// The collectives that ship, one file each: the kernel and what the registry says of it.
#pragma once

#include "kernbench/ccl_steps.hpp"

namespace kernbench::ccl {

void hello_send(tl::Context& tl, const Call& call);
void ring_allreduce(tl::Context& tl, const Call& call);
void ring_allreduce_rs(tl::Context& tl, const Call& call);
void mesh_allreduce(tl::Context& tl, const Call& call);
void tree_allreduce(tl::Context& tl, const Call& call);
void intersip_allreduce(tl::Context& tl, const Call& call);
void intercube_allreduce(tl::Context& tl, const Call& call);
void hierarchical_allreduce(tl::Context& tl, const Call& call);
void all_gather(tl::Context& tl, const Call& call);
void reduce_scatter(tl::Context& tl, const Call& call);
void broadcast(tl::Context& tl, const Call& call);
void reduce(tl::Context& tl, const Call& call);
void all_to_all(tl::Context& tl, const Call& call);
void send_recv(tl::Context& tl, const Call& call);
void barrier(tl::Context& tl, const Call& call);

Algorithm describe_hello_send();
Algorithm describe_ring_allreduce();
Algorithm describe_ring_allreduce_rs();
Algorithm describe_mesh_allreduce();
Algorithm describe_tree_allreduce();
Algorithm describe_intersip_allreduce();
Algorithm describe_intercube_allreduce();
Algorithm describe_intercube_allreduce_allpe();
Algorithm describe_hierarchical_allreduce();
Algorithm describe_all_gather();
Algorithm describe_reduce_scatter();
Algorithm describe_broadcast();
Algorithm describe_reduce();
Algorithm describe_all_to_all();
Algorithm describe_send_recv();
Algorithm describe_barrier();

/// What exchange_between_sips takes for each tile.
std::int64_t exchange_messages(const Arrangement& machine);
std::int64_t exchange_rounds(const Arrangement& machine);
/// The tiles of what `even_pieces` cuts into a multiple of `n`.
std::int64_t even_tiles(const Load& w, std::int64_t n);

}  // namespace kernbench::ccl
