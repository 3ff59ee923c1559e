#include "kernbench/torch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <functional>

#include "base/memory.hpp"
#include "kernbench/error.hpp"
#include "runtime/content.hpp"
#include "runtime/engine.hpp"
#include "runtime/launch.hpp"

namespace kernbench::runtime {

namespace {

/// What belongs to a context, while it lives.
template <class T>
std::shared_ptr<T> alive(const std::weak_ptr<T>& part, const char* what) {
  if (auto locked = part.lock()) return locked;
  throw InputError({"runtime.context-gone", "", fmt::format("the Torch of this {} is gone", what),
                    "keep the Torch for as long as you use what it gave"});
}

}  // namespace

std::shared_ptr<Request> Handle::request() const { return is_set_ ? alive(request_, "handle") : nullptr; }

bool Handle::done() const {
  const auto its = request();
  return its && its->done();
}

Trace Handle::trace() const {
  if (!done())
    throw InputError(
        {"runtime.not-done", "", "the trace of a request that is not done", "wait for it first"});
  return request()->trace();
}

namespace {
std::shared_ptr<Engine> make_engine(const topology::Machine& machine, TorchOptions options) {
  const Building building("the machine");
  return std::make_shared<Engine>(machine, std::move(options));
}
}  // namespace

Torch::Torch(const topology::Machine& machine, TorchOptions options)
    : engine_(make_engine(machine, std::move(options))), exceptions_at_start_(std::uncaught_exceptions()) {
  ahbm.engine = accelerator.ahbm.engine = engine_;
}

Torch::~Torch() noexcept(false) {
  const Clock& clock = engine_->clock();
  const bool over = engine_->finished() || clock.failed() || clock.interrupted();
  if (!over && std::uncaught_exceptions() == exceptions_at_start_) engine_->finish();
}

namespace {

Tensor make(Engine& engine, TensorSpec spec) { return Tensor(engine.create(std::move(spec))); }

Tensor make(Engine& engine, TensorSpec spec, Engine::Fill fill) {
  Tensor tensor = make(engine, std::move(spec));
  engine.write(*tensor.state(), Region::whole(tensor.state()->layout()), std::move(fill));
  return tensor;
}

TensorSpec spec_of(const Shape& shape, DType dtype, const std::optional<DPPolicy>& dp, std::string name,
                   MemorySpace mem) {
  return {shape, dtype, dp.value_or(DPPolicy::whole()), std::move(name), mem};
}

std::vector<const TensorState*> states(const std::string& launch, const std::vector<Tensor>& tensors) {
  std::vector<const TensorState*> states;
  for (const Tensor& tensor : tensors) {
    if (!tensor)
      throw InputError({"tensor.none", fmt::format("launch '{}'", launch), "a tensor argument is none",
                        "assign it one that a Torch has made"});
    states.push_back(tensor.state().get());
  }
  return states;
}

}  // namespace

Tensor Torch::empty(const Shape& shape, DType dtype, const std::optional<DPPolicy>& dp, std::string name,
                    MemorySpace mem) {
  return make(*engine_, spec_of(shape, dtype, dp, std::move(name), mem));
}

Tensor Torch::zeros(const Shape& shape, DType dtype, const std::optional<DPPolicy>& dp, std::string name,
                    MemorySpace mem) {
  return full(shape, 0, dtype, dp, std::move(name), mem);
}

Tensor Torch::full(const Shape& shape, double value, DType dtype, const std::optional<DPPolicy>& dp,
                   std::string name, MemorySpace mem) {
  auto content = value_content(dtype, value, name);
  return make(*engine_, spec_of(shape, dtype, dp, std::move(name), mem), std::move(content));
}

Tensor Torch::from_numpy(NdArray array, const std::optional<DPPolicy>& dp, std::string name,
                         MemorySpace mem) {
  TensorSpec spec = spec_of(array.shape(), array.dtype(), dp, std::move(name), mem);
  return make(*engine_, std::move(spec), array_content(std::move(array)));
}

Tensor Torch::from_row_bytes(const Shape& shape, DType dtype, RowBytes fill,
                             const std::optional<DPPolicy>& dp, std::string name, MemorySpace mem) {
  return make(*engine_, spec_of(shape, dtype, dp, std::move(name), mem), row_content(std::move(fill)));
}

Handle Torch::launch_body(const LaunchOptions& options, const std::vector<Tensor>& tensors,
                          const std::function<void(tl::Context&)>& body) {
  const auto arguments = states(options.name, tensors);
  return Handle(engine_->launch(plan_launch(*engine_, options, arguments), arguments, body));
}

void Torch::wait(const Handle& handle) {
  const auto request = handle.request();
  if (!request)
    throw InputError({"runtime.no-request", "", "a wait for no request", "wait for what launch returned"});
  if (&request->stream().host() != &engine_->device().host_partition())
    throw InputError({"runtime.other-context", request->name(), "a wait for a request of another context",
                      "wait in the Torch that submitted it"});
  engine_->wait(*request);
}

void Torch::synchronize() { engine_->synchronize(); }

void Torch::Ahbm::set_device(int rank) const { alive(engine, "device selector")->set_device(rank); }
int Torch::Ahbm::current_device() const { return alive(engine, "device selector")->host().device; }
int Torch::Ahbm::device_count() const { return alive(engine, "device selector")->devices(); }

const topology::Machine& Torch::machine() const { return engine_->machine(); }
bool Torch::has_data() const { return engine_->options().data; }
Time Torch::now() const { return engine_->clock().now(); }
std::uint64_t Torch::events() const { return engine_->device().simulation().counters().events; }

std::uint64_t Torch::taken_over() const { return engine_->taken_over(); }

std::vector<Trace> Torch::traces() const {
  std::vector<Trace> traces;
  for (const auto& request : engine_->requests())
    if (request->done()) traces.push_back(trace_of(*request));
  return traces;
}

Trace Torch::trace_of(const Request& request) const {
  Trace trace = request.trace();
  trace.context = engine_;
  return trace;
}

trace::CriticalPath Trace::critical_path() const {
  const auto engine = context.lock();
  if (!engine)
    throw InputError({"runtime.context-gone", name, "the context of this trace is gone, or it has none",
                      "ask for the traces of a Torch, and keep that alive"});
  return engine->log().critical_path(request, submitted + queued);
}

trace::RunLog Torch::log() const { return engine_->log(); }
isa::AnyCommand Torch::command(const trace::Op& op) const {
  const auto refuse = [&](const std::string& why, const std::string& hint) {
    throw InputError({"op-log.no-command", to_string(op), why, hint});
  };
  if (op.command == trace::Op::kNoCommand) refuse("it carries out no command of a program", "see its kind");
  const auto& requests = engine_->requests();
  const auto* launch =
      op.launch < requests.size() ? dynamic_cast<const LaunchRequest*>(requests[op.launch].get()) : nullptr;
  if (launch == nullptr) refuse("this context has no such launch", "ask the Torch whose log it is of");
  const auto found = std::ranges::find(launch->programs(), op.pe, [](const auto& p) { return p->pe(); });
  if (found == launch->programs().end() || op.command >= (*found)->commands().size())
    refuse("this context has no such program", "ask the Torch whose log it is of");
  return isa::decode(**found, (*found)->command(op.command));
}

std::uint64_t Torch::log_hash() const { return engine_->log_hash(); }
trace::Summary Torch::log_summary() const { return engine_->log_summary(); }
std::optional<trace::EnergyReport> Torch::energy() const { return engine_->energy(); }

std::vector<LinkQueue> Torch::link_queues() const {
  engine_->look();
  device::Device& device = engine_->device();
  const topology::Graph& graph = device.graph();
  std::vector<LinkQueue> queues;
  for (std::uint32_t i = 0; i < graph.link_count(); ++i) {
    const device::LinkUse use = device.fabric().use({i});
    if (use.deepest_wait == Time()) continue;
    const topology::Link link = graph.link({i});
    queues.push_back({fmt::format("{} → {}", graph.path(link.from), graph.path(link.to)), use.bytes,
                      use.deepest_wait, use.deepest_wait.ns() * link.bandwidth.gbs(), use.note.overhead,
                      use.note.crowded, use.note.stalled, use.note.stalls});
  }
  std::ranges::stable_sort(queues, std::greater(), &LinkQueue::deepest_wait);
  return queues;
}

std::vector<SliceActivity> Torch::memory_activity() const {
  engine_->look();
  device::Device& device = engine_->device();
  const topology::Graph& graph = device.graph();
  std::vector<SliceActivity> slices;
  for (int sip = 0; sip < graph.sips(); ++sip)
    for (int cube = 0; cube < graph.cubes(); ++cube)
      for (int pe = 0; pe < graph.pes(); ++pe) {
        const device::HbmMemory& slice = device.hbm({sip, cube, pe});
        const auto activity = slice.activity();
        if (activity && activity->reads + activity->writes > 0)
          slices.push_back({graph.path(slice.node()), *activity});
      }
  std::ranges::stable_sort(slices, std::greater(),
                           [](const SliceActivity& s) { return s.activity.waited_for(); });
  return slices;
}

std::vector<HazardReport> Torch::hazards() const {
  std::vector<HazardReport> reports;
  for (const auto& h : engine_->hazards())
    reports.push_back({std::string(to_string(h.kind)), to_string(h), h.occurrences});
  return reports;
}

}  // namespace kernbench::runtime
