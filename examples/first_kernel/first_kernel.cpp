// A kernel, a host program and a bench, in one file: docs/first-kernel.md walks through it.
// [includes]
#include <fmt/format.h>

#include <kernbench/cli.hpp>
#include <kernbench/reference.hpp>

using namespace kernbench;
// [/includes]

// [kernel]
/// y += a · x, for the running PE's part of two vectors, piece by piece.
void axpy(tl::Context& tl, tl::Ptr x, tl::Ptr y, float a, std::int64_t piece) {
  const tl::Shard& from = tl.shard(x);  // where this PE's part of x begins, and how long it is
  const tl::Shard& to = tl.shard(y);
  const std::int64_t n = to.shape[0];
  for (std::int64_t i = 0; i < n; i += piece) {
    const std::int64_t count = std::min(piece, n - i), at = i * itemsize(to.dtype);
    auto xs = tl.load(from.ptr + at, {count}, from.dtype);
    auto ys = tl.load(to.ptr + at, {count}, to.dtype);
    tl.store(to.ptr + at, ys + a * xs);
  }
}
// [/kernel]

// [host]
void run_axpy(Torch& torch, const Options& options, BenchReport& report) {
  const auto n = options.integer("n");
  const float a = 0.5f;
  const DPPolicy over_all_pes{.cube = Split::column_wise, .pe = Split::column_wise};
  const Eighths xs{{n}, 1}, ys{{n}, 2};  // numbers that are exact in f16
  const Tensor x = xs.tensor(torch, DType::f16, over_all_pes, "x");
  const Tensor y = ys.tensor(torch, DType::f16, over_all_pes, "y");

  const auto launch = torch.launch("axpy", axpy, x, y, a, options.integer("piece"));
  torch.wait(launch);

  const double gbs = 3.0 * static_cast<double>(y.nbytes()) / launch.trace().pe_exec_ns();
  report.result("gbs", gbs);
  if (report.verify()) {
    NdArray expected = ys.array(DType::f16);
    const NdArray x_numbers = xs.array(DType::f16);
    for (std::int64_t i = 0; i < n; ++i)
      expected.at<F16>({i}) =
          F16(static_cast<float>(expected.at<F16>({i})) + a * static_cast<float>(x_numbers.at<F16>({i})));
    report.compare("y", y.numpy(), expected);
  }
  report.line(fmt::format("axpy of {} elements: {:.3f} us, {:.1f} GB/s: {}", n,
                          launch.trace().pe_exec_ns() / 1e3, gbs, report.verdict()));
}
// [/host]

// [main]
int main(int argc, char** argv) {
  return cli_main(argc, argv, [](Registry& registry) {
    registry.benches.add(
        {"axpy",
         "y += a · x over all PEs of a SIP",
         {Param::integer("n", 1 << 20, {1, 1 << 28}, "elements; a multiple of the PEs of a SIP"),
          Param::integer("piece", 8192, {1, 1 << 16}, "elements that are loaded at a time")},
         run_axpy});
  });
}
// [/main]
