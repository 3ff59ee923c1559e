// Who runs the points of a sweep: processes, on this machine or on several.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace kernbench::sweep {

class Workers {
 public:
  virtual ~Workers() = default;
  virtual int count() const = 0;
  virtual void give(int worker, std::size_t point) = 0;

  struct Done {
    int worker = 0;
    std::string line;  // what the point's run said; empty: the worker died
    std::string how;   // it did so
  };
  /// The next point that is done; none: interrupted.
  virtual std::optional<Done> wait(const std::atomic<bool>* interrupt) = 0;
};

/// What a worker does with the number of a point: run it, and return its line.
using Work = std::function<std::string(std::size_t)>;

/// Processes that are copies of this one, started now. They end with it. One that dies is replaced.
std::unique_ptr<Workers> forked_workers(int count, Work work);

}  // namespace kernbench::sweep
