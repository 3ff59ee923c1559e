// How the models write records: causes, serial numbers, the sink.
#pragma once

#include <vector>

#include "device/op_record.hpp"

namespace kernbench::device {

/// A constraint on the start of an operation. `met`: when it was met. `instant`: where that stands in the
/// record `ref` (the same instant, but for issue: then the gap between the two is the CPU's).
struct Cause {
  OpRef ref;
  Time instant;
  Time met;
  Reason reason = Reason::start;

  static Cause at(OpRef ref, Time instant, Reason reason) { return {ref, instant, instant, reason}; }
  /// Keeps the one that was met last; of several at one instant, the first in the order of reasons.
  void consider(const Cause& other) {
    if (other.met > met || (other.met == met && other.reason < reason)) *this = other;
  }
};

/// Gives out serial numbers and passes finished records on. One per run; each partition has a part of its
/// own.
class OpWriter {
 public:
  explicit OpWriter(int partitions) : serials_(static_cast<std::size_t>(partitions)) {}

  void set_sink(OpSink* sink) { sink_ = sink; }
  OpRef next(int partition) {
    return {static_cast<std::uint16_t>(partition), ++serials_[static_cast<std::size_t>(partition)].last};
  }
  /// Fills in serial and cause and hands the record to the sink.
  void write(OpRef self, const Cause& cause, const OpRecord& record) {
    write(self.partition, self, cause, record);
  }
  /// The same for a record that ends in another partition than its own.
  void write(int partition, OpRef self, const Cause& cause, OpRecord record) {
    if (!sink_) return;
    record.serial = self.serial;
    record.cause_serial = cause.ref.serial;
    record.cause_partition = cause.ref.partition;
    record.cause_instant = cause.instant;
    record.reason = cause.reason;
    sink_->append(partition, record);
  }

  /// The last numbers that were given out, by partition.
  std::vector<std::uint32_t> serials() const {
    std::vector<std::uint32_t> last;
    for (const Serial& serial : serials_) last.push_back(serial.last);
    return last;
  }
  /// So many more were given out.
  void add_serials(const std::vector<std::uint32_t>& more) {
    for (std::size_t i = 0; i < serials_.size(); ++i) serials_[i].last += more[i];
  }

  void departed(int partition, const Departure& departure) {
    if (sink_) sink_->departed(partition, departure);
  }

 private:
  struct alignas(64) Serial {
    std::uint32_t last = 0;
  };
  OpSink* sink_ = nullptr;
  std::vector<Serial> serials_;
};

}  // namespace kernbench::device
