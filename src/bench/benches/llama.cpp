// llama: a decoder layer of Llama, tensor parallel over all SIPs, and what it means for the whole model.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "base/text.hpp"
#include "bench/baseline.hpp"
#include "bench/benches/llama_model.hpp"
#include "bench/shipped.hpp"
#include "ccl/bound.hpp"
#include "kernbench/error.hpp"
#include "kernbench/reference.hpp"
#include "runtime/engine.hpp"

namespace kernbench::bench {
namespace {

// ── options ──

LlamaModel model_of(const Options& options) {
  const std::string& name = options.text("model");
  if (name == "custom")
    return {name,
            {.hidden = options.integer("hidden"),
             .ffn = options.integer("ffn"),
             .heads = options.integer("heads"),
             .kv_heads = options.integer("kv_heads"),
             .head_dim = options.integer("head_dim")},
            options.integer("layers"),
            options.integer("vocab")};
  return llama_model(name);
}

/// The numbers of ranks that divide the model: "1, 2, 4, 8".
std::string fitting_ranks(const LlamaModel& model) {
  const std::int64_t all =
      std::gcd(std::gcd(model.shape.heads, model.shape.kv_heads), std::gcd(model.shape.ffn, model.vocab));
  std::vector<std::int64_t> fitting;
  for (std::int64_t n = 1; n <= all && fitting.size() < 10; ++n)
    if (all % n == 0) fitting.push_back(n);
  return join(fitting);
}

void check_options(const LlamaModel& model, int ranks, const BenchReport& report) {
  if (report.verify() && model.name != "custom")
    throw InputError({"llama.verify", "", fmt::format("{} has too many numbers to compare", model.name),
                      "give --verify-data with model=custom and small sizes: hidden=256 ffn=512 heads=8 …"});
  if (model.shape.heads % model.shape.kv_heads != 0 || model.shape.head_dim % 2 != 0)
    throw InputError({"llama.heads", "",
                      fmt::format("{} heads of {} for {} K/V heads", model.shape.heads, model.shape.head_dim,
                                  model.shape.kv_heads),
                      "heads is a multiple of kv_heads, head_dim is even"});
  for (const auto& [what, n] :
       {std::pair("heads", model.shape.heads), std::pair("kv_heads", model.shape.kv_heads),
        std::pair("ffn", model.shape.ffn), std::pair("vocab", model.vocab)})
    if (n % ranks != 0)
      throw InputError({"llama.ranks", "",
                        fmt::format("{} ({}) must be divisible by TP world size ({})", what, n, ranks),
                        fmt::format("the SIPs are the ranks: --set system.sips.count=N with N one of {}",
                                    fitting_ranks(model))});
}

// ── numbers ──

NdArray numbers_of(const Shape& shape, std::uint64_t seed, double scale) {
  NdArray array = Eighths{shape, seed}.array(DType::f32);
  for (float& e : array.view<float>()) e *= static_cast<float>(scale);
  return array;
}

/// About 1 in size when so many are summed; a power of two, so that every dtype has them.
double summed(std::int64_t n) { return std::ldexp(1.0, -std::ilogb(std::sqrt(static_cast<double>(n)) / 2)); }

nn::DecoderWeights weights_of(const nn::DecoderShape& s) {
  const std::int64_t q = s.heads * s.head_dim, kv = s.kv_heads * s.head_dim;
  const auto matrix = [](std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
    return numbers_of({rows, cols}, seed, summed(rows));
  };
  return {matrix(s.hidden, q, 2),     matrix(s.hidden, kv, 3),      matrix(s.hidden, kv, 4),
          matrix(q, s.hidden, 5),     matrix(s.hidden, s.ffn, 6),   matrix(s.hidden, s.ffn, 7),
          matrix(s.ffn, s.hidden, 8), numbers_of({s.hidden}, 9, 1), numbers_of({s.hidden}, 10, 1)};
}

// ── running it ──

/// A launch of a SIP, as a row of the table.
struct LlamaRow {
  std::string name;
  Time time, bound;
  std::string limit;  // which unit sets the bound
  bool collective = false;
  std::optional<double> beside_us;  // measured elsewhere, without the launch
  Time work;                        // on the PEs, without the launch
};

std::string limit_of(const std::string& resource) {
  for (const auto& [part, word] :
       {std::pair("pe_gemm", "matrix"), std::pair("pe_math", "vector"), std::pair("→", "link"),
        std::pair("hbm_ctrl", "HBM"), std::pair("pe_cpu", "issue"), std::pair("message", "latency")})
    if (resource.find(part) != std::string::npos) return word;
  return resource.empty() ? "-" : resource;
}

/// What no all-reduce of the layer's activations can beat, whatever the algorithm, and whether it is the way between SIPs or the
/// bytes over its links. They lie over the same PEs of every SIP.
std::pair<Time, std::string> all_reduce_bound(Torch& torch, const LlamaModel& model,
                                              const nn::DecoderRun& run, int ranks) {
  const DPPolicy dp = nn::spread(torch, Split::column_wise, model.shape.hidden);
  const int cubes = *dp.num_cubes, pes = *dp.num_pes;
  std::vector<std::vector<PeCoord>> lanes;
  for (int i = 0; i < cubes * pes; ++i) {
    lanes.emplace_back();
    for (int sip = 0; sip < ranks; ++sip) lanes.back().push_back({sip, i / pes, i % pes});
  }
  const std::int64_t bytes = run.tokens() * model.shape.hidden * itemsize(run.dtype) / (cubes * pes);
  const auto& graph = torch.engine().device().graph();
  const Time time = ccl::all_reduce_bound(graph, lanes, Bytes(bytes)).time;
  const Time of_a_byte = ccl::all_reduce_bound(graph, {lanes.front()}, 1_B).time;
  return {time, 2 * of_a_byte.ns() > time.ns() ? "latency" : "link"};
}

class LlamaBench {
 public:
  LlamaBench(Torch& torch, const LlamaModel& model, const nn::DecoderRun& run, BenchReport& report)
      : torch_(torch), model_(model), run_(run), report_(report), ranks_(dist::get_world_size(torch)) {
    dist::init_process_group(torch);
    nn::tp::initialize_model_parallel(torch, ranks_);
    layers_.resize(static_cast<std::size_t>(ranks_));
    inputs_.resize(layers_.size());
  }

