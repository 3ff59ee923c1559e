// Errors. Everything KernBench throws is an `Error`: an id for programs, and for people the place, what is
// wrong and what to do about it. The three subclasses say whose fault it is; only `main` and the Python
// binding turn them into exit codes or exceptions.
#pragma once

#include <fmt/core.h>

#include <exception>
#include <string>
#include <utility>

namespace kernbench {

class Error : public std::exception {
 public:
  struct Info {
    std::string id;     // stable slug: "topology.unknown-key"
    std::string where;  // `file:line:column`, a tensor, `sip0.cube5.pe3`; may be empty
    std::string what;   // what is wrong, and what was expected
    std::string hint;   // what to do; may be empty
  };

  explicit Error(Info info);

  const std::string& id() const { return info_.id; }
  const std::string& where() const { return info_.where; }
  const std::string& message() const { return info_.what; }
  const std::string& hint() const { return info_.hint; }

  /// `where: what` and, on a line of its own, `hint: …`.
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  Info info_;
  std::string text_;
};

/// A file, option or call that cannot be accepted. Exit code 2.
class InputError : public Error {
  using Error::Error;
};

/// The simulated program or machine failed: deadlock, fault, exhausted memory. Exit code 1.
class SimulationError : public Error {
  using Error::Error;
};

/// A broken promise of our own. Exit code 3.
class InternalError : public Error {
  using Error::Error;
};

[[noreturn]] void fail_assertion(const char* condition, const char* file, int line, const std::string& why);

}  // namespace kernbench

/// Checks a promise of our own. The sentence is the one we would want to read at night.
#define KB_ASSERT(condition, ...)                                                            \
  do {                                                                                       \
    if (!(condition)) [[unlikely]]                                                           \
      ::kernbench::fail_assertion(#condition, __FILE__, __LINE__, fmt::format(__VA_ARGS__)); \
  } while (false)
