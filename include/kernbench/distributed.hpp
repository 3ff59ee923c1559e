// Several ranks in one host program: what `torch.multiprocessing` and `torch.distributed` are to a PyTorch program.
//
//   spawn(torch, [&](int rank) {
//     torch.ahbm.set_device(rank);
//     dist::init_process_group(torch);
//     Tensor x = torch.full({16, 1024}, rank + 1, f16, rows, "x");
//     dist::all_reduce(x);                                        // every rank ends with the sum over all ranks
//     dist::all_reduce(x, ReduceOp::MAX, torch.ahbm.cubes);       // every cube of every SIP with the largest
//   }, dist::get_world_size(torch));
//
// Ranks take turns: one runs until it must wait, then another one. Host code takes no simulated time and there is one
// clock: it stands still while any rank can run, and when all wait it goes on to the first instant at which one of them
// need not any more. All ranks run on the thread that called `spawn`, each on a stack of its own.
//
// A rank is a SIP. Where `ccl.yaml` gives the all-reduce a `world_size`, a rank is a PE: rank r the r-th in (sip, cube, pe)
// order; devices are PEs then, tensors lie whole on theirs, launches run there alone.
//
// Collectives mean what torch means: element i of the logical tensor is combined over the members of the group. They are
// kernels on queues between PEs; which one runs is said by `ccl.yaml`. All members must join, with the same call in the
// same order; otherwise an error lists who joined what.
#pragma once

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kernbench/ccl.hpp"
#include "kernbench/error.hpp"
#include "kernbench/torch.hpp"

namespace kernbench::dist {

using ccl::ReduceOp;

// ── ranks ──

/// Ranks have failed; those that did not were stopped. What was under way has ended or was given up, and the context
/// can be used again.
class SpawnException : public Error {
 public:
  explicit SpawnException(std::map<int, std::exception_ptr> causes);
  /// What went wrong first, by rank: not what followed from it.
  const std::map<int, std::exception_ptr>& causes() const { return causes_; }

 private:
  std::map<int, std::exception_ptr> causes_;
};

/// Runs `fn(rank)` for the ranks 0 … nprocs − 1 and comes back when all have ended. Each has a current device of its own,
/// at first the caller's. Throws SpawnException; InputError (`dist.spawn`) inside another spawn or for a number of
/// ranks that the machine has no devices for.
void spawn(Torch& torch, const std::function<void(int rank)>& fn, int nprocs);

/// Inside `spawn` the rank that calls, outside 0.
int get_rank(const Torch& torch);
/// SIPs, or PEs where a rank is one.
int get_world_size(const Torch& torch);

// ── the process group ──

/// The `ccl.yaml` of a context (a file, or `default`: the one that ships), with overrides such as
/// `defaults.n_slots=8`, and the algorithms it may name. Before anything is submitted.
void configure(Torch& torch, const std::string& file_or_default,
               const std::vector<std::string>& overrides = {},
               ccl::Registry registry = ccl::builtin_collectives());
/// More overrides of the context's `ccl.yaml`, whichever that is.
void configure_further(Torch& torch, const std::vector<std::string>& overrides);

/// An all-reduce of `ccl.yaml`.
struct ConfiguredAllReduce {
  std::string name;
  std::vector<ccl::Group> serves;
  bool every_pe = false;               // the PEs of a cube share the work; else one of each does it
  std::optional<std::int64_t> n_elem;  // elements of a member, for benches
};
/// The one that it configures.
ConfiguredAllReduce configured_all_reduce(const Torch& torch);
/// All that it knows, also those that it has no entry for.
std::vector<ConfiguredAllReduce> known_all_reduces(const Torch& torch);
/// Whether a rank is a PE.
bool ranks_are_pes(const Torch& torch);

/// Installs the queues of the configured all-reduce and waits for them. Called once before `spawn`, or once by each
/// rank; a second call by the same rank is an InputError (`dist.initialized`).
void init_process_group(Torch& torch, std::string_view backend = "ahbm");
bool is_initialized(const Torch& torch);

/// Who takes part: by default all SIPs (or what `ccl.yaml` says in `defaults.group`), `torch.ahbm.cubes`, or some ranks.
class Group {
 public:
  enum class Kind { standard, cubes, ranks };
  Group() = default;
  Group(Torch::Ahbm::Cubes)
      : kind_(Kind::cubes) {}  // NOLINT(google-explicit-constructor): group = torch.ahbm.cubes
  /// These SIPs alone, in this order; the members number from 0.
  static Group of(std::vector<int> ranks);

  Kind kind() const { return kind_; }
  const std::vector<int>& ranks() const { return ranks_; }

