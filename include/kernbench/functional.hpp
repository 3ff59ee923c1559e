// The functional runner: what a kernel computes on all its ranks, without a machine and without time.
//
//   void ring_sum(tl::Context& tl, tl::Ptr x, int rank, int world_size, int n);
//
//   const auto result = run_functional(ring_sum, 4, "ring_1d", inputs, 32);  // inputs: one array for each rank
//   EXPECT_EQ(result.tensors[2][0], expected);
//   EXPECT_EQ(result.rounds, 3);
//
// The kernel is recorded for every rank and the programs are executed in program order, with queues that hold
// as much as is sent (or `slots` messages) and the numerics of replay, so the bits are those of a simulation.
// The ranks' tensors lie end to end in one address space: rank r's is at that of rank 0 plus r times its bytes, if they
// are alike. A rank touches its own tensors only. Ranks are taken in order, each as far as it can go, so the result is the
// same every time. It depends on that order only through `recv_any`, which takes from the directions that have a message
// in turn, unless its order is given.
//
// Errors: what cannot be recorded is a `tl::KernelError`; a deadlock is a SimulationError
// `functional.deadlock` that says for each rank at which line it waits for whom; a receive that does not fit
// what was sent `functional.message`; memory that is not the rank's `functional.memory`.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernbench/ccl.hpp"
#include "kernbench/neighbours.hpp"
#include "kernbench/tl.hpp"

namespace kernbench::ccl {

/// Where ranks are and what they begin with.
struct FunctionalWorld {
  std::vector<PeCoord> ranks;                 // rank r runs on this PE
  Links links;                                // between them
  std::vector<std::vector<NdArray>> tensors;  // of each rank; its kernel gets a pointer to each
  /// Every kernel gets the pointers of rank 0's tensors: a rank's own is there plus rank times its bytes, as in a
  /// program that passes one pointer to all. `tl.shard` finds it too.
  bool common_pointers = false;
};

/// A value of a vector operation that a kernel asks for while it is recorded. To compute it, all ranks run as far as they
/// can; the kernel throws StopRecording and is recorded again with the answer.
struct AskedValue {
  int rank;
  isa::ValueId value;
  NdArray content = {};  // empty: not known yet
};
struct StopRecording {};

struct FunctionalOptions {
  std::string kernel = "kernel";  // for messages
  /// Largest message; not given: any. Kernels see it as the size of their queues' slots.
  std::optional<Bytes> slot_size;
  /// Messages a queue holds; a send waits while there are as many. Not given: any number.
  std::optional<int> slots;
  /// A received tile stays in its slot until its last reader, as in TCM; else the receive frees the slot.
  bool in_slot = true;
  Bytes scratch = Bytes(1 << 20);
  /// The values that kernels ask for while they are recorded; null if values cannot be asked for. Ranks that still wait are
  /// no deadlock in a run that has computed such a value.
  std::vector<AskedValue>* asked = nullptr;
  /// The directions that the `recv_any`s of a rank take, in their order.
  std::map<int, std::vector<std::string>> any_order;
};

/// What a kernel instance gets.
struct FunctionalRank {
  int rank = 0;
  int world_size = 1;
  std::vector<tl::Ptr> tensors;  // each a shard of its own to `tl.shard`
};
using FunctionalKernel = std::function<void(tl::Context&, const FunctionalRank&)>;

struct FunctionalResult {
  std::vector<std::vector<NdArray>> tensors;  // as the kernels left them
  std::int64_t messages = 0;
  Bytes bytes;              // in all messages
  Bytes busiest_link;       // most that one direction of one PE sent
  std::int64_t rounds = 0;  // the longest chain of messages in which each carries something of the one before
  std::vector<std::string> unread;  // messages nobody received: who sent them, at which line
  std::vector<isa::Program> programs;
};

FunctionalResult run_functional(const FunctionalKernel& kernel, const FunctionalWorld& world,
                                const FunctionalOptions& options = {});

/// A registered algorithm between these members. `tensors` has for each of `members.pes()` the input and, where
/// the collective has one, the output. `call` says the operation and the root; its slots are those of the options,
/// if given.
FunctionalResult run_functional(const Registry& registry, std::string_view algorithm, const Members& members,
                                std::vector<std::vector<NdArray>> tensors, const Call& call = {},
                                FunctionalOptions options = {});

/// The first `n` PEs of a machine with 8 PEs in a cube and 16 cubes in a SIP.
std::vector<PeCoord> first_pes(int n);

/// One tensor for each rank; the ranks are the first PEs. `topology` is the name of one (`neighbours`) or a
/// function that gives the links of these ranks. The kernel is called as `kernel(tl, tensor, args…)`, or as
/// `kernel(tl, tensor, rank, world_size, args…)` if it takes these.
template <class Kernel, class Topology, class... Args>
FunctionalResult run_functional(Kernel kernel, int world_size, Topology topology,
                                const std::vector<NdArray>& inputs, const Args&... args) {
  FunctionalWorld world{.ranks = first_pes(world_size), .links = {}, .tensors = {}};
  if constexpr (std::is_convertible_v<Topology, std::string_view>)
    world.links = neighbours(topology, world.ranks);
  else
    world.links = topology(world.ranks);
  for (const auto& input : inputs) world.tensors.push_back({input});
  const auto call = [&](tl::Context& tl, const FunctionalRank& me) {
    if constexpr (std::is_invocable_v<Kernel, tl::Context&, tl::Ptr, int, int, const Args&...>)
      std::invoke(kernel, tl, me.tensors[0], me.rank, me.world_size, args...);
    else
      std::invoke(kernel, tl, me.tensors[0], args...);
  };
  return run_functional(FunctionalKernel(call), world);
}

}  // namespace kernbench::ccl

namespace kernbench {
using ccl::run_functional;
}
