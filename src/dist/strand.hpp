// Strands: the pieces of code that take turns. Whatever a strand is (a stack on the caller's thread, a thread that waits
// for its turn), exactly one of a family runs at a time, and a switch goes from it to another one.
#pragma once

#include <functional>
#include <memory>

#include "kernbench/torch.hpp"

namespace kernbench::dist {

class Strand {
 public:
  virtual ~Strand() = default;
  /// Called by the one that runs; comes back when somebody switches to it again.
  virtual void switch_to(Strand& other) = 0;
};

/// Makes the strands of one family.
class Strands {
 public:
  virtual ~Strands() = default;
  /// The code that calls this: what it leaves when it switches to another one.
  virtual std::unique_ptr<Strand> of_caller() = 0;
  /// Begins with `body` when it is first switched to. That does not return; it may be unwound by an exception of the
  /// family's own when the strand is destroyed. std::system_error if there is no room.
  virtual std::unique_ptr<Strand> make(std::function<void()> body) = 0;
};

/// Thrown in a rank that is to end because another one has failed.
struct RankStopped {};

/// `spawn` of distributed.hpp with strands of the caller's choice, for languages that keep state by thread.
void spawn(Torch& torch, const std::function<void(int rank)>& fn, int nprocs, Strands& strands);

}  // namespace kernbench::dist
