// Stacks that are switched between: places, exceptions, room.
#include "dist/fiber.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace kernbench::dist::fiber_test {
namespace {

using ::testing::ElementsAre;

TEST(Fiber, GoesOnWhereItLeftOff) {
  std::vector<std::string> said;
  Fiber caller;
  Fiber* self = nullptr;
  Fiber other([&] {
    for (int i = 0;; ++i) {
      said.push_back("other " + std::to_string(i));
      self->switch_to(caller);
    }
  });
  self = &other;
  for (int i = 0; i < 3; ++i) {
    said.push_back("main " + std::to_string(i));
    caller.switch_to(other);
  }
  EXPECT_THAT(said, ElementsAre("main 0", "other 0", "main 1", "other 1", "main 2", "other 2"));
}

/// Handles an exception of its own, leaves in the middle of that, and says what it handles when it is back.
void handle(const char* what, Fiber& self, Fiber& next, std::vector<std::string>& handled) {
  try {
    throw std::runtime_error(what);
  } catch (const std::runtime_error&) {
    self.switch_to(next);
    try {
      throw;
    } catch (const std::runtime_error& mine) {
      handled.emplace_back(mine.what());
    }
  }
}

TEST(Fiber, HandlesItsOwnExceptionsWhateverTheOthersHandleMeanwhile) {
  std::vector<std::string> handled;
  Fiber caller;
  Fiber *a = nullptr, *b = nullptr;
  Fiber first([&] {
    handle("a", *a, caller, handled);
    a->switch_to(caller);
  });
  Fiber second([&] {
    handle("b", *b, caller, handled);
    b->switch_to(caller);
  });
  a = &first, b = &second;
  caller.switch_to(first);
  EXPECT_FALSE(std::current_exception());
  caller.switch_to(second);
  caller.switch_to(first);  // ends its handler while that of the second is open
  caller.switch_to(second);
  EXPECT_THAT(handled, ElementsAre("a", "b"));
  EXPECT_FALSE(std::current_exception());
}

struct CountsWhileUnwinding {
  Fiber& self;
  Fiber& next;
  int& count;
  ~CountsWhileUnwinding() {
    self.switch_to(next);
    count = std::uncaught_exceptions();
  }
};

TEST(Fiber, UnwindsForItself) {
  int in_other = 0;
  Fiber caller;
  Fiber* self = nullptr;
  Fiber other([&] {
    try {
      const CountsWhileUnwinding leaves{*self, caller, in_other};
      throw 1;
    } catch (int) {
    }
    self->switch_to(caller);
  });
  self = &other;
  caller.switch_to(other);
  EXPECT_EQ(std::uncaught_exceptions(), 0);  // the other one is in the middle of throwing
  caller.switch_to(other);
  EXPECT_EQ(in_other, 1);
}

/// Frames of 4 KiB, so deep that they take so many bytes; the sum of their numbers.
std::int64_t fill_stack(std::int64_t bytes) {
  volatile char frame[4096];
  for (volatile char& byte : frame) byte = 1;
  return bytes <= 0 ? 0 : frame[17] + fill_stack(bytes - 4096);
}

TEST(Fiber, HasAStackLikeAThread) {
  std::int64_t frames = 0;
  Fiber caller;
  Fiber* self = nullptr;
  Fiber other([&] {
    frames = fill_stack(std::int64_t{4} << 20);
    self->switch_to(caller);
  });
  self = &other;
  caller.switch_to(other);
  EXPECT_EQ(frames, 1024);
}

// Stacks of 8 MiB lie side by side: who grows out of his must not write into the next one.
TEST(FiberDeathTest, EndsWithTheStackAndNotInAnotherOne) {
  const auto overflow = [] {
    Fiber caller;
    Fiber other([] {
      volatile char top = 0;
      const volatile char* const below =
          &top - (std::ptrdiff_t{8} << 20) - 2048;  // the first frames take less
      std::exit(*below);                            // 0, if it can be read
    });
    caller.switch_to(other);
  };
  EXPECT_DEATH(overflow(), "");
}

}  // namespace
}  // namespace kernbench::dist::fiber_test
