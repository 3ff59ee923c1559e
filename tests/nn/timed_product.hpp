// How long products over a whole SIP take.
#pragma once

#include "nn/nn_world.hpp"

namespace kernbench::nn {

/// The launch of a product over all 128 PEs of a SIP, weights by columns or K split. Nobody looks at numbers or records.
inline runtime::Trace timed(std::int64_t m, std::int64_t k, std::int64_t n, bool splits_k) {
  Torch torch(runtime::load(), {.data = false, .log = runtime::LogStorage::none});
  const DPPolicy of_x = splits_k ? spread(torch, Split::column_wise, k) : DPPolicy{};
  const DPPolicy of_w = splits_k ? spread(torch, Split::row_wise, k) : spread(torch, Split::column_wise, n);
  matmul(torch.empty({m, k}, f16, of_x, "x"), torch.empty({k, n}, f16, of_w, "w"),
         {.result = Split::column_wise});
  return last_launch(torch);
}

/// K is split: at most twice the product and the cut, where a PE's partial products, m · n in f32, leave it at 512 GB/s.
inline void expect_near_cut(std::int64_t m, std::int64_t k, std::int64_t n) {
  const runtime::Trace trace = timed(m, k, n, true);
  const double leaving = static_cast<double>(m * n * 4) / 512;
  EXPECT_LT(trace.pe_exec.ns(), 2 * (trace.compulsory.ns() + leaving));
}

}  // namespace kernbench::nn
