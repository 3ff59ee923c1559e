// Which algorithm carries out a collective, and which PEs work on it.
#pragma once

#include "dist/state.hpp"

namespace kernbench::dist {

struct Invocation {
  std::string name;  // as the caller knows it: `all_reduce`, `send to rank 1`
  ccl::Collective collective = ccl::Collective::all_reduce;
  std::vector<Tensor> tensors;  // what goes in; then what comes out, if that is another one
  std::optional<ReduceOp> op = {};
  std::optional<int> root = {};  // a member

  const Tensor* tensor() const { return tensors.empty() ? nullptr : &tensors.front(); }
  bool has_parts() const {  // one tensor has a part for every member
    return collective == ccl::Collective::all_gather || collective == ccl::Collective::reduce_scatter ||
           collective == ccl::Collective::all_to_all;
  }
};

/// The PEs of a member that work on a tensor: of those that hold copies of a block the first one.
std::vector<runtime::Holder> workers(const runtime::Layout& layout, ccl::Group group);
/// Whether two PEs of a SIP belong to the same member.
bool same_member(ccl::Group group, const runtime::Holder& a, const runtime::Holder& b);
/// How many members a group has in this call.
int members(const State& state, const Invocation& call, const GroupKey& group);

/// Who takes part in plans of this group. PEs are those that hold something of `tensor`, or (null) the mapper's.
ccl::PlanRequest plan_request(State& state, const GroupKey& group, const Tensor* tensor);

/// The configured algorithm if it serves the group and the tensors lie as it needs them, else the built-in one that
/// does. InputError (`dist.layout`) if none does.
const ccl::Settings& choose(State& state, const Invocation& call, const GroupKey& group);

/// The PEs of the calling rank that run the kernel.
std::vector<PeCoord> targets(State& state, const Invocation& call, const GroupKey& group,
                             const ccl::Members& all);

}  // namespace kernbench::dist
