// What records are about, fetched into the cache before they are looked at. Records of all PEs come in the order of
// time, so each is about another program than the one before it, and waiting for memory would take longer than what is
// done with it.
#pragma once

#include <algorithm>
#include <array>

#include "device/origins.hpp"
#include "kernbench/program.hpp"

namespace kernbench::runtime {

class Lookahead {
 public:
  explicit Lookahead(const device::Origins& origins) : origins_(origins) {}

  /// Takes the next record, and returns one taken earlier that is due; null if none is yet.
  const device::OpRecord* next(const device::OpRecord& record) {
    fetch_command(record);
    if (taken_ >= kValues) fetch_values(at(taken_ - kValues));
    const device::OpRecord* const due = taken_ >= kDepth ? &at(taken_ - kDepth) : nullptr;
    records_[taken_++ % kDepth] = &record;
    return due;
  }

  /// The rest, in order.
  template <class Fn>
  void finish(Fn&& fn) {
    for (std::size_t i = taken_ - std::min(taken_, kDepth); i < taken_; ++i) fn(at(i));
  }

 private:
  static constexpr std::size_t kDepth = 32;   // records
  static constexpr std::size_t kValues = 16;  // of a record that is so old the command is there

  const device::OpRecord& at(std::size_t i) const { return *records_[i % kDepth]; }
  const isa::Program* program(const device::OpRecord& record) const {
    return record.command == isa::kNone ? nullptr : origins_[record.origin].program;
  }
  /// Half of the commands and values begin in one cache line and end in the next.
  template <class T>
  static void fetch(const T& item) {
    __builtin_prefetch(&item);
    __builtin_prefetch(reinterpret_cast<const char*>(&item + 1) - 1);
  }
  void fetch_command(const device::OpRecord& record) const {
    if (const auto* p = program(record)) fetch(p->command(record.command));
  }
  void fetch_values(const device::OpRecord& record) const {
    const auto* p = program(record);
    if (p == nullptr) return;
    const isa::Command& command = p->command(record.command);
    if (command.result != isa::kNone) fetch(p->value(command.result));
    for (const auto id : p->reads(command)) fetch(p->value(id));
  }

  const device::Origins& origins_;
  std::array<const device::OpRecord*, kDepth> records_;
  std::size_t taken_ = 0;
};

}  // namespace kernbench::runtime
