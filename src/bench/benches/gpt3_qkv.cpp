// gpt3-qkv: the query, key and value projections of a GPT-3 layer, spread over a whole SIP.
//
// Every PE has a copy of the activations X and a slice of the columns of each weight matrix, and computes the same columns
// of the result: no PE needs anything of another. With 128 PEs and a model dimension of 12288 that is 96 columns each.
#include <fmt/format.h>

#include "bench/shipped.hpp"
#include "kernbench/reference.hpp"

namespace kernbench::bench {
namespace {

/// The kernel: this PE's columns of Y = X · W.
void project(tl::Context& tl, tl::Ptr x, tl::Ptr w, tl::Ptr y) {
  const auto ref = [&](const tl::Shard& shard) {
    return tl.ref(shard.ptr, {shard.shape[0], shard.shape[1]}, shard.dtype);
  };
  tl.composite("gemm", ref(tl.shard(x)), ref(tl.shard(w)), ref(tl.shard(y)));
}

void run_gpt3_qkv(Torch& torch, const Options& options, BenchReport& report) {
  const auto tokens = options.integer("tokens"), d_model = options.integer("d_model");
  const DPPolicy everywhere{.cube = Split::replicate, .pe = Split::replicate};
  const DPPolicy by_columns{.cube = Split::column_wise, .pe = Split::column_wise};

  const Eighths activations{{tokens, d_model}, 1};
  const Tensor x = activations.tensor(torch, DType::f16, everywhere, "x");
  std::vector<Tensor> weights, results;
  std::vector<runtime::Handle> launches;
  for (const char* name : {"q", "k", "v"}) {
    const Eighths numbers{{d_model, d_model}, 2 + launches.size()};
    weights.push_back(numbers.tensor(torch, DType::f16, by_columns, fmt::format("w_{}", name)));
    results.push_back(torch.empty({tokens, d_model}, DType::f16, by_columns, name));
    launches.push_back(torch.launch(name, project, x, weights.back(), results.back()));
  }
  torch.synchronize();

  Time exec;
  for (const auto& launch : launches) exec += launch.trace().pe_exec;
  if (report.verify())
    for (std::size_t i = 0; i < results.size(); ++i)
      report.compare(results[i].name(), results[i].numpy(),
                     product(activations, {{d_model, d_model}, 2 + i}, DType::f16, report.threads()));
  const double tflops = 3 * 2e-3 * static_cast<double>(tokens * d_model * d_model) / exec.ns();
  report.result("pe_exec_ns", exec.ns());
  report.result("tflops", tflops);
  report.result("columns_per_pe", d_model / (torch.machine().cubes() * torch.machine().pes()));
  report.line(fmt::format("gpt3-qkv {} tokens, d_model {}: {:.3f} us for Q, K and V, {:.1f} TFLOP/s: {}",
                          tokens, d_model, exec.ns() / 1e3, tflops, report.verdict()));
}

}  // namespace

Bench gpt3_qkv() {
  return {
      "gpt3-qkv",
      "the Q, K and V projections of a GPT-3 layer: X replicated, weights and results column-wise over a SIP",
      {Param::integer("tokens", 32, {1, 65536}, "rows of X"),
       Param::integer("d_model", 12288, {1, 65536}, "columns of X; a multiple of the PEs of a SIP")},
      run_gpt3_qkv,
      {},
      {"pe_exec_ns", "tflops", "columns_per_pe"}};
}

}  // namespace kernbench::bench
