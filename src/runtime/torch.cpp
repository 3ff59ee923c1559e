#include "kernbench/torch.hpp"

#include <fmt/format.h>

#include <exception>

#include "kernbench/error.hpp"
#include "runtime/content.hpp"
#include "runtime/engine.hpp"
#include "runtime/launch.hpp"

namespace kernbench::runtime {

bool Handle::done() const { return request_ && request_->done(); }

Trace Handle::trace() const {
  if (!done())
    throw InputError(
        {"runtime.not-done", "", "the trace of a request that is not done", "wait for it first"});
  return request_->trace();
}

Torch::Torch(const topology::Machine& machine, TorchOptions options)
    : ahbm{nullptr},
      accelerator{{nullptr}},
      engine_(std::make_shared<Engine>(machine, std::move(options))),
      exceptions_at_start_(std::uncaught_exceptions()) {
  ahbm.engine = accelerator.ahbm.engine = engine_.get();
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
  if (!handle.request())
    throw InputError({"runtime.no-request", "", "a wait for no request", "wait for what launch returned"});
  if (&handle.request()->stream().host() != &engine_->device().host_partition())
    throw InputError({"runtime.other-context", handle.request()->name(),
                      "a wait for a request of another context", "wait in the Torch that submitted it"});
  engine_->wait(*handle.request());
}

void Torch::synchronize() { engine_->synchronize(); }

void Torch::Ahbm::set_device(int rank) const { engine->set_device(rank); }
int Torch::Ahbm::current_device() const { return engine->host().device; }
int Torch::Ahbm::device_count() const { return engine->devices(); }

const topology::Machine& Torch::machine() const { return engine_->machine(); }
bool Torch::has_data() const { return engine_->options().data; }
Time Torch::now() const { return engine_->clock().now(); }
std::uint64_t Torch::events() const { return engine_->device().simulation().counters().events; }

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

std::vector<HazardReport> Torch::hazards() const {
  std::vector<HazardReport> reports;
  for (const auto& h : engine_->hazards())
    reports.push_back({std::string(to_string(h.kind)), to_string(h), h.occurrences});
  return reports;
}

}  // namespace kernbench::runtime
