#include "runtime/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <numeric>

#include "base/memory.hpp"
#include "base/text.hpp"
#include "kernbench/error.hpp"

namespace kernbench::runtime {

using device::Cause;
using device::Direction;
using device::Reason;

namespace {

trace::OpLogOptions log_options(const TorchOptions& options, device::Processors& processors) {
  if (options.data && options.log == LogStorage::none)
    throw InputError({"runtime.no-log", "", "data is on, but the op log, from which it is computed, is off",
                      "turn data off as well, or keep the log in memory or on disk"});
  if (options.log == LogStorage::none) processors.note_fingerprints();
  return {.storage = static_cast<trace::Storage>(options.log),
          .folder = options.log_folder,
          .origins = &processors.origins()};
}

}  // namespace

TensorState::~TensorState() {
  if (const auto engine = engine_.lock()) engine->drop(*this);
}

void TensorState::free() {
  if (const auto engine = engine_.lock(); engine && !freed_) engine->drop(*this);
  engine_.reset();
  freed_ = true;
}

void TensorState::check_not_freed() const {
  if (freed_)
    throw InputError({"tensor.freed", fmt::format("tensor '{}'", storage_->name), "its memory was given back",
                      "use it before the context's cleanup(), which the end of its `with` block calls"});
}

Engine& TensorState::engine() const {
  const auto engine = engine_.lock();
  check_not_freed();
  if (!engine)
    throw InputError({"tensor.context-gone", fmt::format("tensor '{}'", storage_->name),
                      "the context it was made in is gone",
                      "keep the Torch alive as long as its tensors are used"});
  return *engine;
}

Engine::Engine(const topology::Machine& machine, TorchOptions options)
    : options_(std::move(options)),
      device_(machine, {.shortcuts = !options_.packets}),
      processors_(device_),
      log_(device_.simulation().partitions(), log_options(options_, processors_)),
      meter_(EnergyMeter::of(device_, processors_.origins(), log_)),
      space_(machine),
      launches_(static_cast<std::size_t>(machine.sips())),
      without_programs_(launches_.size()),
      devices_(static_cast<std::size_t>(machine.sips())),
      clock_(processors_, options_),
      repeats_(std::make_unique<Repeats>(processors_, clock_, options_)) {
  repeats_->set_sink(meter_ ? static_cast<device::OpSink&>(*meter_) : log_);
  std::iota(devices_.begin(), devices_.end(), 0);
  for (const int sip : devices_) add_stream(sip);
}

Engine::~Engine() = default;

Stream& Engine::add_stream(int sip) {
  const int number = static_cast<int>(streams_.size());
  return *streams_.emplace_back(
      std::make_unique<Stream>(number, sip, device_.host_partition(), requests_, completed_, *repeats_));
}

void Engine::set_device(int sip) {
  const auto place = static_cast<std::size_t>(sip);  // mostly: there may be as many as PEs
  const bool is_there = sip >= 0 && place < devices_.size() && devices_[place] == sip;
  if (!is_there && std::ranges::find(devices_, sip) == devices_.end()) {
    std::vector<std::string> known;
    for (const int d : devices_) known.push_back(std::to_string(d));
    throw InputError({"runtime.no-device", "", fmt::format("there is no device {} to set", sip),
                      fmt::format("devices: {}", join(known))});
  }
  host_->device = sip;
  host_->device_set = true;
}

void Engine::select_devices(std::vector<int> sips) {
  devices_ = std::move(sips);
  host_->device = devices_.front();
}

void Engine::use_pes(std::vector<PeCoord> pes) {
  if (!requests_.empty())
    throw InputError({"runtime.devices", "", "devices become PEs, but something was submitted already",
                      "say so before anything else"});
  for (const PeCoord pe : pes)
    if (std::ranges::find(devices_, pe.sip) == devices_.end())
      throw InputError({"runtime.devices", to_string(pe), fmt::format("sip{} was not selected", pe.sip),
                        "select all devices, or use fewer PEs"});
  pes_ = std::move(pes);
  streams_.clear();
  devices_.clear();
  for (const PeCoord pe : pes_) {
    devices_.push_back(static_cast<int>(streams_.size()));
    add_stream(pe.sip);
  }
  main_.device = 0;
}

void Engine::use_sips(const std::vector<int>& sips) {
  std::vector<int> sorted = sips;
  std::ranges::sort(sorted);
  std::vector<int> now;
  for (const auto& stream : streams_) now.push_back(stream->sip());
  if (sips == now) return;
  std::ranges::sort(now);
  if (devices_are_pes())
    throw InputError({"runtime.devices", "",
                      fmt::format("rank_to_sip is [{}], but ranks are PEs here, not SIPs", join(sips)),
                      "leave rank_to_sip out"});
  if (sorted != now)
    throw InputError({"runtime.devices", "",
                      fmt::format("rank_to_sip is [{}], but it must name each of the SIPs {} exactly once",
                                  join(sips), join(now)),
                      "rank r is the SIP rank_to_sip[r]: give any order of these SIPs"});
  if (!requests_.empty())
    throw InputError({"runtime.devices", "",
                      "rank_to_sip moves ranks to other SIPs, but something was submitted already",
                      "call init_process_group with rank_to_sip before anything else"});
  streams_.clear();
  for (const int sip : sips) add_stream(sip);
}

Stream& Engine::stream_of_sip(int sip) {
  const auto found = std::ranges::find(streams_, sip, [](const auto& stream) { return stream->sip(); });
  KB_ASSERT(found != streams_.end(), "no device is on sip{}", sip);
  return **found;
}

// ── tensors ──

std::shared_ptr<const Storage> Engine::allocate(const TensorSpec& spec) {
  while (true) {
    try {
      if (devices_are_pes() && (waiter_ != nullptr || spec.policy == DPPolicy::whole()))
        return space_.allocate(spec, pe_of(host_->device));
      return space_.allocate(spec, current_stream().sip());
    } catch (const address::AllocationError&) {
      if (!wait_for_memory(current_stream())) throw;
    } catch (const InputError& e) {
      throw InputError({e.id(), fmt::format("tensor '{}'", spec.name), e.message(), e.hint()});
    }
  }
}

/// Waits for the oldest tensor that was dropped and still has its memory; false if there is none.
bool Engine::wait_for_memory(Stream& stream) {
  const auto& open = stream.open();
  const auto unmap = std::ranges::find(open, Phase::unmap, &Request::phase);
  if (unmap == open.end()) return false;
  wait(**unmap);
  return true;
}

std::shared_ptr<TensorState> Engine::create(TensorSpec spec) {
  const bool is_named = !spec.name.empty();
  if (!is_named) spec.name = fmt::format("tensor{}", unnamed_++);
  auto storage = allocate(spec);
  Stream& stream = current_stream();
  auto tensor = std::make_shared<TensorState>(weak_from_this(), storage, stream);
  tensor->is_named = is_named;
  tensors_.emplace(storage->base.raw(), tensor.get());
  tensor->image = std::make_unique<HostImage>(*storage, launches_[static_cast<std::size_t>(storage->sip)]);
  submit<MapRequest>(stream, std::move(storage));
  return tensor;
}

/// For destructors: a tensor for whose end there is no memory is the end of the run, at its next wait.
void Engine::drop(const TensorState& tensor) noexcept {
  tensors_.erase(tensor.storage()->base.raw());
  if (finished_ || clock_.failed()) return;
  try {
    submit<UnmapRequest>(tensor.stream(), tensor.storage(), space_);
  } catch (const std::bad_alloc&) {
    clock_.fail(std::current_exception());
  }
}

/// The image's bytes are those of the request, so that they are kept once.
Content Engine::note_written(TensorState& tensor, const Chunks& chunks, const std::vector<Chunk>& runs,
                             Fill& fill) {
  if (fill.element.empty() && tensor.layout().bytes() <= kImageBytes) {
    const auto buffer = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(chunks.bytes));
    fill.fill(chunks, *buffer);
    fill.keeps = chunks.bytes;
    tensor.image->write(runs, buffer);
    return [buffer](std::size_t) { return std::shared_ptr<const std::byte>(buffer, buffer->data()); };
  }
  if (fill.element.empty())
    tensor.image->lose(runs);
  else
    tensor.image->fill(runs, fill.element);
  if (fill.array && chunks.is_array_order())
    return [array = fill.array](std::size_t) {
      return std::shared_ptr<const std::byte>(array, array->bytes().data());
    };
  return [chunks, make = std::move(fill.fill)](std::size_t bytes) {
    const auto buffer = std::make_shared<ByteBuffer>(bytes);
    make(chunks, *buffer);
    return std::shared_ptr<const std::byte>(buffer, buffer->data());
  };
}

