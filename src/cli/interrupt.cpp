#include "cli/interrupt.hpp"

namespace kernbench::cli {
namespace {

std::atomic<bool> interrupted = false;  // signal handlers know nothing but globals
static_assert(std::atomic<bool>::is_always_lock_free);

void note(int) { interrupted = true; }

/// Whoever started us with a signal ignored (`nohup`, a shell's background job) means us to go on.
void listen(int signal, const struct sigaction& action, struct sigaction& before) {
  ::sigaction(signal, nullptr, &before);
  if (before.sa_handler != SIG_IGN) ::sigaction(signal, &action, nullptr);
}

}  // namespace

InterruptFlag::InterruptFlag() {
  interrupted = false;
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = SA_RESETHAND;  // the second time as if we were not here
  listen(SIGINT, action, before_int_);
  listen(SIGTERM, action, before_term_);
}

InterruptFlag::~InterruptFlag() {
  ::sigaction(SIGINT, &before_int_, nullptr);
  ::sigaction(SIGTERM, &before_term_, nullptr);
}

const std::atomic<bool>& InterruptFlag::flag() const { return interrupted; }

}  // namespace kernbench::cli