  std::vector<LlamaRow> layer(int steps) {
    if (report_.verify()) make_numbers();
    on_ranks([&](int rank) { prepare(rank); });
    auto rows = rows_of([&] {
      const int kept = report_.verify() ? steps - 1 : steps;
      for (int i = 0; i < steps; ++i) on_ranks([&](int rank) { step(rank, i == kept); });
    });
    if (report_.verify()) compare();
    results_.clear();  // the head finds the same memory whether numbers are compared or not
    const auto [bound, limit] = all_reduce_bound(torch_, model_, run_, ranks_);
    for (LlamaRow& row : rows)
      if (row.collective && bound > row.bound) row.bound = bound, row.limit = limit;
    return average(std::move(rows), steps);
  }

  /// The last norm and the product with the vocabulary, for the last token of each sequence.
  std::vector<LlamaRow> head() {
    std::vector<Tensor> weights(layers_.size()), norms(layers_.size()), xs(layers_.size());
    const std::int64_t hidden = model_.shape.hidden, mine = model_.vocab / ranks_;
    const DPPolicy columns = nn::spread(torch_, Split::column_wise, hidden);
    // Numbers of the head are looked at by nobody; the host would write them all.
    const auto make = [&](const Shape& shape, const DPPolicy& dp, const char* name) {
      return torch_.has_data() ? torch_.zeros(shape, run_.dtype, dp, name)
                               : torch_.empty(shape, run_.dtype, dp, name);
    };
    on_ranks([&](int rank) {
      const auto i = static_cast<std::size_t>(rank);
      weights[i] = make({hidden, mine}, nn::spread(torch_, Split::column_wise, mine), "w_head");
      norms[i] = make({hidden}, columns, "final_norm");
      xs[i] = make({run_.batch, hidden}, columns, "x");
    });
    return rows_of([&] {
      on_ranks([&](int rank) {
        const auto i = static_cast<std::size_t>(rank);
        const Tensor h = nn::rms_norm(xs[i], norms[i], model_.shape.norm_eps, {.name = "final_norm"});
        const DPPolicy& dp = weights[i].dp();
        const Tensor all = nn::redistribute(h, DPPolicy{}.on({0, *dp.num_cubes}, {0, *dp.num_pes}),
                                            {.name = "final_norm.copies"});
        nn::matmul(all, weights[i], {.name = "lm_head"});
      });
    });
  }