void Engine::write(TensorState& tensor, const Region& region, Fill fill) {
  release_held(&tensor);
  Chunks chunks = chunks_of(tensor.layout(), region);
  const std::vector<Chunk> runs = joined(chunks);
  Content content = note_written(tensor, chunks, runs, fill);
  const auto request = submit<TransferRequest>(tensor.stream(), Direction::write, tensor.storage(), runs);
  if (!options_.data) return;
  request->content = std::move(content);
  request->content_bytes = fill.keeps;
  content_bytes_ += fill.keeps;
}

std::shared_ptr<Request> Engine::install(Stream& stream, const device::WiringPtr& wiring,
                                         const device::WiringPtr& replaced) {
  if (wiring->pes_of(stream.sip()).empty()) return nullptr;
  return submit<InstallRequest>(stream, stream.sip(), wiring, replaced);
}

// ── time ──

bool Engine::run_until_stopped(const Request* awaited) {
  try {
    return repeats_->run_until_stopped(awaited);
  } catch (const Interrupted&) {
    throw;
  } catch (const std::bad_alloc&) {  // to bring the machine to rest would take more of it
    clock_.fail(std::current_exception());
    throw;
  } catch (...) {
    give_up(std::current_exception());
    throw;
  }
}

void Engine::run_until(Request& request) {
  request.stops_clock = true;
  try {
    run_until_stopped(&request);
  } catch (...) {
    request.stops_clock = false;
    throw;
  }
}

