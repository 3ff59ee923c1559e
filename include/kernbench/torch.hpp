// The context of a host program: what `torch` is to a PyTorch program.
//
//   void scale(tl::Context& tl, tl::Ptr x, int n, float factor);        // a kernel, see tl.hpp
//
//   Torch torch(load_machine("default"));
//   const DPPolicy columns{.cube = Split::column_wise, .pe = Split::column_wise};
//   Tensor x = torch.from_numpy(array, columns, "x");
//   torch.launch("scale", scale, x, 64, 2.0f);                          // on every PE that holds a shard of x
//   NdArray result = x.numpy();                                         // waits for what it needs
//   for (const Trace& t : torch.traces()) fmt::print("{} {} ns\n", t.name, t.total.ns());
//
// A context owns one simulated machine; several may stand side by side. Host code takes no simulated time. Calls
// become requests in the stream of the current device and return at once; a request leaves the host when the one
// before it in its stream has completed there. `wait`, host reads and leaving the context complete them. Making a
// tensor is a map, and a write if it has content; a launch, a read, and dropping a tensor are one request each.
//
// A simulated program that fails (a fault, a deadlock) throws from the call that waits, and again from waits for what
// failed. Launches that had not completed are given up then; tensors stay, with what was written so far, and the context
// works on. One thread uses a context.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernbench/address.hpp"
#include "kernbench/energy.hpp"
#include "kernbench/isa.hpp"
#include "kernbench/machine.hpp"
#include "kernbench/memory_model.hpp"
#include "kernbench/tensor.hpp"
#include "kernbench/tl.hpp"
#include "kernbench/trace.hpp"

namespace kernbench::runtime {

class Engine;
class Request;
using address::MemorySpace;

enum class Phase { map, unmap, write, read, launch, install };
std::string_view to_string(Phase phase);

/// A request of the host, completed.
struct Trace {
  Phase phase = Phase::map;
  std::string name;  // of the tensor or kernel
  int sip = 0;
  Time submitted;             // when it was put in its stream
  Time queued;                // how long it waited there
  Time total;                 // from leaving the host to its completion there
  Time pe_exec;               // of a launch: first PE start to last PE end
  Time network;               // the rest of the total
  int late_starts = 0;        // of a launch: PEs that it reached after the instant at which all were to start
  std::string note;           // of a launch: what whoever made it has to say, e.g. on how many PEs it runs
  Time compulsory;            // of an operation of nn: operands read once, results written once, work at peak
  std::uint32_t request = 0;  // its number in the run, as in `trace::Op::launch`
  std::weak_ptr<Engine> context;  // whose it is; traces from elsewhere have none

  /// Where its time went, from leaving the host to completion there. InputError if the context is gone, or keeps no log.
  trace::CriticalPath critical_path() const;

  double total_ns() const { return total.ns(); }
  double pe_exec_ns() const { return pe_exec.ns(); }
  double network_ns() const { return network.ns(); }
  double queued_ns() const { return queued.ns(); }
};

/// A request to wait for. It belongs to its context: used after that is gone, it is an InputError
/// (`runtime.context-gone`).
class Handle {
 public:
  Handle() = default;
  bool done() const;
  /// The times of a request that is done.
  Trace trace() const;

  // For the layers above.
  explicit Handle(const std::shared_ptr<Request>& request) : request_(request), is_set_(request != nullptr) {}
  std::shared_ptr<Request> request() const;  // null if there is none

