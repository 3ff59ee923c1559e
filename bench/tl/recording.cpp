// Recording: a kernel of a blocked matrix product with an epilogue and a ring exchange, over and over, into
// one program of 1.2 million commands. Unit: a command.
#include <kernbench/tl.hpp>

#include "workload.hpp"

namespace kernbench::bench {
namespace {

using enum DType;

constexpr int kBlocks = 20'000;
constexpr int kSteps = 16;

void kernel(tl::Context& tl, tl::Ptr a, tl::Ptr b, tl::Ptr c) {
  for (const int block : tl.static_range(kBlocks)) {
    auto acc = tl.zeros({32, 32}, f32);
    for (const int k : tl.static_range(kSteps)) {
      const auto left = tl.load(a + 64 * (block * kSteps + k), {32, 64}, f16, {.strides = {1024, 1}});
      const auto right = tl.load(b + 4096 * k, {64, 32}, f16);
      acc = tl.dot(left, right, {.acc = acc});
    }
    const auto scaled = tl.maximum(acc * 0.125, 0) + tl.load(c, {32}, f32);
    const auto weights = tl.softmax(scaled);
    tl.send("E", weights);
    tl.store(c + 4096 * block, weights * tl.recv("W", {32, 32}, f32));
  }
}

}  // namespace

Result recording() {
  Result result;
  tl::Context tl({.kernel = "recording"});
  result.seconds =
      seconds_of([&] { run_kernel(kernel, tl, tl::Ptr(0x1000), tl::Ptr(0x100000), tl::Ptr(0x200000)); });
  result.units = static_cast<std::int64_t>(tl.program().commands().size());
  result.checksum = tl.program().fingerprint();
  return result;
}

}  // namespace kernbench::bench
