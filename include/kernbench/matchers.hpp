// GoogleMock matchers for the commands a kernel records.
//
//   EXPECT_THAT(tl.commands(), ElementsAre(LoadOf(0x1000, Shape{32}, f16), SendTo("E"), RecvFrom("W"),
//                                          MathOf(MathOp::add), StoreTo(0x1000)));
//
// Needs GoogleMock on the include path; KernBench itself does not.
#pragma once

#include <gmock/gmock.h>

#include <string>

#include "kernbench/isa.hpp"

namespace kernbench::matchers {

/// A command of a kind, whatever its operands: `Is<isa::Fence>()`.
template <class T>
auto Is() {  // NOLINT(readability-identifier-naming): matchers are named like GoogleTest's
  return ::testing::Truly([](const isa::AnyCommand& c) { return c.is<T>(); });
}

MATCHER_P3(LoadOf, address, shape, dtype, "") {
  const auto* c = std::get_if<isa::DmaRead>(&arg);
  return c != nullptr && c->address == static_cast<std::uint64_t>(address) &&
         c->result.shape == Shape(shape) && c->result.dtype == dtype;
}
MATCHER_P(StoreTo, address, "") {
  const auto* c = std::get_if<isa::DmaWrite>(&arg);
  return c != nullptr && c->address == static_cast<std::uint64_t>(address);
}
MATCHER_P(MathOf, op, "") {
  const auto* c = std::get_if<isa::Math>(&arg);
  return c != nullptr && c->op == op;
}
MATCHER_P(SendTo, direction, "") {
  const auto* c = std::get_if<isa::IpcqSend>(&arg);
  return c != nullptr && c->direction == direction;
}
MATCHER_P(RecvFrom, direction, "") {
  const auto* c = std::get_if<isa::IpcqRecv>(&arg);
  return c != nullptr && c->direction == direction;
}
/// The text of the command contains this.
MATCHER_P(Reads, text, "") { return isa::to_string(arg).find(text) != std::string::npos; }

}  // namespace kernbench::matchers
