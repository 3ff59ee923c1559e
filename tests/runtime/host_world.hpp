// Machines, arrays and contexts for tests of host programs.
#pragma once

#include <gmock/gmock.h>

#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "kernbench/run_bench.hpp"
#include "printers.hpp"

namespace kernbench::runtime {

using namespace dtypes;
using ::testing::HasSubstr;

inline topology::Machine load(std::vector<std::string> overrides = {}, const std::string& name = "default") {
  return topology::load_machine(name, overrides, topology::builtin_registry());
}
/// 1 SIP of 2 × 2 cubes of 8 PEs.
inline topology::Machine small(std::vector<std::string> overrides = {}) {
  return load(std::move(overrides), "small");
}

/// 0, 1, 2 … in row-major order.
inline NdArray counting(const Shape& shape) {
  NdArray array(i32, shape);
  std::iota(array.view<std::int32_t>().begin(), array.view<std::int32_t>().end(), 0);
  return array;
}

inline NdArray filled(const Shape& shape, std::int32_t value) {
  NdArray array(i32, shape);
  std::ranges::fill(array.view<std::int32_t>(), value);
  return array;
}

inline std::vector<std::int32_t> values(const NdArray& array) {
  const auto view = array.view<std::int32_t>();
  return {view.begin(), view.end()};
}

/// What the call complains about: its id, then its text.
inline std::string complaint(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.id() + " " + e.what();
  }
  return "nothing";
}

}  // namespace kernbench::runtime
