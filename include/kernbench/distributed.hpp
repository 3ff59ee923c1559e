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
// order; devices are PEs then, tensors lie whole on theirs, launches run there alone. Outside of `spawn` a tensor may be
// spread over PEs of a SIP even then; one over as many PEs as there are ranks is reduced by one call of the host program, each
// PE with what it holds.
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
/// at first the caller's. Throws SpawnException; std::bad_alloc if there is no memory to go on; InputError (`dist.spawn`) inside another spawn or for a number of
/// ranks that the machine has no devices for.
void spawn(Torch& torch, const std::function<void(int rank)>& fn, int nprocs);

/// Lets the other ranks run until each of them waits. Outside of `spawn` it does nothing.
void cooperative_yield(Torch& torch);

class Group;

/// Inside `spawn` the rank that calls, outside 0.
int get_rank(const Torch& torch);
/// SIPs, or PEs where a rank is one.
int get_world_size(const Torch& torch);
/// The same in a group of ranks: where the calling rank stands in it (−1: it is no member), and how many there are.
int get_rank(const Torch& torch, const Group& group);
int get_world_size(const Torch& torch, const Group& group);

// ── the process group ──

/// The `ccl.yaml` of a context (a file, or `default`: the one that ships), with overrides such as
/// `defaults.n_slots=8`, and the algorithms it may name. Before anything is submitted. An empty name, and a context that
/// was not configured: `ccl.yaml` in the current folder if there is one, else the one that ships.
void configure(Torch& torch, const std::string& file_or_default,
               const std::vector<std::string>& overrides = {},
               ccl::Registry registry = ccl::builtin_collectives());
/// The same with what a file of that name held.
void configure_text(Torch& torch, const std::string& text, const std::string& name,
                    const std::vector<std::string>& overrides = {},
                    ccl::Registry registry = ccl::builtin_collectives());
/// More overrides of the context's `ccl.yaml`, whichever that is.
void configure_further(Torch& torch, const std::vector<std::string>& overrides);

/// The file that is used: `ccl.yaml`, or `default ccl.yaml`, which ships.
std::string config_source(const Torch& torch);
/// What it held when it was read, overrides aside.
std::string config_text(const Torch& torch);

/// An all-reduce of `ccl.yaml`.
struct ConfiguredAllReduce {
  std::string name;
  std::vector<ccl::Group> serves;
  ccl::Group group = ccl::Group::sip;  // that the bench ccl-allreduce reduces over
  bool every_pe = false;               // all PEs of a cube work; else one of each does
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
/// With `rank_to_sip`, rank r is SIP `rank_to_sip[r]`: every SIP once, before anything is submitted.
void init_process_group(Torch& torch, std::string_view backend = "ahbm",
                        const std::vector<int>& rank_to_sip = {});
bool is_initialized(const Torch& torch);
/// The backend: `ahbm`. InputError (`dist.not-initialized`) if there is no process group.
std::string get_backend(const Torch& torch);

/// Who takes part: by default all SIPs (or what `ccl.yaml` says in `defaults.group`), `torch.ahbm.cubes`,
/// `torch.ahbm.pes`, or some ranks. A group has queues of its own: what several of them do at a time is no concern of
/// the others.
class Group {
 public:
  enum class Kind { standard, sips, cubes, pes, ranks };
  Group() = default;
  // NOLINTBEGIN(google-explicit-constructor): group = torch.ahbm.cubes
  Group(Torch::Ahbm::Cubes) : kind_(Kind::cubes) {}
  Group(Torch::Ahbm::Pes) : kind_(Kind::pes) {}
  // NOLINTEND(google-explicit-constructor)
  /// These ranks alone, in this order; the members number from 0.
  static Group of(std::vector<int> ranks);
  /// All SIPs, whatever `ccl.yaml` says of collectives that name no group.
  static Group of_all_sips();

  Kind kind() const { return kind_; }
  const std::vector<int>& ranks() const { return ranks_; }