  bool copies_weights() const { return layers_.front()->copies_weights(); }

 private:
  /// A step begins when the one before it has ended on all ranks: the host has to have a token before the next one. No
  /// result stays but one to be compared, so that every step finds the memory as the one before it did.
  void step(int rank, bool is_kept) {
    const auto i = static_cast<std::size_t>(rank);
    const Tensor y = layers_[i]->forward(inputs_[i]);
    if (is_kept) result(rank) = y;
  }

  void on_ranks(const std::function<void(int)>& fn) {
    spawn(
        torch_,
        [&](int rank) {
          torch_.ahbm.set_device(rank);
          fn(rank);
        },
        ranks_);
    torch_.synchronize();
  }

  Tensor& result(int rank) {
    results_.resize(layers_.size());
    return results_[static_cast<std::size_t>(rank)];
  }

  void make_numbers() {
    const Shape cache{run_.batch, model_.shape.kv_heads, run_.context, model_.shape.head_dim};
    weights_ = weights_of(model_.shape);
    keys_ = numbers_of(cache, 11, 1), values_ = numbers_of(cache, 12, 1);
  }

  void prepare(int rank) {
    const auto i = static_cast<std::size_t>(rank);
    layers_[i] = std::make_unique<nn::DecoderLayer>(torch_, model_.shape, run_);
    const Eighths x{{run_.tokens(), model_.shape.hidden}, 1};
    if (!report_.verify()) {
      inputs_[i] = torch_.empty(x.shape, run_.dtype, layers_[i]->input(), "x");
      return;
    }
    inputs_[i] = x.tensor(torch_, run_.dtype, layers_[i]->input(), "x");
    layers_[i]->load(weights_);
    if (!run_.prefill) layers_[i]->load_cache(keys_, values_);
  }

  void compare() {
    const NdArray x = numbers_of({run_.tokens(), model_.shape.hidden}, 1, 1);
    const NdArray expected = nn::plain_decoder_layer(model_.shape, run_, weights_, x, keys_, values_);
    const double tolerance = run_.dtype == DType::f16 ? 1e-2 : 6e-2;
    const NdArray first = results_.front().numpy();
    report_.compare("the layer", as_f32(first), expected, {.relative = tolerance, .absolute = tolerance});
    for (int rank = 1; rank < ranks_; ++rank)
      report_.compare(fmt::format("rank {}", rank), result(rank).numpy(), first);
  }

  static NdArray as_f32(const NdArray& a) {
    NdArray wide(DType::f32, a.shape());
    const auto put = [&](auto view) {
      for (std::size_t i = 0; i < view.size(); ++i) wide.view<float>()[i] = static_cast<float>(view[i]);
    };
    if (a.dtype() == DType::f16)
      put(a.view<F16>());
    else
      put(a.view<BF16>());
    return wide;
  }

  /// The launches of SIP 0 that `work` makes.
  std::vector<LlamaRow> rows_of(const std::function<void()>& work) {
    const std::size_t before = torch_.traces().size();
    work();
    std::vector<LlamaRow> rows;
    const auto traces = torch_.traces();
    for (std::size_t i = before; i < traces.size(); ++i) {
      const runtime::Trace& t = traces[i];
      if (t.phase != runtime::Phase::launch || t.sip != 0) continue;
      const auto figures = report_.figures(runtime::Handle(torch_.engine().requests()[t.request]));
      // What no operation of nn made is between SIPs.
      const bool collective = t.note.empty() && t.name != "attention";
      rows.push_back(
          {t.name, t.total, figures.lower_bound, limit_of(figures.bound_by), collective, {}, t.pe_exec});
    }
    return rows;
  }

