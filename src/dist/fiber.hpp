// Code that can be left in the middle and gone on with later: a stack of its own, on the thread of whoever switches to
// it. Switching costs two calls of the operating system and wakes nobody.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>

#include "dist/strand.hpp"

namespace kernbench::dist {

class Fiber final : public Strand {
 public:
  /// Stands for the code that runs: what it leaves when it switches to another one.
  Fiber();
  /// Begins with `body` when it is first switched to. That must not return: it switches to another one for good, and
  /// what it then has on its stack is not destroyed. std::system_error if there is no room for the stack.
  explicit Fiber(std::function<void()> body);
  ~Fiber() override;
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// To another fiber.
  void switch_to(Strand& other) override;

 private:
  struct Exceptions {  // being thrown and handled, which the C++ runtime counts by thread
    void* caught = nullptr;
    unsigned int uncaught = 0;
  };
  static void enter();
  void take_exceptions_over_to(const Fiber& other);
  void leave_for(Fiber& other);
  void arrive();

  std::function<void()> body_;
  ucontext_t context_{};
  std::byte* mapping_ = nullptr;  // stack with its guard page; null: the thread's
  Exceptions exceptions_;
  void* sanitizer_ = nullptr;  // what it knows the fiber by
};

class Fibers final : public Strands {
 public:
  std::unique_ptr<Strand> of_caller() override { return std::make_unique<Fiber>(); }
  std::unique_ptr<Strand> make(std::function<void()> body) override {
    return std::make_unique<Fiber>(std::move(body));
  }
};

}  // namespace kernbench::dist
