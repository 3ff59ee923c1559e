// A full disk for tests.
#pragma once

#include <sys/resource.h>

#include <csignal>

namespace kernbench::testing {

/// While it lives no file may grow beyond a size: the nearest thing to a full disk that needs no rights.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FullDisk() { ::setrlimit(RLIMIT_FSIZE, &before_), std::signal(SIGXFSZ, handler_); }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

}  // namespace kernbench::testing