/// What is under way ends before the launches it belongs to may go.
void Engine::give_up(const std::exception_ptr& why) {
  repeats_->stop();
  processors_.abort();
  clock_.run_dry();
  for (const auto& stream : streams_) stream->give_up(why);
  let_go();
  processors_.restart();
  repeats_->go_on();
  ++times_given_up_;
}

void Engine::settle(const std::exception_ptr& why) {
  repeats_->stop();
  clock_.run_dry();
  repeats_->go_on();
  let_go();
  const auto at_rest = [](const auto& stream) { return stream->open().empty(); };
  if (!std::ranges::all_of(streams_, at_rest)) give_up(why);
}

void Engine::wait(Request& request) {
  release_held();
  if (request.failure()) std::rethrow_exception(request.failure());
  if (waiter_ != nullptr)
    waiter_->wait(request);
  else if (!request.done())
    run_until(request);
  let_go();
  if (request.completed() >= host_->waited.met)
    host_->waited = Cause::at(request.record(), request.completed(), Reason::start);
  host_->seen.note({request.stream().number(), request.number()});
  constexpr std::int64_t kMostKept = std::int64_t{1} << 30;
  if (content_bytes_ > kMostKept) replay();
}

/// What was taken over may still have to be simulated.
void Engine::let_go() {
  if (repeats_->plays()) return;
  completed_.let_go();
  if (options_.log == LogStorage::none) drop_programs();
}

