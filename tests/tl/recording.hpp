// What the tests of the kernel language share: a context and the commands of the kernel given to it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernbench/matchers.hpp"
#include "kernbench/tl.hpp"

namespace kernbench::tl {

using enum DType;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

inline constexpr Ptr kA{0x1000}, kB{0x20000}, kC{0x40000};

/// The commands a kernel records, as text.
template <class Kernel>
std::vector<std::string> recorded(Kernel kernel, Environment environment = {}) {
  Context tl(std::move(environment));
  run_kernel(kernel, tl);
  std::vector<std::string> texts;
  for (const auto& c : tl.commands()) texts.push_back(isa::to_string(c));
  return texts;
}

/// The KernelError of a kernel that must have one.
template <class Kernel>
KernelError error_of(Kernel kernel, Environment environment = {}) {
  environment.kernel = "faulty", environment.pe = {1, 2, 3};
  Context tl(std::move(environment));
  try {
    run_kernel(kernel, tl);
  } catch (const KernelError& e) {
    return e;
  }
  ADD_FAILURE() << "the kernel was recorded without an error";
  return KernelError({.id = "none", .where = "", .what = "", .hint = ""});
}

}  // namespace kernbench::tl
