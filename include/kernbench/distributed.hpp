// Several ranks in one host program: what `torch.multiprocessing` and `torch.distributed` are to a PyTorch program.
//
//   spawn(torch, [&](int rank) {
//     torch.ahbm.set_device(rank);
//     Tensor x = torch.full({16, 1024}, rank + 1, f16, rows, "x");
//     …
//   }, torch.ahbm.device_count());
//
// Ranks take turns: one runs until it must wait, then another one. Host code takes no simulated time and there is one
// clock: it stands still while any rank can run, and when all wait it goes on to the first instant at which one of them
// need not any more. What happens never depends on threads, although every rank has one.
#pragma once

#include <exception>
#include <functional>
#include <map>

#include "kernbench/error.hpp"
#include "kernbench/torch.hpp"

namespace kernbench::dist {

/// Ranks have failed; those that did not were stopped. What was under way has ended or was given up, and the context
/// can be used again.
class SpawnException : public Error {
 public:
  explicit SpawnException(std::map<int, std::exception_ptr> causes);
  /// What went wrong first, by rank: not what followed from it.
  const std::map<int, std::exception_ptr>& causes() const { return causes_; }

 private:
  std::map<int, std::exception_ptr> causes_;
};

/// Runs `fn(rank)` for the ranks 0 … nprocs − 1 and comes back when all have ended. Each has a current device of its own,
/// at first the caller's. Throws SpawnException; InputError (`dist.spawn`) inside another spawn or for a number of
/// ranks that the machine has no devices for.
void spawn(Torch& torch, const std::function<void(int rank)>& fn, int nprocs);

/// Inside `spawn` the rank that calls, outside 0.
int get_rank(const Torch& torch);

}  // namespace kernbench::dist

namespace kernbench {
using dist::spawn;
using dist::SpawnException;
}  // namespace kernbench