 private:
  std::weak_ptr<Request> request_;
  bool is_set_ = false;
};

/// P PEs of each of C cubes, from an origin on.
struct Grid {
  int pes = 1, cubes = 1;
  PePlace origin = {};
};

struct LaunchOptions {
  std::string name;
  std::optional<Grid> grid;  // not given: the PEs that hold a shard of some tensor argument
  std::vector<PePlace> pes =
      {};  // instead of a grid: these PEs. `num_programs(0)` counts those of the running cube,
           // `num_programs(1)` the cubes
};

/// Something the simulated hardware would not forgive; see the op log's guide.
struct HazardReport {
  std::string kind;  // write-write, read-write, slot overwritten, unread message
  std::string text;  // with both operations, their source lines and the bytes they share
  std::uint64_t occurrences = 1;
};

/// A link at which packets had to wait. Buffers are unbounded: here hardware would push back on the sender.
struct LinkQueue {
  std::string link;      // sip0.cube0.hbm_ctrl.pe0 → sip0.cube0.r0c0
  Bytes carried;         // over the whole run
  Time deepest_wait;     // the longest that a packet waited
  double deepest_bytes;  // what the link moves in that time: how much was queued before the packet
  Bytes overhead;        // headers, requests and acknowledgements among what it carried
  /// Of a link that leaves a router: packets that came when more than `cube.routers.buffer_packets` were before them. Hardware
  /// would have held up their senders.
  std::uint64_t pushed_back = 0;
  /// With `cube.routers.flow: credits`: how long the link stood idle while packets waited, for the next router had no room, and how
  /// often that was so.
  Time stalled;
  std::uint64_t stalls = 0;
};

/// What the DRAM of a PE's slice did with its time, where its model counts that (builtin.hbm_scheduled).
struct SliceActivity {
  std::string slice;  // sip0.cube0.hbm_ctrl.pe0
  models::MemoryActivity activity;
};

/// How far a run is.
struct Progress {
  Time now;                  // simulated
  std::uint64_t events = 0;  // so far
};

/// Where the op log is kept: in memory, in nameless files, or not at all (then there is no replay either). A context
/// keeps for its life what the log refers to: every command of every kernel that was launched. For very many launches
/// use `none`: programs then go when they have ended, and about 40 bytes per PE and launch stay.
enum class LogStorage { memory, disk, none };

struct TorchOptions {
  bool data = true;        // compute real numbers when the host reads
  int threads = 0;         // that simulate; 0: one per core, where they pay; the results are the same
  int replay_threads = 0;  // that compute; 0: one per core; the same bits
  bool hazards =
      false;  // they will be asked for: look for them while numbers are computed, on another thread
  bool packets = false;  // move every packet by itself, not in trains: the same result, slower
  bool skip =
      true;  // what comes again in the same state is taken over, not simulated: the same result, faster
  LogStorage log = LogStorage::memory;
  std::string log_folder = ".";                  // of LogStorage::disk
  const std::atomic<bool>* interrupt = nullptr;  // set: the run stops between two events with Interrupted
  std::function<void(const Progress&)>
      progress;  // called when the clock begins to run, then about ten times a second
};

/// The run was stopped from outside.
class Interrupted : public Error {
  using Error::Error;
};

class Torch {
 public:
  explicit Torch(const topology::Machine& machine, TorchOptions options = {});
  /// Completes what was submitted, unless an exception is on its way or was thrown before. Throws what that throws.
  ~Torch() noexcept(false);
  Torch(const Torch&) = delete;
  Torch& operator=(const Torch&) = delete;

  // ── tensors ── on the current device; without a policy whole, on cube 0, PE 0
  //
  // In HBM, unless `mem` says otherwise: in the TCMs of the PEs that hold it, beside kernel scratch and queues, or in the
  // SRAMs of its cubes, of which the PEs of a cube share one copy (so they must not split it).
  Tensor empty(const Shape& shape, DType dtype, const std::optional<DPPolicy>& dp = {}, std::string name = {},
               MemorySpace mem = MemorySpace::Hbm);
  Tensor zeros(const Shape& shape, DType dtype, const std::optional<DPPolicy>& dp = {}, std::string name = {},
               MemorySpace mem = MemorySpace::Hbm);
  Tensor full(const Shape& shape, double value, DType dtype, const std::optional<DPPolicy>& dp = {},
              std::string name = {}, MemorySpace mem = MemorySpace::Hbm);
  Tensor from_numpy(NdArray array, const std::optional<DPPolicy>& dp = {}, std::string name = {},
                    MemorySpace mem = MemorySpace::Hbm);
  /// The same with content that is made when somebody wants it: with data off, or if nobody reads what depends on
  /// it, a large tensor costs nothing. `fill(row, out)` fills a row of the matrix (page "placement.hpp") and must give
  /// the same whenever it is called.
  template <class T, class Fill>
  Tensor from_rows(const Shape& shape, Fill fill, const std::optional<DPPolicy>& dp = {},
                   std::string name = {},  // NOLINT(performance-unnecessary-value-param): it is moved on
                   MemorySpace mem = MemorySpace::Hbm) {
    return from_row_bytes(
        shape, kDTypeOf<T>,
        [fill = std::move(fill)](std::int64_t row, std::span<std::byte> out) {
          fill(row, std::span<T>(reinterpret_cast<T*>(out.data()), out.size() / sizeof(T)));
        },
        dp, std::move(name), mem);
  }
  using RowBytes = std::function<void(std::int64_t row, std::span<std::byte> out)>;
  Tensor from_row_bytes(const Shape& shape, DType dtype, RowBytes fill,
                        const std::optional<DPPolicy>& dp = {}, std::string name = {},
                        MemorySpace mem = MemorySpace::Hbm);