  /// Steps do the same launches.
  static std::vector<LlamaRow> average(std::vector<LlamaRow> rows, int steps) {
    const std::size_t each = rows.size() / static_cast<std::size_t>(steps);
    for (std::size_t i = each; i < rows.size(); ++i)
      rows[i % each].time += rows[i].time, rows[i % each].work += rows[i].work;
    rows.resize(each);
    for (auto& row : rows)
      row.time = Time::from_ns(row.time.ns() / steps), row.work = Time::from_ns(row.work.ns() / steps);
    return rows;
  }

  Torch& torch_;
  const LlamaModel& model_;
  const nn::DecoderRun run_;
  BenchReport& report_;
  const int ranks_;
  std::vector<std::unique_ptr<nn::DecoderLayer>> layers_;
  std::vector<Tensor> inputs_, results_;
  nn::DecoderWeights weights_;
  NdArray keys_, values_;
};

// ── beside measured times ──

/// The operation and its dimensions as baselines name them; empty: they have none.
std::pair<std::string, std::string> measured_as(const LlamaRow& row, const LlamaModel& model,
                                                const nn::DecoderRun& run, int ranks) {
  const nn::DecoderShape& s = model.shape;
  const std::int64_t q = s.heads / ranks, kv = s.kv_heads / ranks, ffn = s.ffn / ranks, m = run.tokens();
  const auto gemm = [](std::int64_t a, std::int64_t b, std::int64_t c) {
    return std::pair(std::string("gemm"), fmt::format("{}x{}x{}", a, b, c));
  };
  if (row.name == "qkv") return gemm(m, s.hidden, (q + 2 * kv) * s.head_dim);
  if (row.name == "o") return gemm(m, q * s.head_dim, s.hidden);
  if (row.name == "gate_up") return gemm(m, s.hidden, 2 * ffn);
  if (row.name == "down") return gemm(m, ffn, s.hidden);
  if (row.name == "lm_head") return gemm(run.batch, s.hidden, model.vocab / ranks);
  if (row.name == "attention_norm" || row.name == "ffn_norm")
    return {"rms_norm", fmt::format("{}x{}", m, s.hidden)};
  if (row.name != "attention") return {};
  const auto heads = fmt::format("hq{}_hk{}_d{}", q, kv, s.head_dim);
  if (!run.prefill) return {"sdpa", fmt::format("b{}_s{}_{}", run.batch, run.context, heads)};
  if (run.batch != 1) return {};
  return {"sdpa_causal", fmt::format("s{}_{}", run.context, heads)};
}

// ── the table ──

struct LlamaTimes {
  Time layer, between_sips, head, model;
};

Time total(const std::vector<LlamaRow>& rows) {
  Time sum;
  for (const auto& row : rows) sum += row.time;
  return sum;
}

std::string text_of(const LlamaRow& row, Time all, bool beside) {
  std::string text =
      fmt::format("{:<22} {:>11.3f} {:>6.1f} % {:>11.3f}  {:<8}", row.name, row.time.ns() / 1e3,
                  100 * row.time.ns() / all.ns(), row.bound.ns() / 1e3, row.limit);
  if (beside && row.beside_us)
    text += fmt::format(" {:>10.3f} {:>7.2f} ×", *row.beside_us, *row.beside_us * 1e3 / row.work.ns());
  while (text.ends_with(' ')) text.pop_back();
  return text + "\n";
}

std::string table_of(const std::vector<LlamaRow>& rows, const std::string& beside) {
  std::string text =
      fmt::format("{:<22} {:>11} {:>8} {:>11}  {:<8}", "operation", "us", "share", "bound us", "limit");
  if (!beside.empty()) text += fmt::format(" {:>10} {:>9}", beside + " us", "faster");
  while (text.ends_with(' ')) text.pop_back();
  text += "\n";
  const Time all = total(rows);
  for (const auto& row : rows) text += text_of(row, all, !beside.empty());
  return text;
}

struct LlamaFigures {
  double tokens_per_s, mfu, hbm, collectives;
};

LlamaFigures figures_of(const LlamaModel& model, const nn::DecoderRun& run, const LlamaTimes& times,
                        int ranks, const topology::Machine& machine) {
  const double seconds = times.model.ns() * 1e-9;
  const double pes = static_cast<double>(machine.cubes()) * machine.pes() * ranks;
  const double macs = static_cast<double>(model.layers) * model.layer_macs(run) + model.head_macs(run);
  const double slice = machine.at("cube.hbm").bandwidth("hbm_to_router_bw_gbs").gbs() * 1e9;
  // Every weight is read once, but of the embedding a few rows; in decode the cache too.
  const double bytes =
      static_cast<double>(model.weight_bytes(run) - model.vocab * model.shape.hidden * itemsize(run.dtype)) +
      (run.prefill ? 0.0 : static_cast<double>(model.cache_bytes(run)));
  return {static_cast<double>(run.tokens()) / seconds,
          2 * macs / seconds / (machine.pe_peak_tflops(run.dtype) * 1e12 * pes),
          bytes / seconds / (slice * pes), times.between_sips.ns() / times.layer.ns()};
}

/// The operations of a layer that were measured elsewhere: their times there, and here on the PEs; neither with its launch.
void add_beside(BenchReport& report, const std::vector<LlamaRow>& layer) {
  double there = 0, here = 0;
  for (const auto& row : layer)
    if (row.beside_us) there += *row.beside_us * 1e3, here += row.work.ns();
  if (there == 0) return;
  report.result("beside_ns", there);
  report.result("same_operations_ns", here);
  report.result("faster", there / here);
}

std::string memory_text(const LlamaMemory& m, std::int64_t copies) {
  const auto gib = [](std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); };
  return fmt::format("memory of a SIP: {:.1f} GiB of weights{}, {:.1f} GiB of cache, of {:.0f} GiB",
                     gib(m.weights), copies > 1 ? fmt::format(" × {} (a copy for each cube)", copies) : "",
                     gib(m.cache), gib(m.capacity));
}

void say(BenchReport& report, const LlamaModel& model, const nn::DecoderRun& run, int ranks,
         const std::vector<LlamaRow>& layer, const std::vector<LlamaRow>& head, const LlamaMemory& memory,
         std::int64_t copies, const std::optional<Baseline>& baseline, const topology::Machine& machine) {
  const std::string beside = baseline ? baseline->name() : "";
  LlamaTimes times{total(layer), {}, total(head), {}};
  for (const auto& row : layer)
    if (row.collective) times.between_sips += row.time;
  times.model = Time::from_ns(static_cast<double>(model.layers) * times.layer.ns()) + times.head;
  const LlamaFigures f = figures_of(model, run, times, ranks, machine);
  for (std::size_t i = 0; i < layer.size(); ++i)
    report.result(fmt::format("{:02}_{}_ns", i, layer[i].name), layer[i].time.ns());
  add_beside(report, layer);
  report.result("layer_ns", times.layer.ns());
  report.result("head_ns", times.head.ns());
  report.result("model_ns", times.model.ns());
  report.result("tokens_per_s", f.tokens_per_s);
  report.result("mfu", f.mfu);
  report.result("hbm_share", f.hbm);
  report.result("collective_share", f.collectives);
  report.result("weight_bytes", memory.weights * copies);
  report.result("cache_bytes", memory.cache);
  report.result("capacity_bytes", memory.capacity);
  report.line(fmt::format(
      "{}{}{}\n{}\nA SIP's launches follow each other: the rows add up to the layer's time. Making tensors "
      "is "
      "not "
      "counted.\nlayer {:.3f} us, {:.1f} % between SIPs; {} layers and the head {:.3f} us: {:.1f} tokens/s, "
      "MFU {:.1f} %, HBM {:.1f} %\n"
      "llama {} {} {} batch {} context {} on {} SIPs: {}",
      table_of(layer, beside), table_of(head, beside), baseline ? baseline->legend() + "\n" : "",
      memory_text(memory, copies), times.layer.ns() / 1e3, 100 * f.collectives, model.layers,
      times.model.ns() / 1e3, f.tokens_per_s, 100 * f.mfu, 100 * f.hbm, model.name, to_string(run.dtype),
      run.prefill ? "prefill" : "decode", run.batch, run.context, ranks, report.verdict()));
}

void run_llama(Torch& torch, const Options& options, BenchReport& report) {
  const LlamaModel model = model_of(options);
  const int ranks = dist::get_world_size(torch);
  nn::DecoderRun run{.prefill = options.text("phase") == "prefill",
                     .batch = options.integer("batch"),
                     .context = options.integer("context"),
                     .dtype = options.dtype("dtype")};
  check_options(model, ranks, report);
  check_memory(model, run, ranks, torch.machine());
  const LlamaMemory memory = memory_of(model, run, ranks, torch.machine());
  run.weights_once = !memory.fits(torch.machine().cubes());
  std::optional<Baseline> baseline;
  if (!options.text("beside").empty()) baseline = Baseline::load(options.text("beside"));
  LlamaBench bench(torch, model, run, report);
  auto layer = bench.layer(static_cast<int>(options.integer("steps")));
  auto head = bench.head();
  for (auto* rows : {&layer, &head})
    for (auto& row : *rows)
      if (baseline)
        if (const auto [op, dims] = measured_as(row, model, run, ranks); !op.empty())
          row.beside_us = baseline->work_us(op, dims);
  say(report, model, run, ranks, layer, head, memory, bench.copies_weights() ? torch.machine().cubes() : 1,
      baseline, torch.machine());
}

}  // namespace

