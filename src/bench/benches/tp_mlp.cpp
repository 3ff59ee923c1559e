// tp-mlp: the feed-forward part of a transformer layer, its weights split over the ranks.
//
// Up (and gate): each rank has some columns of the weights and computes those columns of the hidden layer. Down: each rank
// multiplies its part, and the products are added up over the ranks. Only that sum goes between SIPs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/shipped.hpp"
#include "kernbench/fixed_math.hpp"
#include "kernbench/reference.hpp"
#include "kernbench/tp.hpp"

namespace kernbench::bench {
namespace {

struct Mlp {
  std::int64_t hidden, ffn, tokens;
  DType dtype;
  bool gated;
};

/// Multiples of 1/8 divided by a power of two, so that sums stay about 1.
float scaled(std::int8_t eighths, std::int64_t summed) {
  return std::ldexp(static_cast<float>(eighths) / 8, -std::ilogb(std::sqrt(static_cast<float>(summed))));
}

NdArray rounded(const std::vector<float>& numbers, const Shape& shape, DType dtype) {
  NdArray array(dtype, shape);
  const auto put = [&]<class T>(std::span<T> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = T(numbers[i]);
  };
  if (dtype == DType::f32)
    put(array.view<float>());
  else if (dtype == DType::bf16)
    put(array.view<BF16>());
  else
    put(array.view<F16>());
  return array;
}

/// Part of a weight matrix: rows and columns from some on.
NdArray weights(const Eighths& all, std::int64_t row, std::int64_t col, const Shape& shape, DType dtype) {
  std::vector<float> wide(static_cast<std::size_t>(shape.elements()));
  std::vector<std::int8_t> line(static_cast<std::size_t>(shape[1]));
  const float one = scaled(1, all.rows());
  for (std::int64_t r = 0; r < shape[0]; ++r) {
    all.row(row + r, col, line);
    for (std::size_t c = 0; c < line.size(); ++c)
      wide[static_cast<std::size_t>(r * shape[1]) + c] = static_cast<float>(line[c]) * one;
  }
  return rounded(wide, shape, dtype);
}

void fill(Tensor& weight, const Eighths& all, std::int64_t row, std::int64_t col) {
  weight.copy_(weights(all, row, col, weight.shape(), weight.dtype()));
}

/// What one rank does; returns its result.
Tensor forward(Torch& torch, const Mlp& mlp, int rank, const Tensor& x, bool data) {
  nn::tp::ColumnParallelLinear up(torch, mlp.hidden, mlp.ffn, {.dtype = mlp.dtype});
  std::optional<nn::tp::ColumnParallelLinear> gate;
  if (mlp.gated) gate.emplace(torch, mlp.hidden, mlp.ffn, nn::tp::LinearOptions{.dtype = mlp.dtype});
  nn::tp::RowParallelLinear down(torch, mlp.ffn, mlp.hidden, {.dtype = mlp.dtype});
  if (data) {
    fill(up.weight, {{mlp.hidden, mlp.ffn}, 2}, 0, rank * up.n_local);
    if (gate) fill(gate->weight, {{mlp.hidden, mlp.ffn}, 4}, 0, rank * up.n_local);
    fill(down.weight, {{mlp.ffn, mlp.hidden}, 3}, rank * down.k_local, 0);
  }
  Tensor h = up.forward(x);
  h = gate ? nn::mul(nn::silu(gate->forward(x)), h) : nn::gelu(h);
  return down.forward(h);
}

// ── the reference, in f32 with the roundings of the layers ──

std::vector<float> times(const std::vector<float>& a, const Eighths& b, std::int64_t rows) {
  const std::int64_t k = b.rows();
  const auto n = static_cast<std::size_t>(b.columns());
  std::vector<float> c(static_cast<std::size_t>(rows) * n), right(n);
  std::vector<std::int8_t> line(n);
  const float one = scaled(1, k);  // the scale is a power of two: products with it are exact
  for (std::int64_t i = 0; i < k; ++i) {
    b.row(i, 0, line);
    for (std::size_t j = 0; j < n; ++j) right[j] = static_cast<float>(line[j]) * one;
    for (std::int64_t r = 0; r < rows; ++r) {
      const float left = a[static_cast<std::size_t>(r * k + i)];
      float* const sum = c.data() + static_cast<std::size_t>(r) * n;
      for (std::size_t j = 0; j < n; ++j) sum[j] += left * right[j];
    }
  }
  return c;
}

NdArray reference(const Mlp& mlp) {
  const NdArray x = Eighths{{mlp.tokens, mlp.hidden}, 1}.array(DType::f32);
  const std::vector<float> input(x.view<float>().begin(), x.view<float>().end());
  std::vector<float> h = times(input, {{mlp.hidden, mlp.ffn}, 2}, mlp.tokens);
  const std::vector<float> gate =
      mlp.gated ? times(input, {{mlp.hidden, mlp.ffn}, 4}, mlp.tokens) : std::vector<float>();
  for (std::size_t i = 0; i < h.size(); ++i)
    h[i] = mlp.gated ? gate[i] / (1 + static_cast<float>(fixed::exp(-gate[i]))) * h[i]
                     : 0.5f * h[i] * (1 + fixed::erf(h[i] / std::sqrt(2.0f)));
  return rounded(times(h, {{mlp.ffn, mlp.hidden}, 3}, mlp.tokens), {mlp.tokens, mlp.hidden}, mlp.dtype);
}

// ── the figures ──

struct Spent {
  std::vector<std::pair<std::string, Time>> by_operation;  // in the order in which they came first
  Time all, between_sips;
};

/// The launches of one SIP after an instant. What no operation of `nn` made is a collective between SIPs.
Spent time_spent(const Torch& torch, int sip) {
  Spent spent;
  for (const auto& trace : torch.traces()) {
    if (trace.phase != runtime::Phase::launch || trace.sip != sip) continue;
    auto found = std::ranges::find(spent.by_operation, trace.name, &std::pair<std::string, Time>::first);
    if (found == spent.by_operation.end()) found = spent.by_operation.insert(found, {trace.name, Time()});
    found->second += trace.total;
    spent.all += trace.total;
    if (trace.note.empty()) spent.between_sips += trace.total;
  }
  return spent;
}

void run_tp_mlp(Torch& torch, const Options& options, BenchReport& report) {
  const Mlp mlp{options.integer("hidden"), options.integer("ffn"), options.integer("tokens"),
                options.dtype("dtype"), options.text("gate") == "swiglu"};
  const int ranks = dist::get_world_size(torch);
  const Eighths activations{{mlp.tokens, mlp.hidden}, 1};
  std::vector<Tensor> results(static_cast<std::size_t>(ranks));
  dist::init_process_group(torch);
  nn::tp::initialize_model_parallel(torch, ranks);
  spawn(
      torch,
      [&](int rank) {
        torch.ahbm.set_device(rank);
        // The host would write a copy for each PE: where nobody looks at the numbers, none is written.
        const Tensor x = torch.has_data() ? activations.tensor(torch, mlp.dtype, DPPolicy{}, "x")
                                          : torch.empty(activations.shape, mlp.dtype, DPPolicy{}, "x");
        results[static_cast<std::size_t>(rank)] = forward(torch, mlp, rank, x, torch.has_data());
      },
      ranks);
  torch.synchronize();
  if (report.verify()) {
    const NdArray expected = reference(mlp), first = results.front().numpy();
    report.compare("y", first, expected, {.relative = 2e-2, .absolute = 2e-2});
    for (int rank = 1; rank < ranks; ++rank)
      report.compare(fmt::format("y of rank {}", rank), results[static_cast<std::size_t>(rank)].numpy(),
                     first);
  }
  const Spent spent = time_spent(torch, 0);
  const double flops = 2.0 * (mlp.gated ? 3 : 2) * static_cast<double>(mlp.tokens * mlp.hidden * mlp.ffn);
  const double peak =
      torch.machine().pe_peak_tflops(mlp.dtype) * torch.machine().cubes() * torch.machine().pes() * ranks;
  const double mfu = flops / (spent.all.ns() * 1e-9) / (peak * 1e12);
  const double share = spent.between_sips.ns() / spent.all.ns();
  std::string text = fmt::format("{:<26} {:>12} {:>8}\n", "operation", "us", "share");
  for (const auto& [name, time] : spent.by_operation) {
    text +=
        fmt::format("{:<26} {:>12.3f} {:>6.1f} %\n", name, time.ns() / 1e3, 100 * time.ns() / spent.all.ns());
    report.result(fmt::format("{}_ns", name), time.ns());
  }
  report.result("layer_ns", spent.all.ns());
  report.result("collective_share", share);
  report.result("mfu", mfu);
  report.line(
      text +
      fmt::format("tp-mlp {} hidden {} ffn {} tokens {} on {} SIPs: {:.3f} us, {:.1f} % in collectives, "
                  "MFU {:.1f} %: {}",
                  mlp.gated ? "swiglu" : "plain", mlp.hidden, mlp.ffn, mlp.tokens, ranks,
                  spent.all.ns() / 1e3, 100 * share, 100 * mfu, report.verdict()));
}

}  // namespace

Bench tp_mlp() {
  const Range extent{1, 1 << 20};
  return {"tp-mlp",
          "the feed-forward part of a transformer layer, tensor parallel over all SIPs",
          {Param::integer("hidden", 768, extent, "width of the model"),
           Param::integer("ffn", 3072, extent, "width of the hidden layer; a multiple of the SIPs"),
           Param::integer("tokens", 64, extent, "rows of x"),
           Param::choice("dtype", "f16", {"f16", "bf16", "f32"}, "of weights and activations"),
           Param::choice("gate", "plain", {"plain", "swiglu"},
                         "plain: gelu(x · up); swiglu: silu(x · gate) · (x · up)")},
          run_tp_mlp,
          {},
          {"*_ns", "collective_share", "mfu"}};
}

}  // namespace kernbench::bench
