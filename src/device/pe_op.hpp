// Commands under way in a PE.
#pragma once

#include "device/pe.hpp"

namespace kernbench::device {

class Pe::Op {
 public:
  explicit Op(Pe& pe) : pe_(pe) {}
  virtual ~Op() = default;

  /// Makes it the given command, forgetting what it was before.
  void become(isa::CommandIndex index) {
    index_ = index;
    bytes_free.reset();
  }

  isa::CommandIndex index() const { return index_; }
  const isa::Command& command() const { return pe_.program().command(index_); }

  Cause issued;                     // when the CPU had issued it
  std::optional<Cause> bytes_free;  // when the last earlier access to its bytes retired
  Cause cause;                      // of its start
  OpRef ref;
  Time taken;  // by its engine

  /// The engine takes it: operands are ready.
  virtual void start() = 0;
  /// It has retired and may become another command.
  virtual void recycle() = 0;

 protected:
  Pe& pe_;
  isa::CommandIndex index_ = 0;
};

/// load, store and load_scalar.
class Pe::DmaOp final : public Op, public DmaTransfer {
 public:
  using Op::Op;
  void start() override;
  void recycle() override;

 private:
  void on_retired() override;
};

/// dot and math: one piece of work for their unit.
class Pe::ComputeOp final : public Op, public Work {
 public:
  using Op::Op;
  void start() override;
  void recycle() override;

 private:
  void plan_gemm();
  void plan_math();
  void on_fetched() override {}
  void on_done() override;
  std::uint64_t amount_ = 0;
};

/// A composite: handed to the scheduler.
class Pe::CompositeOp final : public Op {
 public:
  using Op::Op;
  void start() override;
  void recycle() override;
};

template <class T>
T& Pe::Pool<T>::take(Pe& pe) {
  if (idle.empty()) {
    all.push_back(std::make_unique<T>(pe));
    return *all.back();
  }
  T& op = *idle.back();
  idle.pop_back();
  return op;
}

}  // namespace kernbench::device