 private:
  Kind kind_ = Kind::standard;
  std::vector<int> ranks_;
};

/// A collective that was called.
class Work {
 public:
  bool is_completed() const { return last_.done(); }
  /// Returns when this rank's part is complete. Throws what made it fail.
  void wait() const;
  /// Of one that is completed: how long it took.
  runtime::Trace trace() const;
  /// The kernel that ran.
  const std::string& algorithm() const { return algorithm_; }

  Work(std::shared_ptr<runtime::Engine> engine, runtime::Handle launch, std::string algorithm)
      : engine_(std::move(engine)),
        first_(launch),
        last_(std::move(launch)),
        algorithm_(std::move(algorithm)) {}
  /// There is more to do, after that.
  void then(runtime::Handle more) { last_ = std::move(more); }

 private:
  std::shared_ptr<runtime::Engine> engine_;
  runtime::Handle first_, last_;
  std::string algorithm_;
};

// ── collectives ── in place, on the tensor of the rank that calls; without `async_op` they return when its part is done
//
// Over SIPs a tensor must be laid out alike on every rank, in any way; of a replicated tensor one copy is worked on and
// then copied inside the SIP. Over cubes every cube holds a shard of the same size, on PE 0 or split over its PEs alike.
// Where a result is longer or shorter than what goes in, a PE must hold all rows of its columns (or the whole of a
// vector) of both. Anything else is an InputError (`dist.layout`).

Work all_reduce(const Tensor& tensor, ReduceOp op = ReduceOp::SUM, const Group& group = {},
                bool async_op = false);
/// `src` and `dst` are members of the group: ranks, of `torch.ahbm.cubes` cubes counted over all SIPs.
Work broadcast(const Tensor& tensor, int src, const Group& group = {}, bool async_op = false);
/// The others' tensors keep no defined value.
Work reduce(const Tensor& tensor, int dst, ReduceOp op = ReduceOp::SUM, const Group& group = {},
            bool async_op = false);
/// `output` has the inputs of all members, one after the other.
Work all_gather_into_tensor(const Tensor& output, const Tensor& input, const Group& group = {},
                            bool async_op = false);
/// `input` is combined over all members; `output` is this member's part of the result.
Work reduce_scatter_tensor(const Tensor& output, const Tensor& input, ReduceOp op = ReduceOp::SUM,
                           const Group& group = {}, bool async_op = false);
/// Part i of `input` becomes part `rank` of the `output` of member i.
Work all_to_all_single(const Tensor& output, const Tensor& input, const Group& group = {},
                       bool async_op = false);
/// To another rank, which receives into a tensor laid out alike; in the order of the calls.
Work send(const Tensor& tensor, int dst, bool async_op = false);
Work recv(const Tensor& tensor, int src, bool async_op = false);
/// Nobody returns before all have called it.
Work barrier(Torch& torch, const Group& group = {}, bool async_op = false);

// ── kernels of your own that talk to each other ──

/// A launch (torch.hpp) whose kernel may send and receive. Who is whose neighbour says a topology of the registry, which
/// PEs have queues a mapper; slots and buffers are those of `ccl.yaml`'s defaults. Queues are installed on first use and
/// stay: what a launch leaves unread, the next one receives.
struct QueueLaunch {
  std::string name;
  std::string topology;  // `intracube_ring`, `intercube_intersip`, `ring_1d` …
  std::string mapper = "all_pes";
  Group group = {};               // whose members these topologies join: of cubes for `intercube_intersip`
  std::optional<Grid> grid = {};  // not given: the PEs that hold a shard of some tensor argument
  std::vector<PePlace> pes = {};  // instead of a grid: these PEs
};

/// The same for bindings: `body` is called once for each PE.
Handle launch_body(Torch& torch, const QueueLaunch& options, const std::vector<Tensor>& tensors,
                   const std::function<void(tl::Context&)>& body);

/// Runs `kernel(tl, args…)` on the current device, as Torch::launch does. Every rank launches its own part; if one does
/// not that others wait for, they end with an IpcqDeadlock.
///
///   dist::launch(torch, {.name = "hello", .topology = "intracube_ring"}, hello, x, n);
template <class Kernel, class... Args>
Handle launch(Torch& torch, const QueueLaunch& options, Kernel&& kernel, const Args&... args) {
  std::vector<Tensor> tensors;
  const auto collect = [&]<class T>(const T& arg) {
    if constexpr (std::is_same_v<T, Tensor>) tensors.push_back(arg);
  };
  (collect(args), ...);
  const auto passed = []<class T>(const T& arg) -> decltype(auto) {
    if constexpr (std::is_same_v<T, Tensor>)
      return arg.ptr();
    else
      return (arg);
  };
  return launch_body(torch, options, tensors,
                     [&](tl::Context& tl) { std::invoke(kernel, tl, passed(args)...); });
}

}  // namespace kernbench::dist

namespace kernbench {
using dist::spawn;
using dist::SpawnException;
}  // namespace kernbench
