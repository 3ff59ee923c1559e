// The behaviours that ship, one function for each impl. The registry names them (topology/builtin_kinds.cpp).
#pragma once

#include "kernbench/compute_model.hpp"
#include "kernbench/memory_model.hpp"

namespace kernbench::models {

/// Mt · Nt · Kt tile times; an edge tile costs a full one.
MatrixFactory tiled_matrix_unit();
/// ⌈elements / lanes⌉ cycles × class; a reduction adds log2(lanes) cycles once.
VectorFactory lane_vector_unit();
/// Every burst takes its `burst_time` of its pseudo-channel, then `access_ns`.
MemoryBehaviour plain_hbm();
/// Banks with row buffers, read–write turn-around, refresh.
MemoryBehaviour rows_hbm();
/// Banks behind queues and a scheduler: first ready first, writes in batches, all the gaps between commands.
MemoryBehaviour scheduled_hbm();

}  // namespace kernbench::models
