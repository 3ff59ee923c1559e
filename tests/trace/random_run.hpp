// Random runs that keep all promises of op_record.hpp: several SIPs and the host, launches one after the
// other or side by side, operations whose causes are operations that began before, sends that other
// partitions write.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "trace/run_maker.hpp"

namespace kernbench::trace {

struct RandomRunOptions {
  std::uint32_t seed = 1;
  int sips = 3;
  int launches = 3;
  int ops_per_program = 40;
  OpLogOptions log = {};
};

class RandomRun {
 public:
  explicit RandomRun(const RandomRunOptions& options)
      : options_(options), maker_(options.sips + 1, options.log), random_(options.seed) {
    for (int i = 0; i < options.launches; ++i) add_launch(static_cast<std::uint32_t>(i));
    write();
  }

  RunMaker& maker() { return maker_; }
  /// In no particular order.
  struct Planned {
    RecordSpec spec;
    OpRef self;
    int partition;
  };
  const std::vector<Planned>& planned() const { return planned_; }
  RunLog finish() { return maker_.finish(); }

 private:
  std::int64_t draw(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

  void add_launch(std::uint32_t launch) {
    RecordSpec way{.kind = OpKind::program, .start = host_now_};
    if (last_launch_.serial != 0 && draw(0, 3) > 0) {  // after the one before, or beside it
      way.start = last_launch_end_ + draw(0, 1);
      way.cause = last_launch_, way.cause_instant = last_launch_end_;
    }
    host_now_ = way.start + draw(0, 2000);
    RecordSpec back{.kind = OpKind::host_launch, .start = 0, .reason = Reason::operand};
    for (int sip = 0; sip < options_.sips; ++sip) add_program(sip, launch, way, back);
    back.end = back.start + draw(0, 300);
    last_launch_ = OpRef{0, ++completions_}, last_launch_end_ = back.end;
    planned_.push_back({back, last_launch_, 0});
  }

  /// `way`: to all PEs. `back`: goes from the one that ends last.
  void add_program(int sip, std::uint32_t launch, RecordSpec way, RecordSpec& back) {
    const PeCoord pe{sip, static_cast<int>(draw(0, 3)), static_cast<int>(draw(0, 7))};
    way.origin = maker_.program(pe, launch, "kernel" + std::to_string(launch % 2));
    way.end = way.start + draw(1, 500);
    const auto self = maker_.reserve(way.origin);
    planned_.push_back({way, self, sip + 1});
    const auto first = planned_.size();
    for (int i = 0; i < options_.ops_per_program; ++i)
      planned_.push_back(random_op(way.origin, self, way.end, first));
    for (auto i = first - 1; i < planned_.size(); ++i) {
      const auto& op = planned_[i];
      // A send retires at its PE before its record ends.
      const auto end = op.spec.kind == OpKind::ipcq_send ? draw(op.spec.start, op.spec.end) : op.spec.end;
      if (end < back.start) continue;
      back.start = back.cause_instant = end, back.cause = op.self, back.origin = way.origin;
    }
  }

  Planned random_op(std::uint32_t origin, OpRef program, std::int64_t program_start, std::size_t first) {
    RecordSpec s{.kind = static_cast<OpKind>(draw(0, 10)),
                 .origin = origin,
                 .command = static_cast<std::uint32_t>(draw(0, 9)),
                 .amount = static_cast<std::uint64_t>(draw(0, 9999))};
    const std::size_t others = planned_.size() - first;
    const auto reach = draw(0, 4) == 0 ? planned_.size() : others;  // now and then another program's
    if (reach == 0 || draw(0, 9) == 0) {
      s.cause = program, s.cause_instant = program_start + draw(0, 100), s.reason = Reason::issue;
    } else {
      const auto& cause = planned_[planned_.size() - 1 -
                                   static_cast<std::size_t>(draw(0, static_cast<std::int64_t>(reach) - 1))];
      s.cause = cause.self, s.reason = static_cast<Reason>(draw(0, 5));
      s.cause_instant = std::max(program_start, draw(cause.spec.start, cause.spec.end + draw(0, 1) * 20));
    }
    s.start = s.cause_instant + draw(0, 1) * draw(0, 100);
    const std::array<std::int64_t, 3> parts = {draw(0, 200), draw(0, 200), draw(0, 200)};
    for (std::size_t i = 0; i < 3; ++i) s.phases[i] = static_cast<std::uint32_t>(parts[i]);
    // A transfer waits for its window within its first phase.
    if (device::is_dma(s.kind)) s.phases[2] = std::min(s.phases[2], s.phases[0]);
    s.end = s.start + parts[0] + parts[1] + parts[2] + draw(0, 100);
    const auto self = maker_.reserve(origin);
    if (s.kind != OpKind::ipcq_send) return {s, self, self.partition};
    return {s, self, static_cast<int>(draw(1, options_.sips))};
  }

  /// Each partition in order of end, as a simulation would; at one instant in the order of beginning.
  void write() {
    auto order = planned_;
    std::stable_sort(order.begin(), order.end(),
                     [](const Planned& a, const Planned& b) { return a.spec.end < b.spec.end; });
    for (auto& p : order) {
      p.spec.written_by = p.partition;
      maker_.add(p.spec, p.self);
    }
  }

  const RandomRunOptions options_;
  RunMaker maker_;
  std::mt19937 random_;
  std::vector<Planned> planned_;
  OpRef last_launch_;
  std::uint32_t completions_ = 0;
  std::int64_t last_launch_end_ = 0, host_now_ = 0;
};

}  // namespace kernbench::trace
