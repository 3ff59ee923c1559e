#include "cli/interrupt.hpp"

namespace kernbench::cli {
namespace {

std::atomic<bool> interrupted = false;  // signal handlers know nothing but globals
static_assert(std::atomic<bool>::is_always_lock_free);

void note(int) { interrupted = true; }

}  // namespace

InterruptFlag::InterruptFlag() {
  interrupted = false;
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = SA_RESETHAND;  // the second time as if we were not here
  ::sigaction(SIGINT, &action, &before_int_);
  ::sigaction(SIGTERM, &action, &before_term_);
}

InterruptFlag::~InterruptFlag() {
  ::sigaction(SIGINT, &before_int_, nullptr);
  ::sigaction(SIGTERM, &before_term_, nullptr);
}

const std::atomic<bool>& InterruptFlag::flag() const { return interrupted; }

}  // namespace kernbench::cli