  // ── launches ──
  /// Runs `kernel(tl, args…)` on the current device: Tensor arguments become their pointers, all others are passed
  /// on unchanged. It runs on the PEs that hold a shard of some argument, which must be the same PEs of neighbouring
  /// cubes, or on the grid or the PEs that are given; tensors must lie on the current device.
  template <class Kernel, class... Args>
  Handle launch(const LaunchOptions& options, Kernel&& kernel, const Args&... args) {
    std::vector<Tensor> tensors;
    (collect(tensors, args), ...);
    return launch_body(options, tensors,
                       [&](tl::Context& tl) { std::invoke(kernel, tl, argument(args)...); });
  }
  template <class Kernel, class... Args>
  Handle launch(std::string name, Kernel&& kernel, const Args&... args) {
    return launch(LaunchOptions{.name = std::move(name), .grid = {}}, std::forward<Kernel>(kernel), args...);
  }
  /// The same for bindings: `body` is called once for each PE.
  Handle launch_body(const LaunchOptions& options, const std::vector<Tensor>& tensors,
                     const std::function<void(tl::Context&)>& body);

  /// Lets the clock run until the request is complete.
  void wait(const Handle& handle);
  /// The same for everything that was submitted.
  void synchronize();

  // ── devices ── a device is a SIP (or a PE, see distributed.hpp); 0 until another one is set
  /// A copy may outlive the context; its members are then an InputError (`runtime.context-gone`).
  struct Ahbm {
    std::weak_ptr<Engine> engine;
    /// As the group of a collective (distributed.hpp): one member per cube of every SIP.
    struct Cubes {};
    static constexpr Cubes cubes{};
    /// Likewise one member per PE that holds a shard.
    struct Pes {};
    static constexpr Pes pes{};
    void set_device(int rank) const;
    int current_device() const;
    int device_count() const;
  };
  struct Accelerator {
    Ahbm ahbm;
    void set_device_index(int index) const { ahbm.set_device(index); }
    int current_device_index() const { return ahbm.current_device(); }
    int device_count() const { return ahbm.device_count(); }
  };
  Ahbm ahbm;
  Accelerator accelerator;

  // ── what happened so far ──
  const topology::Machine& machine() const;
  bool has_data() const;
  Time now() const;  // the host's clock
  std::uint64_t events() const;
  /// Launches that came again in the same state and were not simulated (TorchOptions::skip).
  std::uint64_t taken_over() const;
  std::vector<Trace> traces() const;  // of completed requests, in the order of submission
  /// InputError with LogStorage::none.
  trace::RunLog log() const;
  /// What an operation of the log carried out, with its operands: `to_string` prints `dma_read 0x1000 …`. InputError if it
  /// is no command of a program (a launch, a request of the host), or of no program that this context still has.
  isa::AnyCommand command(const trace::Op& op) const;
  /// Those of the log, also with LogStorage::none.
  std::uint64_t log_hash() const;
  trace::Summary log_summary() const;
  /// What everything so far took in energy, also with LogStorage::none; nothing if the machine file has no `energy`.
  std::optional<trace::EnergyReport> energy() const;
  std::vector<HazardReport> hazards() const;
  /// Links at which packets waited, the longest wait first.
  std::vector<LinkQueue> link_queues() const;
  /// Slices that were used, of a memory that counts what it does; who had most to do first.
  std::vector<SliceActivity> memory_activity() const;

  Engine& engine() const { return *engine_; }  // for the layers above

 private:
  Trace trace_of(const Request& request) const;
  static void collect(std::vector<Tensor>& tensors, const Tensor& tensor) { tensors.push_back(tensor); }
  template <class T>
  static void collect(std::vector<Tensor>&, const T&) {}
  static tl::Ptr argument(const Tensor& tensor) { return tensor.ptr(); }
  template <class T>
  static const T& argument(const T& other) {
    return other;
  }

  std::shared_ptr<Engine> engine_;
  int exceptions_at_start_;
};

}  // namespace kernbench::runtime

namespace kernbench {
using runtime::Grid;
using runtime::Handle;
using runtime::LaunchOptions;
using runtime::MemorySpace;
using runtime::Torch;
using runtime::TorchOptions;
using runtime::Trace;
}  // namespace kernbench
