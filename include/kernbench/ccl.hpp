// Collectives are kernels: plain functions that send and receive between PEs.
//
//   void ring_allreduce(tl::Context& tl, const ccl::Call& call);
//
// One instance runs on every PE that takes part. `Call` tells it which tensors, which operation and where it
// stands among the others; `tl` has the queues to its neighbours. ccl_steps.hpp has the steps that collectives
// share: cutting a tensor into tiles that fit a slot, reducing along a line, passing on round a ring.
// docs/collectives.md writes one from nothing.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "kernbench/coords.hpp"
#include "kernbench/machine.hpp"
#include "kernbench/tl.hpp"

namespace kernbench::ccl {

/// How elements are combined; spelled as torch does. AVG is the sum divided by the number of members, for
/// floats only.
enum class ReduceOp { SUM, MAX, MIN, PROD, AVG };
std::string_view to_string(ReduceOp op);
/// InputError that lists the known names if it is none of them.
ReduceOp parse_reduce_op(std::string_view name);

/// The shape of what takes part: SIPs, cubes of each SIP from cube 0 on, PEs of each cube from PE 0 on.
struct Arrangement {
  MeshCoord sip_grid = {1, 1};  // width and height; of a ring count × 1
  topology::SipTopology sip_topology = topology::SipTopology::ring_1d;
  MeshCoord cube_mesh = {1, 1};
  int cubes = 1;  // fewer than the mesh has: the first ones, row by row
  int pes = 1;
  int root_cube = 0;  // where algorithms that gather in one cube of a SIP do so

  int sips() const { return sip_grid.x * sip_grid.y; }
  friend bool operator==(const Arrangement&, const Arrangement&) = default;
};

/// What a collective's kernel is told on each PE.
struct Call {
  tl::Ptr input;   // the tensor; what the running PE holds of it is one stretch of memory
  tl::Ptr output;  // of collectives whose result is another tensor
  ReduceOp op = ReduceOp::SUM;
  int root = 0;  // of broadcast and reduce: a rank

  int rank = 0;  // of the running PE among those it exchanges with
  int world_size = 1;
  MeshCoord grid = {1, 1};  // of these ranks, for algorithms that want them in rows
  int slots = 1;            // of each queue

  int sip = 0;  // which of the SIPs that take part; the cube and PE are tl.program_id(1) and (0)
  Arrangement machine;
};

using Kernel = std::function<void(tl::Context&, const Call&)>;

}  // namespace kernbench::ccl
