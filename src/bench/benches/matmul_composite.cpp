// matmul-composite: one PE multiplies two matrices, streamed tile by tile.
//
// The scheduler of a PE takes a whole product as one command, cuts it into tiles and overlaps fetching, multiplying and
// writing back. Operands are references to HBM, fetched as the stream comes to them, or tiles loaded into the PE's TCM
// beforehand: compare the variants.
#include <fmt/format.h>

#include "bench/shipped.hpp"
#include "kernbench/reference.hpp"

namespace kernbench::bench {
namespace {

/// The kernel: C = A · B, with A and B loaded first if so wanted.
void matmul(tl::Context& tl, tl::Ptr a, tl::Ptr b, tl::Ptr c, const Shape& mkn, DType dtype,
            const std::string& variant) {
  const auto [m, k, n] = std::tuple(mkn[0], mkn[1], mkn[2]);
  auto left = variant == "ref_ref" ? tl.ref(a, {m, k}, dtype) : tl.load(a, {m, k}, dtype);
  auto right = variant == "load_load" ? tl.load(b, {k, n}, dtype) : tl.ref(b, {k, n}, dtype);
  tl.composite("gemm", left, right, tl.ref(c, {m, n}, dtype));
}

void run_matmul_composite(Torch& torch, const Options& options, BenchReport& report) {
  const auto m = options.integer("M"), k = options.integer("K"), n = options.integer("N");
  const DType dtype = options.dtype("dtype");
  const Eighths left{{m, k}, 1}, right{{k, n}, 2};
  const DPPolicy one_pe = DPPolicy::whole();  // cube 0, PE 0 of the current SIP
  const Tensor a = left.tensor(torch, dtype, one_pe, "a");
  const Tensor b = right.tensor(torch, dtype, one_pe, "b");
  const Tensor c = torch.empty({m, n}, dtype, one_pe, "c");

  const auto launch = torch.launch("matmul", matmul, a, b, c, Shape{m, k, n}, dtype, options.text("variant"));
  torch.wait(launch);

  if (report.verify()) report.compare("c", c.numpy(), product(left, right, dtype, report.threads()));
  const double tflops = 2e-3 * static_cast<double>(m * k * n) / launch.trace().pe_exec_ns();
  report.result("tflops", tflops);
  report.result("share_of_peak", tflops / torch.machine().pe_peak_tflops(dtype));
  report.line(
      fmt::format("matmul-composite {}×{}×{} {} {}: {:.3f} us, {:.3f} TFLOP/s, {:.1f} % of one PE's peak: {}",
                  m, k, n, to_string(dtype), options.text("variant"), launch.trace().pe_exec_ns() / 1e3,
                  tflops, 100 * tflops / torch.machine().pe_peak_tflops(dtype), report.verdict()));
}

}  // namespace

Bench matmul_composite() {
  const Range extent{1, 65536};
  return {"matmul-composite",
          "one PE multiplies two matrices, streamed tile by tile by its scheduler",
          {Param::integer("M", 512, extent, "rows of A and C"),
           Param::integer("K", 512, extent, "columns of A, rows of B"),
           Param::integer("N", 512, extent, "columns of B and C"),
           Param::choice("dtype", "f16", {"f16", "bf16", "f32"}, "of all three"),
           Param::choice(
               "variant", "ref_ref", {"ref_ref", "load_ref", "load_load"},
               "which operands stay in HBM (ref) and which are loaded into the TCM first (load): A, then B")},
          run_matmul_composite,
          {},
          {"tflops", "share_of_peak"}};
}

}  // namespace kernbench::bench
