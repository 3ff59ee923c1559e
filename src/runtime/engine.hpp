// What stands behind a Torch: one simulated machine, its memory, its streams, and the books of its run.
#pragma once

#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "isa/program_book.hpp"
#include "runtime/clock.hpp"
#include "runtime/energy_meter.hpp"
#include "runtime/host_image.hpp"
#include "runtime/program_set.hpp"
#include "runtime/repeats.hpp"
#include "runtime/run_data.hpp"

namespace kernbench::runtime {

/// What stands behind the handles of one tensor.
class TensorState {
 public:
  TensorState(std::weak_ptr<Engine> engine, std::shared_ptr<const Storage> storage, Stream& stream)
      : engine_(std::move(engine)), storage_(std::move(storage)), stream_(stream) {}
  ~TensorState();
  TensorState(const TensorState&) = delete;
  TensorState& operator=(const TensorState&) = delete;

  const std::shared_ptr<const Storage>& storage() const { return storage_; }
  const Layout& layout() const { return storage_->layout; }
  /// The one whose requests are about this tensor.
  Stream& stream() const { return stream_; }
  /// InputError if its context is gone, or the tensor was freed.
  Engine& engine() const;
  /// Gives its memory back, as dropping the last reference does. What describes it stays; nothing can be done with it.
  void free();
  bool is_freed() const { return freed_; }
  /// InputError if it was freed.
  bool belongs_to(const Engine& engine) const {
    check_not_freed();
    return engine_.lock().get() == &engine;
  }

  std::unique_ptr<HostImage> image;
  bool is_named = true;  // by its user, or by name_once since

  /// Names a tensor that was made without a name, in all messages from now on; the first name stays.
  void name_once(const std::string& name) {
    if (!is_named) storage_->name = name;
    is_named = true;
  }

 private:
  std::weak_ptr<Engine> engine_;
  void check_not_freed() const;

  std::shared_ptr<const Storage> storage_;
  Stream& stream_;
  bool freed_ = false;
};

/// A launch as the machine needs it.
struct LaunchSpec {
  std::string name;
  std::vector<PeCoord> targets;  // of one SIP, ascending
  std::array<int, 3> num_programs = {1, 1, 1};
  device::WiringPtr wiring = nullptr;                // whose queues the kernel may use; null: none
  std::vector<std::shared_ptr<Request>> after = {};  // of other streams, that it comes after
  std::shared_ptr<JointLaunch> joint = nullptr;      // if other streams take part
  std::string note = {};                             // for its trace
  Time compulsory;                                   // the bound that it is compared with, if there is one
  bool is_list = false;  // of PEs, no rectangle: num_programs(0) counts those of the running cube
};

class Engine : public std::enable_shared_from_this<Engine> {
 public:
  Engine(const topology::Machine& machine, TorchOptions options);
  ~Engine();

  const topology::Machine& machine() const { return device_.machine(); }
  const TorchOptions& options() const { return options_; }
  device::Device& device() { return device_; }
  device::Processors& processors() { return processors_; }
  StorageSpace& space() { return space_; }
  Clock& clock() { return clock_; }
  const Requests& requests() const { return requests_; }
  Stream& stream(int number) { return *streams_[static_cast<std::size_t>(number)]; }
  const std::vector<std::unique_ptr<Stream>>& streams() const { return streams_; }
  /// The stream of the first device on that SIP.
  Stream& stream_of_sip(int sip);

  // ── who calls ──
  HostThread& host() { return *host_; }
  const HostThread& host() const { return *host_; }
  /// The host program, whichever of its threads calls.
  const HostThread& main_host() const { return main_; }
  /// Another stream of a SIP, behind those there are.
  Stream& add_stream(int sip);
  /// From now on calls are those of another thread of the host, or (null) of the host program again.
  void set_host(HostThread* host) { host_ = host != nullptr ? host : &main_; }
  /// InputError if there is no such device, or it is not one of those selected.
  void set_device(int sip);
  /// Only these may be set from now on.
  void select_devices(std::vector<int> sips);
  /// Devices are these PEs from now on, each with a stream. InputError if something was submitted already, or they are
  /// on SIPs that were not selected.
  void use_pes(std::vector<PeCoord> pes);
  /// Device d is on SIP `sips[d]` from now on. InputError unless these are all SIPs, each once, and nothing was submitted.
  void use_sips(const std::vector<int>& sips);
  const std::vector<int>& selected_devices() const { return devices_; }
  bool devices_are_pes() const { return !pes_.empty(); }
  int devices() const { return static_cast<int>(streams_.size()); }
  int sip_of(int device) const { return streams_[static_cast<std::size_t>(device)]->sip(); }
  /// Where devices are PEs.
  PeCoord pe_of(int device) const { return pes_[static_cast<std::size_t>(device)]; }
  Stream& current_stream() { return stream(host_->device); }