/// Without a log nobody asks what a program did that has ended, but for the images of the tensors that it wrote.
void Engine::drop_programs() {
  for (std::size_t sip = 0; sip < launches_.size(); ++sip)
    for (std::size_t& i = without_programs_[sip]; i < launches_[sip].size(); ++i) {
      LaunchRequest& launch = *launches_[sip][i];
      if (!launch.done() && !launch.failure()) break;
      for (const WrittenBytes::Range& range : launch.writes().ranges()) tell_images_of(range);
      launch.drop_programs();
      if (meter_ && !launch.wiring()) meter_->forget(launch.number());
    }
}

/// The images of all tensors in the range take note of what was launched.
void Engine::tell_images_of(const WrittenBytes::Range& range) {
  auto at = tensors_.upper_bound(range.begin);
  if (at != tensors_.begin()) --at;
  for (; at != tensors_.end() && at->first < range.end; ++at) at->second->image->catch_up();
}

/// The last one that begins at or below the address; null if there is none.
TensorState* Engine::tensor_at(std::uint64_t address) const {
  const auto after = tensors_.upper_bound(address);
  return after == tensors_.begin() ? nullptr : std::prev(after)->second;
}

void Engine::synchronize() {
  release_held();
  for (const auto& stream : streams_)
    if (!stream->open().empty()) wait(*stream->last());
}

void Engine::finish() {
  clock_.rethrow_failure();
  synchronize();
  finished_ = true;
}

// ── what happened ──

trace::RunLog Engine::log() const {
  if (options_.log == LogStorage::none)
    throw InputError(
        {"runtime.no-log", "", "the op log of this run was switched off", "keep it in memory or on disk"});
  look();
  return log_.so_far(describe());
}

trace::RunInfo Engine::describe() const {
  std::vector<std::string> names;
  for (const auto& request : requests_)
    names.push_back(request->phase() == Phase::launch
                        ? request->name()
                        : fmt::format("{} {}", to_string(request->phase()), request->name()));
  return trace::describe_run(to_yaml(machine()), processors_.origins(), names, options_.threads);
}

std::uint64_t Engine::log_hash() const {
  look();
  return options_.log == LogStorage::none ? log_.hash(describe()) : log().hash();
}

trace::Summary Engine::log_summary() const {
  look();
  return options_.log == LogStorage::none ? log_.summary() : log().summary();
}

std::optional<trace::EnergyReport> Engine::energy() const {
  if (!meter_) return std::nullopt;
  look();
  return meter_->report();
}

/// A short log is not worth starting a thread.
std::future<void> Engine::look_for_hazards() {
  constexpr std::uint64_t kWorthAThread = 4096;
  if (!options_.hazards || log_.size() < hazards_so_far().records() + kWorthAThread) return {};
  // Deferred where no thread can be had.
  return std::async(std::launch::async | std::launch::deferred,
                    [this] { hazards_->advance(clock_.now(), false); });
}

RunReplay& Engine::replay() {
  const Building building("the numbers of tensors");
  std::future<void> beside = look_for_hazards();
  if (!replay_) replay_ = std::make_unique<RunReplay>(RunBooks{processors_, log_, requests_}, options_);
  try {
    content_bytes_ -= replay_->advance(clock_.now());
  } catch (const Interrupted&) {
    clock_.note_interrupt();
    throw;
  }
  if (beside.valid()) beside.get();
  return *replay_;
}

const std::vector<data::Hazard>& Engine::hazards() {
  if (options_.log == LogStorage::none)
    throw InputError({"runtime.no-log", "", "hazards are found in the op log, which was switched off",
                      "keep it in memory or on disk"});
  return hazards_so_far().advance(clock_.now(), finished_);
}

RunHazards& Engine::hazards_so_far() {
  if (!hazards_) hazards_ = std::make_unique<RunHazards>(RunBooks{processors_, log_, requests_});
  return *hazards_;
}

}  // namespace kernbench::runtime
