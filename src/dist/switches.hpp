// What the environment asks to be told: `KERNBENCH_CCL_TRACE=1` every send and receive, `KERNBENCH_DEBUG=1` suspicious
// use. Both go to standard error.
#pragma once

#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "device/queue_watcher.hpp"

namespace kernbench::dist {

/// Set, and not to 0 or nothing.
bool is_switched_on(const char* variable);

/// A line for each send that is taken and each receive that is done, by time, then PE: printed when the simulation
/// pauses, for partitions take turns, or run at once.
class QueueTrace final : public device::QueueWatcher {
 public:
  explicit QueueTrace(std::FILE* out) : out_(out) {}
  void on_send(const device::QueueEvent& event) override { note(event, true); }
  void on_receive(const device::QueueEvent& event) override { note(event, false); }
  void on_pause() override;

 private:
  struct Line {
    device::QueueEvent event;
    bool sent;
  };
  void note(const device::QueueEvent& event, bool sent);

  std::FILE* out_;
  std::mutex mutex_;  // events of several partitions may come at once
  std::vector<Line> lines_;
};

/// A warning, if they are wanted.
void warn(const std::string& text);
/// Who gets warnings instead of standard error, in bindings for languages that have warnings of their own.
void set_warner(std::function<void(const std::string&)> warner);

}  // namespace kernbench::dist