Bench llama() {
  const Range extent{1, 1 << 20};
  return {
      "llama",
      "a decoder layer of Llama, tensor parallel over all SIPs: where its time goes, and tokens/s of the "
      "model",
      {Param::choice("model", "llama3-8b", {"llama3-8b", "llama3-70b", "llama3-405b", "custom"},
                     "dimensions as published; custom: as the options say"),
       Param::choice("phase", "decode", {"prefill", "decode"},
                     "prefill: all tokens of the context at once; decode: one token of each sequence"),
       Param::integer("batch", 1, extent, "sequences"),
       Param::integer("context", 2048, {1, 1 << 24}, "tokens of a sequence; in decode with the new one"),
       Param::integer("steps", 1, {1, 1000},
                      "steps, each when the one before it has ended; in decode at the same context"),
       Param::choice("dtype", "bf16", {"bf16", "f16"}, "of weights, activations and cache"),
       Param::integer("hidden", 256, extent, "width of the model"),
       Param::integer("ffn", 512, extent, "width of the hidden layer; a multiple of the SIPs"),
       Param::integer("heads", 8, extent, "query heads; a multiple of kv_heads and of the SIPs"),
       Param::integer("kv_heads", 4, extent, "K/V heads; a multiple of the SIPs"),
       Param::integer("head_dim", 32, {2, 1024}, "width of a head; even"),
       Param::integer("layers", 2, extent, "layers"),
       Param::integer("vocab", 1024, {1, 1 << 24}, "rows of the embedding"),
       Baseline::option(
           "measured times to stand beside the simulated ones: h200, or a CSV file (see data/baselines)")},
      run_llama,
      {{{"hidden", "ffn", "heads", "kv_heads", "head_dim", "layers", "vocab"}, "model", {"custom"}}},
      {"*_ns", "faster", "tokens_per_s", "mfu", "hbm_share", "collective_share", "weight_bytes",
       "cache_bytes", "capacity_bytes"}};
}

}  // namespace kernbench::bench
