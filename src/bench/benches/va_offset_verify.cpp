// va-offset-verify: every PE finds its own block by arithmetic on a virtual address, and copies it.
//
// A tensor has one virtual base; the shard of the s-th PE (cube-major) lies at base + s · stride. Kernels may compute
// such addresses themselves, as here, or ask `tl.shard`. A mistake in maps or placement shows as wrong bytes.
#include <fmt/format.h>

#include "bench/shipped.hpp"
#include "kernbench/reference.hpp"

namespace kernbench::bench {
namespace {

/// The kernel: to[pid] = from[pid], block by block.
void copy_block(tl::Context& tl, tl::Ptr from, tl::Ptr to, std::int64_t n, DType dtype) {
  const int pid = tl.program_id(1) * tl.num_programs(0) + tl.program_id(0);
  const std::int64_t offset = pid * n * itemsize(dtype);
  tl.store(to + offset, tl.load(from + offset, {n}, dtype));
}

void run_va_offset_verify(Torch& torch, const Options& options, BenchReport& report) {
  const auto n = options.integer("n_elem");
  const DType dtype = options.dtype("dtype");
  const std::int64_t pes = torch.machine().cubes() * torch.machine().pes();
  const DPPolicy one_block_each{.cube = Split::column_wise, .pe = Split::column_wise};
  const Eighths numbers{{pes * n}, 1};
  const Tensor from = numbers.tensor(torch, dtype, one_block_each, "from");
  const Tensor to = torch.empty({pes * n}, dtype, one_block_each, "to");

  const auto launch = torch.launch("copy_block", copy_block, from, to, n, dtype);
  torch.wait(launch);

  if (report.verify()) report.compare("to", to.numpy(), numbers.array(dtype));
  report.result("blocks", pes);
  report.line(fmt::format("va-offset-verify {} PEs × {} {}: {:.3f} us: {}", pes, n, to_string(dtype),
                          launch.trace().pe_exec_ns() / 1e3, report.verdict()));
}

}  // namespace

Bench va_offset_verify() {
  return {"va-offset-verify",
          "every PE of a SIP copies its own block, found as base + pid · stride",
          {Param::integer("n_elem", 1024, {1, 1 << 18}, "elements of a block"),
           Param::choice("dtype", "f16", {"f16", "bf16", "f32"}, "of the elements")},
          run_va_offset_verify,
          {},
          {"blocks"}};
}

}  // namespace kernbench::bench