  // ── tensors ──
  std::shared_ptr<TensorState> create(TensorSpec spec);
  /// Fills the region's array in the order of the storage, now or later or never. `keeps` bytes until then. Where an
  /// array is all there is to it, it is given, too.
  struct Fill {
    std::function<void(const Chunks&, std::span<std::byte>)> fill;
    std::int64_t keeps = 0;
    std::vector<std::byte> element = {};  // which it consists of; empty: of others
    std::shared_ptr<const NdArray> array = nullptr;
  };
  void write(TensorState& tensor, const Region& region, Fill fill);
  NdArray read(TensorState& tensor, const Region& region);
  void drop(const TensorState& tensor) noexcept;

  // ── queues ──
  /// Carries a wiring, which `processors().queues()` has checked, to the PEs of the stream's SIP; null if it wires none
  /// of them. With `replaced`, that one is dropped in the same step.
  std::shared_ptr<Request> install(Stream& stream, const device::WiringPtr& wiring,
                                   const device::WiringPtr& replaced = nullptr);

  // ── launches ──
  /// Called with every launch when it is submitted: before any of it is simulated.
  using LaunchWatcher = std::function<void(const LaunchRequest&)>;
  void watch_launches(LaunchWatcher watcher) { watcher_ = std::move(watcher); }
  /// The memory behind virtual bytes of a tensor that is alive, as the PE will see it; false if there is none.
  bool find_memory(PeCoord pe, address::VirtAddr begin, Bytes size,
                   std::vector<address::PhysPiece>& out) const;
  std::shared_ptr<Request> launch(const LaunchSpec& spec, const std::vector<const TensorState*>& tensors,
                                  const std::function<void(tl::Context&)>& body);

  // ── time ──
  /// Through whom everything waits; null: waiting lets the clock run.
  void set_waiter(Waiter* waiter) { waiter_ = waiter; }
  /// Throws what made it fail, if it was given up.
  void wait(Request& request);
  /// To the instant at which it is complete, as `run_until_stopped`.
  void run_until(Request& request);
  /// To the first instant at which a request is complete that stops the clock; `awaited` is one of them. If the simulated
  /// program fails, throws why; launches are given up then, and the context can go on.
  /// Without `awaited` (null) nothing need complete: returns false if nothing is left to do.
  bool run_until_stopped(const Request* awaited);
  /// Lets everything end that can. What cannot is given up: waiting for it throws `why`.
  void settle(const std::exception_ptr& why);
  /// The machine is where the clock is, from here on to the next wait: for who looks at its counters.
  void look() const { repeats_->catch_up(); }
  /// Launches that were not simulated, because they came again.
  std::uint64_t taken_over() const { return repeats_->launches(); }
  /// How often launches were given up: all queues are gone then.
  int times_given_up() const { return times_given_up_; }
  void synchronize();
  /// The host program is over: completes everything.
  void finish();
  bool finished() const { return finished_; }

  // ── memory ──
  /// The tensor that holds the byte at a virtual address; null if none does.
  TensorState* tensor_at(std::uint64_t address) const;
  /// What lies there once everything submitted so far is done. InputError (`tensor.scalar`) where no tensor of the PE's
  /// SIP does, NoData.
  void read_memory(PeCoord pe, std::uint64_t address, std::span<std::byte> out);
  /// Writes and reads at once, without a request and without simulated time, when all that was submitted is done. The
  /// address is virtual if a tensor that is alive lies there, else physical. All copies are written, the first is read.
  /// NoData if data is off; InputError if it leaves the tensor or the memory that it begins in.
  void poke_memory(address::MemorySpace space, std::uint64_t address, std::span<const std::byte> bytes);
  void peek_memory(address::MemorySpace space, std::uint64_t address, std::span<std::byte> out);
  /// The content of a tensor, found in the same way; nothing where some of it was never written.
  std::optional<NdArray> peek(TensorState& tensor);