 private:
  Kind kind_ = Kind::standard;
  std::vector<int> ranks_;
};

/// These ranks alone, in this order, as `torch.distributed.new_group` makes it. InputError (`dist.group`) unless they are
/// ranks, each once. Costs nothing until it is used; only its members need call it.
Group new_group(const Torch& torch, std::vector<int> ranks);

/// A collective that was called.
class Work {
 public:
  /// What the machine was asked for. Messages may still be held back: `submit` lets them go.
  struct Requests {
    runtime::Handle first, last;
    std::function<void()> submit;
  };

  bool is_completed() const { return requests_->last.request() && requests_->last.done(); }
  /// Returns when this rank's part is complete. Throws what made it fail.
  void wait() const;
  /// How long it took; it must be complete.
  runtime::Trace trace() const;
  /// The kernel that ran.
  const std::string& algorithm() const { return algorithm_; }

  Work(std::shared_ptr<runtime::Engine> engine, std::shared_ptr<Requests> requests, std::string algorithm)
      : engine_(std::move(engine)), requests_(std::move(requests)), algorithm_(std::move(algorithm)) {}

 private:
  std::shared_ptr<runtime::Engine> engine_;
  std::shared_ptr<Requests> requests_;
  std::string algorithm_;
};

// ── collectives ── in place, on the tensor of the rank that calls; without `async_op` they return when its part is done
//
// Over SIPs a tensor must be laid out alike on every rank, in any way; of a replicated tensor one copy is worked on and
// then copied inside the SIP. Over cubes every cube holds a shard of the same size, on PE 0 or split over its PEs alike.
// Over PEs every PE that holds something is a member, and all hold as much.
// Where a result is longer or shorter than what goes in, a PE must hold all rows of its columns (or the whole of a
// vector) of both. Anything else is an InputError (`dist.layout`).

Work all_reduce(const Tensor& tensor, ReduceOp op = ReduceOp::SUM, const Group& group = {},
                bool async_op = false);
/// `src` and `dst` are members of the group, counted from 0: of `torch.ahbm.cubes` cubes over all SIPs, of
/// `torch.ahbm.pes` the PEs that hold something.
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
/// To another rank, which receives into a tensor laid out alike; in the order of the calls. Sends and receives that a
/// rank calls one after the other are one launch, in which they take turns, so that ranks which all send first and then
/// receive do not wait for each other, whatever the size: it begins when one of them is waited for, or the rank does
/// something else that has its place in the order (a launch, a collective, a wait, a write to one of the tensors). So a
/// launch between an isend and the recv lets the isend go alone. A PE runs one program at a time: if its message is more
/// than the slots hold, that program ends when the peer receives, and if all ranks do so nobody ever does; the
/// IpcqDeadlock then says so. Call irecv before the launch.
Work send(const Tensor& tensor, int dst, bool async_op = false);
Work recv(const Tensor& tensor, int src, bool async_op = false);
inline Work isend(const Tensor& tensor, int dst) { return send(tensor, dst, true); }
inline Work irecv(const Tensor& tensor, int src) { return recv(tensor, src, true); }
/// Nobody returns before all have called it.
Work barrier(Torch& torch, const Group& group = {}, bool async_op = false);

// ── looking at queues ──

/// What a direction of a PE has counted since its queues were installed: messages, modulo 2³².
struct QueueCounters {
  std::string wiring;  // the algorithm it is for
  PeCoord pe;
  std::string direction;
  PeCoord peer;
  address::PhysAddr rx_base;          // of the ring in which messages arrive here
  std::uint32_t my_head = 0;          // sent
  std::uint32_t peer_tail_cache = 0;  // of these, read by the peer, as far as its credits have come
  std::uint32_t peer_head_cache = 0;  // arrived here
  std::uint32_t my_tail = 0;          // of these, received
};
/// The counters of all queues that are installed, by wiring, PE and direction.
std::vector<QueueCounters> queue_counters(Torch& torch);

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
