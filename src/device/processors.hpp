// The PEs of a device and the run's books.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "device/device.hpp"
#include "device/installed_wiring.hpp"
#include "device/op_writer.hpp"
#include "device/origins.hpp"
#include "device/pe_spec.hpp"
#include "device/queue_watcher.hpp"
#include "kernbench/deadlock.hpp"

namespace kernbench::device {

class Pe;

class Processors {
 public:
  explicit Processors(Device& device);
  ~Processors();

  /// Made on first use, in the PE's partition or between runs.
  Pe& pe(PeCoord at);
  /// Those that were made.
  template <class Fn>
  void for_each_pe(const Fn& fn) {
    for (const auto& pe : pes_)
      if (pe) fn(*pe);
  }
  const PeSpec& spec() const { return spec_; }
  OpWriter& writer() { return writer_; }
  Device& device() { return device_; }

  /// Enters where records come from; returns the number records carry.
  std::uint32_t add_origin(Origin origin);
  const Origins& origins() const { return origins_; }
  /// From now on programs may go before the run has ended: what is asked of them later is noted when they come.
  void note_fingerprints() { notes_fingerprints_ = true; }
  bool notes_fingerprints() const { return notes_fingerprints_; }

  QueueBook& queues() { return book_; }
  /// The directions a program names in a wiring; null if it names none. A SimulationError if the PE is not wired
  /// (`device.no-queue`) or has no such direction (`device.direction`).
  const QueueUse* queue_use(const WiringPtr& wiring, const isa::Program& program);
  /// Null: nobody watches. The watcher must outlive the runs it watches.
  void watch_queues(QueueWatcher* watcher) { watcher_ = watcher; }
  QueueWatcher* queue_watcher() const { return watcher_; }

  /// When nothing is left to do: programs that have not ended, if there are any.
  std::optional<IpcqDeadlock> find_deadlock() const;

  // After an error or a deadlock:
  //   processors.abort();               every program stops issuing, those on their way do not start
  //   device.simulation().run();        what is under way ends; keep launches until then
  //   processors.restart();             PEs are as new: without programs and without wirings
  void abort();
  void restart();
  /// Launches of an earlier one do not start any more.
  std::uint32_t epoch() const { return epoch_; }

 private:
  Device& device_;
  const PeSpec spec_;
  OpWriter writer_;
  QueueBook book_;
  std::vector<std::unique_ptr<Pe>> pes_;  // made on first use, by their partition
  Origins origins_;
  bool notes_fingerprints_ = false;
  std::deque<QueueUse> queue_uses_;
  std::vector<const QueueUse*> last_use_;  // per PE
  QueueWatcher* watcher_ = nullptr;
  std::uint32_t epoch_ = 0;
};

}  // namespace kernbench::device
