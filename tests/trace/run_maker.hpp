// Hand-made runs: a machine of some SIPs, launches with programs of ten lines, and records appended one by
// one.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "kernbench/error.hpp"
#include "kernbench/trace.hpp"
#include "printers.hpp"
#include "trace/op_log.hpp"
#include "trace/recording.hpp"

namespace kernbench::trace {

using device::OpKind;
using device::OpRef;
using device::Reason;

inline Time ps(std::int64_t n) { return Time::from_ps(n); }

/// What a test says about a record; the rest follows.
struct RecordSpec {
  OpKind kind = OpKind::dma_read;
  std::int64_t start = 0, end = 0;
  std::uint32_t origin = 0;
  std::uint32_t command = UINT32_MAX;
  std::uint64_t amount = 0;
  OpRef cause = {};
  std::int64_t cause_instant = 0;
  Reason reason = Reason::start;
  std::array<std::uint32_t, 3> phases = {};
  int written_by = -1;  // −1: its own partition
};

class RunMaker {
 public:
  explicit RunMaker(int partitions = 2, OpLogOptions options = {})
      : log_(partitions, options), serials_(static_cast<std::size_t>(partitions)) {}

  RunInfo info{"machine: small\n", {}, {}};

  /// A kernel on a PE: command c stands at `name`.cpp:(10 + c).
  std::uint32_t program(PeCoord pe, std::uint32_t launch = 0, const std::string& name = "kernel",
                        int commands = 10) {
    OriginInfo origin{pe, launch, name, 0x1234, {}};
    for (int c = 0; c < commands; ++c)
      origin.lines.push_back(line(name + ".cpp", static_cast<std::uint32_t>(10 + c)));
    return add(std::move(origin));
  }
  std::uint32_t request(const std::string& name, std::uint32_t launch = 0) {
    return add({{0, -1, -1}, launch, name, 0, {}});
  }

  /// The name a record will have, for records that are written later.
  OpRef reserve(std::uint32_t origin) {
    const auto p = info.origins[origin].partition();
    return {p, ++serials_[p]};
  }
  OpRef add(const RecordSpec& spec) { return add(spec, reserve(spec.origin)); }
  OpRef add(const RecordSpec& spec, OpRef self) {
    log_.append(spec.written_by >= 0 ? spec.written_by : self.partition, record_of(spec, self.serial));
    return self;
  }
  RunLog finish() { return log_.finish(info); }
  OpLog& log() { return log_; }

  static OpRecord record_of(const RecordSpec& s, std::uint32_t serial) {
    return {ps(s.start), ps(s.end),      ps(s.cause_instant), s.amount, serial,   s.origin,
            s.command,   s.cause.serial, s.cause.partition,   s.kind,   s.reason, s.phases};
  }

 private:
  std::uint32_t add(OriginInfo origin) {
    info.origins.push_back(std::move(origin));
    return static_cast<std::uint32_t>(info.origins.size() - 1);
  }
  std::uint32_t line(const std::string& file, std::uint32_t number) {
    for (std::size_t i = 0; i < info.lines.size(); ++i)
      if (info.lines[i] == LineInfo{file, number}) return static_cast<std::uint32_t>(i);
    info.lines.push_back({file, number});
    return static_cast<std::uint32_t>(info.lines.size() - 1);
  }

  OpLog log_;
  std::vector<std::uint32_t> serials_;
};

/// `fabric 0-50`
inline std::vector<std::string> shown(const CriticalPath& path) {
  std::vector<std::string> texts;
  for (const auto& p : path.pieces)
    texts.push_back(fmt::format("{} {}-{}", p.what, p.begin.ps(), p.end.ps()));
  return texts;
}
inline std::vector<std::string> shown(const std::vector<Share>& shares) {
  std::vector<std::string> texts;
  for (const auto& s : shares) texts.push_back(fmt::format("{} {}", s.name, s.time.ps()));
  return texts;
}

inline Time sum(const std::vector<Share>& shares) {
  Time total;
  for (const auto& s : shares) total += s.time;
  return total;
}

}  // namespace kernbench::trace
