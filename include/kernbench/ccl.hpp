// Collectives are kernels: plain functions that send and receive between PEs.
//
//   void ring_allreduce(tl::Context& tl, const ccl::Call& call);
//
// One instance runs on every PE that takes part. `Call` tells it which tensors, which operation and where it
// stands among the others; `tl` has the queues to its neighbours. ccl_steps.hpp has the steps that collectives
// share: cutting a tensor into tiles that fit a slot, reducing along a line, passing on round a ring.
//
// A registry names the algorithms there are, and what they refer to by name: neighbours, mappers, validators.
// It is an ordinary object; add your own to it:
//
//   ccl::Registry registry = builtin_collectives();
//   registry.add({.name = "acme_allreduce", .description = "…", .topology = "ring_1d", .kernel = acme_allreduce});
//
// docs/collectives.md writes one from nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernbench/coords.hpp"
#include "kernbench/machine.hpp"
#include "kernbench/neighbours.hpp"
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
  /// The options that the entry of ccl.yaml has for its kernel: `reduce_op`, `chunk_size`, and every key that begins with
  /// `kernel_`. Null if it has none.
  std::shared_ptr<const std::map<std::string, std::string>> config = {};
};

using Kernel = std::function<void(tl::Context&, const Call&)>;

/// What the members of a collective are: SIPs, cubes of all SIPs, or single PEs.
enum class Group { sip, cube, pe };
std::string_view to_string(Group group);

/// The PEs that take part in a collective, and who exchanges with whom.
struct Members {
  Group group = Group::sip;
  std::vector<int> sips;  // that take part, in rank order
  Arrangement machine;
  bool regular = true;  // false: some PEs of a cube or cubes of a SIP, where others take part whole
  /// Each lane is one PE of every member, in rank order. What one lane does is no concern of the others.
  std::vector<std::vector<PeCoord>> lanes;
  MeshCoord grid = {1, 1};  // of the ranks of a lane

  int world_size() const { return static_cast<int>(lanes.front().size()); }
  /// All, ordered.
  std::vector<PeCoord> pes() const;
  /// What the kernel on this PE is told about its place; the rest is the caller's. InputError if it takes no
  /// part.
  Call call(PeCoord pe) const;
};

/// Neighbours by name.
struct Topology {
  std::string name;
  std::string description;
  std::function<Links(const Members&)> links;
};

/// Picks the PEs of a member that take part.
struct Mapper {
  /// A cube counts among those of its member: of a cube it is 0.
  struct Pick {
    int cube = 0, pe = 0;
    friend auto operator<=>(const Pick&, const Pick&) = default;
  };
  std::string name;
  std::string description;
  std::function<std::vector<Pick>(Group, const Arrangement&)> picks;
};

/// What a PE holds of a tensor.
struct HeldShard {
  PeCoord pe;
  std::int64_t elements = 0;
  friend bool operator==(const HeldShard&, const HeldShard&) = default;
};

/// Says whether an algorithm can work on a tensor that lies like this.
struct Validator {
  std::string name;
  std::string description;
  /// What is wrong with it; empty if nothing is.
  std::function<std::string(std::span<const HeldShard>, const Members&)> problem;
};

/// What a collective has to move, for formulas.
struct Load {
  const Members& members;
  std::int64_t elements = 0;       // that each PE holds of the input
  std::int64_t tile_elements = 1;  // that fit into a slot

  int ranks() const { return members.world_size(); }
  std::int64_t lanes() const { return static_cast<std::int64_t>(members.lanes.size()); }
  /// Tiles that these elements make.
  std::int64_t tiles(std::int64_t n) const { return (n + tile_elements - 1) / tile_elements; }
  std::int64_t tiles() const { return tiles(elements); }
};

/// A count that follows from an algorithm's definition.
struct Formula {
  std::string text;  // for people; ws is the number of ranks
  std::function<std::int64_t(const Load&)> value;
};

enum class Collective {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  all_to_all,
  send_recv,
  barrier,
  other
};
std::string_view to_string(Collective collective);

struct Algorithm {
  std::string name;
  std::string description;  // one sentence
  Collective collective = Collective::all_reduce;
  std::string topology;
  std::vector<std::string> also_right_on = {};  // topologies besides its own; others would give wrong results
  std::string mapper = "leader_only";
  std::vector<std::string> mappers = {};  // that it is right with; empty: any
  std::string validator = "any";
  std::vector<Group> serves = {Group::sip, Group::cube, Group::pe};
  std::optional<bool> identical_bits =
      {};  // whether all members end with the same bits, where that is a question
  Kernel kernel;
  std::function<Links(const Members&)> links = {};  // of topology `none`; empty: those of its own topology
  /// Neighbours of its own, made from those of the topology; empty: the topology's.
  std::function<Links(const Members&, const Links&)> rewire = {};
  bool any_topology = false;   // it is right on every topology
  bool has_root_cube = false;  // it gathers in the `root_cube` of each SIP
  Formula messages = {};       // in all, over all lanes
  Formula rounds = {};         // messages one after the other
};

class Registry {
 public:
  /// A name that exists already, or no name or kernel, is an InputError (`registry.…`).
  void add(Algorithm algorithm);
  void add(Topology topology);
  void add(Mapper mapper);
  void add(Validator validator);

  /// By name; InputError (`ccl.unknown-…`) that lists the known ones if there is none such.
  const Algorithm& algorithm(std::string_view name) const;
  const Topology& topology(std::string_view name) const;
  const Mapper& mapper(std::string_view name) const;
  const Validator& validator(std::string_view name) const;

  const std::vector<Algorithm>& algorithms() const { return algorithms_; }
  const std::vector<Topology>& topologies() const { return topologies_; }
  const std::vector<Mapper>& mappers() const { return mappers_; }
  const std::vector<Validator>& validators() const { return validators_; }

 private:
  std::vector<Algorithm> algorithms_;
  std::vector<Topology> topologies_;
  std::vector<Mapper> mappers_;
  std::vector<Validator> validators_;
};

/// Everything that ships.
Registry builtin_collectives();
/// The same under its older name.
inline Registry builtin_registry() { return builtin_collectives(); }

/// Who takes part on this machine. `sips`: these only, joined to a ring; empty: all, as the machine joins them.
/// For Group::pe either the first `world_size` PEs in (sip, cube, pe) order; or, if that is not given, `pes` of each SIP,
/// which are the mapper's unless given.
struct MemberRequest {
  Group group = Group::sip;
  std::vector<int> sips = {};
  std::optional<int> world_size = {};
  std::vector<Mapper::Pick> pes = {};
  std::optional<int> root_cube = {};  // not given: the one in the middle
};
Members members_of(const topology::Machine& machine, const Mapper& mapper, const MemberRequest& request = {});
/// These PEs, for algorithms that look at their lanes alone.
Members members_of_lanes(Group group, std::vector<std::vector<PeCoord>> lanes);
/// The topologies that an algorithm is right on: its own, `none` (its own neighbours), and what else it says.
std::vector<std::string> right_topologies(const Algorithm& algorithm);
/// The links of an algorithm between these. InputError if it does not serve them, or is not right on that topology.
Links links_of(const Registry& registry, const Algorithm& algorithm, std::string_view topology,
               const Members& members);

}  // namespace kernbench::ccl

namespace kernbench {
using ccl::builtin_collectives;
}