  // ── what happened ──
  RunBooks books() { return {processors_, log_, requests_}; }
  trace::RunLog log() const;
  /// What `log` would say, also with LogStorage::none.
  std::uint64_t log_hash() const;
  trace::Summary log_summary() const;
  /// What everything so far took, also with LogStorage::none; nothing if the machine has no prices.
  std::optional<trace::EnergyReport> energy() const;
  const std::vector<data::Hazard>& hazards();

  /// What the layer above keeps with a context.
  struct Extension {
    virtual ~Extension() = default;
    /// Something is about to happen that what was held back comes before: a launch or a wait of the calling thread
    /// (null), or a write to this tensor.
    virtual void release_held(const TensorState* /*written*/) {}
  };
  std::unique_ptr<Extension> extension;
  /// The same for the layer above that.
  std::unique_ptr<Extension> model_extension;

 private:
  template <class R, class... Args>
  std::shared_ptr<R> submit(Stream& stream, Args&&... args) {
    auto request = std::make_shared<R>(processors_, stream.next_number(), std::forward<Args>(args)...);
    stream.submit(request, *host_);
    if constexpr (std::is_same_v<R, TransferRequest>)
      if (meter_) meter_->submitted(*request);
    return request;
  }
  std::shared_ptr<const Storage> allocate(const TensorSpec& spec);
  bool wait_for_memory(Stream& stream);
  void release_held(const TensorState* written = nullptr) {
    if (extension) extension->release_held(written);
  }
  void give_up(const std::exception_ptr& why);
  void let_go();
  void drop_programs();
  void tell_images_of(const WrittenBytes::Range& range);
  trace::RunInfo describe() const;
  Stream& reading_stream(const TensorState& tensor);
  std::shared_ptr<Request> last_writer(const TensorState& tensor) const;
  RunReplay& replay();
  void check_interrupt(const std::string& kernel);
  RunHazards& hazards_so_far();
  std::future<void> look_for_hazards();
  Content note_written(TensorState& tensor, const Chunks& chunks, const std::vector<Chunk>& runs, Fill& fill);
  NdArray read_image(TensorState& tensor, const Region& region, const Chunks& chunks);
  tl::Environment environment(const LaunchSpec& spec, const std::vector<const TensorState*>& tensors,
                              PeCoord pe);
  double read_scalar(PeCoord pe, std::uint64_t address, DType dtype);
  data::MemoryStore& store_at_rest();
  std::vector<std::vector<address::PhysPiece>> copies_of(const TensorState* tensor,
                                                         address::MemorySpace space, std::uint64_t address,
                                                         Bytes size) const;
  void fetch_scalar(TensorState& tensor, PeCoord pe, std::int64_t offset, std::span<std::byte> out);

  const TorchOptions options_;
  device::Device device_;
  device::Processors processors_;
  trace::OpLog log_;
  const std::unique_ptr<EnergyMeter> meter_;  // null: the machine has no prices
  StorageSpace space_;
  Requests requests_;
  Completed completed_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::shared_ptr<const isa::Program> recorded_last_;
  isa::ProgramBook bodies_;
  ProgramSets program_sets_;
  std::vector<Launches> launches_;             // per SIP
  std::vector<std::size_t> without_programs_;  // per SIP: the first launches, of which they are gone
  HostThread main_;
  HostThread* host_ = &main_;
  std::vector<int> devices_;  // that may be set
  std::vector<PeCoord> pes_;  // by device, if devices are PEs
  Clock clock_;
  const std::unique_ptr<Repeats> repeats_;
  Waiter* waiter_ = nullptr;
  int times_given_up_ = 0;
  LaunchWatcher watcher_;
  std::unique_ptr<RunReplay> replay_;
  std::unique_ptr<RunHazards> hazards_;
  std::map<std::uint64_t, TensorState*> tensors_;  // alive, by virtual base
  std::uint64_t unnamed_ = 0;
  std::int64_t content_bytes_ = 0;  // that writes keep until they are replayed
  bool finished_ = false;
};

}  // namespace kernbench::runtime
