// One call of an operation: its operands checked, its device set, its launch made.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "nn/placed.hpp"
#include "runtime/engine.hpp"

namespace kernbench::nn {

/// While it lives, the current device is that of its operands.
class Call {
 public:
  /// InputError if an operand is none, of another context, interleaved, or lies on another SIP than the first (inside
  /// `spawn`: than the current one).
  Call(std::string operation, const OpOptions& options, std::vector<Tensor> operands,
       std::string result_name = {});
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  runtime::Engine& engine() const { return engine_; }
  const topology::Machine& machine() const { return engine_.machine(); }
  const std::string& name() const { return name_; }
  /// An InputError (`nn.layout`) with the operands and the layouts that the operation takes.
  [[noreturn]] void fail_layout(const std::string& why = {}) const;
  [[noreturn]] void fail(const char* id, std::string what, std::string hint) const;

  Tensor empty(const Shape& shape, DType dtype, const DPPolicy& dp) const;
  /// On these PEs. The compulsory bound is that of the operands and results, and of these multiply-adds on each PE.
  Handle launch(const std::vector<PePlace>& pes, const std::vector<Tensor>& results,
                const std::function<void(tl::Context&)>& body, std::int64_t macs_per_pe = 0) const;
  /// The same with queues.
  Handle launch(runtime::LaunchSpec spec, const std::vector<Tensor>& results,
                const std::function<void(tl::Context&)>& body, std::int64_t macs_per_pe = 0) const;

 private:
  std::string note(std::size_t pes) const;

  std::string operation_, name_, result_name_;
  std::vector<Tensor> operands_;
  runtime::Engine& engine_;
  int device_before_;
};

/// max(MACs ÷ peak, bytes ÷ bandwidth): every operand read once, every result written once, by the PEs that hold them.
Time compulsory_bound(const topology::Machine& machine, std::span<const Tensor> tensors,
                      std::int64_t macs_per_pe);

/// The tile of a tensor that is the running PE's only one.
inline const tl::Shard& own(tl::Context& tl, const Tensor& tensor) { return tl.shard(tensor.ptr()); }

}  // namespace kernbench::nn
