#include "nn/operation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "dist/state.hpp"
#include "runtime/launch.hpp"

namespace kernbench::nn {
namespace {

runtime::Engine& engine_of(const std::string& operation, const std::vector<Tensor>& operands) {
  for (const Tensor& tensor : operands)
    if (!tensor)
      throw InputError(
          {"tensor.none", operation, "this Tensor is none", "assign it one that a Torch has made"});
  return operands.front().state()->engine();
}

const Operation& described(const std::string& name) {
  for (const Operation& operation : operations())
    if (operation.name == name) return operation;
  KB_ASSERT(false, "operation '{}' is not described", name);
  return operations().front();
}

}  // namespace

Call::Call(std::string operation, const OpOptions& options, std::vector<Tensor> operands,
           std::string result_name)
    : operation_(std::move(operation)),
      name_(options.name.empty() ? operation_ : options.name),
      result_name_(result_name.empty() ? name_ : std::move(result_name)),
      operands_(std::move(operands)),
      engine_(engine_of(operation_, operands_)),
      device_before_(engine_.host().device) {
  const int device = operands_.front().state()->stream().number();
  for (const Tensor& tensor : operands_) {
    if (!tensor.state()->belongs_to(engine_))
      fail("nn.tensor", fmt::format("tensor '{}' is of another context", tensor.name()), "");
    if (tensor.state()->stream().number() != device)
      fail("nn.tensor",
           fmt::format("tensor '{}' lies on sip{}, '{}' on sip{}", operands_.front().name(),
                       operands_.front().sip(), tensor.name(), tensor.sip()),
           "an operation works on tensors of one SIP");
    if (tensor.state()->layout().is_interleaved())
      fail("nn.layout", fmt::format("tensor '{}' is interleaved: its pages lie on all PEs", tensor.name()),
           fmt::format("operations need shards; it takes:\n    {}",
                       join(described(operation_).layouts, "\n    ")));
  }
  if (dist::State::of(engine_).inside_spawn() && device != device_before_)
    fail("nn.tensor",
         fmt::format("the current device is {}, but '{}' lies on device {}", device_before_,
                     operands_.front().name(), device),
         "a rank works on tensors of its own device");
  engine_.host().device = device;
}

Call::~Call() { engine_.host().device = device_before_; }

void Call::fail(const char* id, std::string what, std::string hint) const {
  throw InputError({id, operation_, std::move(what), std::move(hint)});
}

void Call::fail_layout(const std::string& why) const {
  std::vector<std::string> texts;
  for (const Tensor& tensor : operands_) texts.push_back(text_of(tensor));
  const std::string what =
      fmt::format("{} does not take {}{}", operation_, join(texts, " and "), why.empty() ? "" : ": " + why);
  fail("nn.layout", what,
       fmt::format("it takes:\n    {}\n  nn::redistribute moves a tensor to another layout",
                   join(described(operation_).layouts, "\n    ")));
}

Tensor Call::empty(const Shape& shape, DType dtype, const DPPolicy& dp) const {
  return Tensor(engine_.create({.shape = shape, .dtype = dtype, .policy = dp, .name = result_name_}));
}

std::string Call::note(std::size_t pes) const {
  return fmt::format("on {} of {} PEs", pes, machine().cubes() * machine().pes());
}

Handle Call::launch(const std::vector<PePlace>& pes, const std::vector<Tensor>& results,
                    const std::function<void(tl::Context&)>& body, std::int64_t macs_per_pe) const {
  return launch(runtime::plan_launch(engine_, {.name = name_, .grid = {}, .pes = pes}, {}), results, body,
                macs_per_pe);
}

Handle Call::launch(runtime::LaunchSpec spec, const std::vector<Tensor>& results,
                    const std::function<void(tl::Context&)>& body, std::int64_t macs_per_pe) const {
  std::vector<Tensor> all = operands_;
  all.insert(all.end(), results.begin(), results.end());
  std::vector<const runtime::TensorState*> states;
  for (const Tensor& tensor : all) states.push_back(tensor.state().get());
  spec.note = note(spec.targets.size());
  spec.compulsory = compulsory_bound(machine(), all, macs_per_pe);
  return Handle(engine_.launch(spec, states, body));
}

Time compulsory_bound(const topology::Machine& machine, std::span<const Tensor> tensors,
                      std::int64_t macs_per_pe) {
  std::map<PePlace, std::int64_t> bytes;
  for (const Tensor& tensor : tensors)
    for (const ShardSpec& s : tensor.shards()) bytes[{s.cube, s.pe}] += s.nbytes.count();
  std::int64_t most = 0;
  for (const auto& [pe, n] : bytes) most = std::max(most, n);
  const Time moving = machine.at("cube.hbm").bandwidth("hbm_to_router_bw_gbs").time_for(Bytes(most));
  // A multiply-add is two operations, and a TFLOP/s a thousand of them in a nanosecond.
  // What is multiplied is of a type of one of the tensors.
  double peak = 0;
  for (const Tensor& tensor : tensors) peak = std::max(peak, machine.pe_peak_tflops(tensor.dtype()));
  const double ns = macs_per_pe == 0 ? 0 : 2e-3 * static_cast<double>(macs_per_pe) / peak;
  return std::max(moving, Time::from_ns(ns));
}

}  // namespace kernbench::nn
