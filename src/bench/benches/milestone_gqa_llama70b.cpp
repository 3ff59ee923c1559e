// milestone-gqa-llama70b: attention with grouped queries, in four panels.
//
// Validation scale: both mesh kernels over a line of PEs and a line of cubes, small enough to check every number. Headline
// scale: the attention of Llama-3-70B on all PEs of a SIP, for contexts as people use them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "base/json.hpp"
#include "base/new_file.hpp"
#include "base/parse.hpp"
#include "bench/baseline.hpp"
#include "bench/shipped.hpp"
#include "kernbench/attention.hpp"
#include "kernbench/distributed.hpp"
#include "kernbench/error.hpp"
#include "kernbench/reference.hpp"
#include "nn/attention_reference.hpp"

namespace kernbench::bench {
namespace {

using nlohmann::ordered_json;

struct GqaConfig {
  std::int64_t S_q_prefill, S_kv_per_rank, h_q, h_kv, d_head;
  std::int64_t n_ranks_single_user, n_ranks_multi_user;
  std::int64_t queries = 0;  // headline; 0: all of them in prefill, 1 in decode
};

/// A row of sweep.json.
struct GqaRow {
  std::string panel;
  std::int64_t n_ranks = 0;
  std::int64_t context = 0, batch = 1, queries = 0;  // headline
  double total_ns = 0, pe_exec_ns = 0;
  LaunchFigures figures;
  std::optional<bool> verified;
  double error = 0;
  std::optional<double> beside_us;  // measured on other hardware, without the launch
};

bool is_prefill(std::string_view panel) { return panel.ends_with("prefill"); }
bool is_single_user(std::string_view panel) { return panel.starts_with("single"); }

const std::vector<std::string> kPanels = {"single_user_prefill", "single_user_decode", "multi_user_prefill",
                                          "multi_user_decode"};

// ── comparing ──

constexpr double kTolerance = 1e-2;

/// The largest |got − expected|, and whether all are within rtol = atol = 1e-2.
void compare_with_plain(GqaRow& row, BenchReport& report, const NdArray& got, const NdArray& expected) {
  const auto a = nn::as_doubles(got), b = nn::as_doubles(expected);
  bool right = a.size() == b.size();
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    const double off = std::abs(a[i] - b[i]);
    right = right && off <= kTolerance + kTolerance * std::abs(b[i]);
    row.error = std::max(row.error, off);
  }
  row.verified = row.verified.value_or(true) && right;
  report.verified(right, right ? "" : fmt::format("{}: off by up to {:.3g}", row.panel, row.error));
}

/// (ranks, heads, S, d) as (1, heads, ranks · S, d): the keys of all ranks in a row.
NdArray along_sequence(const NdArray& a) {
  const auto ranks = a.shape()[0], heads = a.shape()[1], block = a.shape()[2] * a.shape()[3];
  NdArray out(a.dtype(), {1, heads, ranks * a.shape()[2], a.shape()[3]});
  const auto bytes = static_cast<std::size_t>(block * itemsize(a.dtype()));
  for (std::int64_t r = 0; r < ranks; ++r)
    for (std::int64_t h = 0; h < heads; ++h)
      std::ranges::copy(
          a.bytes().subspan(static_cast<std::size_t>(r * heads + h) * bytes, bytes),
          out.bytes().begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(h * ranks + r) * bytes));
  return out;
}

/// Part r of n equal parts of an array, as (1, heads, S, d).
NdArray part_of(const NdArray& a, std::int64_t r, const Shape& shape) {
  NdArray out(a.dtype(), shape);
  std::ranges::copy(a.bytes().subspan(static_cast<std::size_t>(r) * out.bytes().size(), out.bytes().size()),
                    out.bytes().begin());
  return out;
}

// ── validation: lines of ranks ──

/// How the ranks of a panel are joined, and where their tensors lie.
struct GqaLine {
  dist::QueueLaunch launch;
  DPPolicy split, everywhere;
  int axis = 0, mesh_width = 0;
};

GqaLine line_of(const Torch& torch, const std::string& panel, int ranks) {
  if (is_single_user(panel))
    return {{.name = panel, .topology = "intracube_ring"},
            {.pe = Split::row_wise, .num_cubes = 1, .num_pes = ranks},
            {.num_cubes = 1, .num_pes = ranks},
            0,
            0};
  const auto width = torch.machine().cube_mesh().x;
  const bool row = ranks <= width;
  return {{.name = panel,
           .topology = row ? "intercube_intersip" : "cube_line",
           .mapper = "pe0_per_cube",
           .group = torch.ahbm.cubes,
           .grid = Grid{torch.machine().pes(), ranks}},
          {.cube = Split::row_wise, .num_cubes = ranks, .num_pes = 1},
          {.num_cubes = ranks, .num_pes = 1},
          1,
          row ? 0 : width};
}

GqaRow run_line(Torch& torch, const GqaConfig& c, const std::string& panel, BenchReport& report) {
  const bool prefill = is_prefill(panel);
  const auto ranks = is_single_user(panel) ? c.n_ranks_single_user : c.n_ranks_multi_user;
  const auto s_q = prefill ? c.S_q_prefill : 1, q_blocks = prefill ? ranks : 1;
  const auto line = line_of(torch, panel, static_cast<int>(ranks));
  const Eighths q{{q_blocks * c.h_q * s_q, c.d_head}, 1};
  const Eighths k{{ranks * c.h_kv * c.S_kv_per_rank, c.d_head}, 2}, v{k.shape, 3};
  const Tensor tq = q.tensor(torch, DType::f16, prefill ? line.split : line.everywhere, "q");
  const Tensor tk = k.tensor(torch, DType::f16, line.split, "k"),
               tv = v.tensor(torch, DType::f16, line.split, "v");
  const Tensor o = torch.empty({ranks * c.h_q * s_q, c.d_head}, DType::f16, line.split, "o");
  const auto number = [](std::int64_t n) { return static_cast<int>(n); };
  const auto handle =
      dist::launch(torch, line.launch, prefill ? nn::attention_mesh_kv_kernel : nn::attention_mesh_mlo_kernel,
                   tq, tk, tv, o, number(s_q), number(c.S_kv_per_rank), number(c.h_q), number(c.h_kv),
                   number(c.d_head), number(ranks), line.axis, line.mesh_width);
  torch.wait(handle);
  GqaRow row{.panel = panel,
             .n_ranks = ranks,
             .total_ns = handle.trace().total_ns(),
             .pe_exec_ns = handle.trace().pe_exec_ns(),
             .figures = report.figures(handle)};
  if (!report.verify()) return row;
  const Shape block{ranks, c.h_kv, c.S_kv_per_rank, c.d_head}, queries{1, c.h_q, s_q, c.d_head};
  const auto keys = along_sequence(k.array(DType::f16).reshaped(block)),
             values = along_sequence(v.array(DType::f16).reshaped(block));
  const NdArray got = o.numpy(), all_q = q.array(DType::f16);
  for (std::int64_t r = 0; r < ranks; ++r)
    compare_with_plain(row, report, part_of(got, r, queries),
                       nn::plain_attention(part_of(all_q, prefill ? r : 0, queries), keys, values,
                                           {.threads = report.threads()}));
  return row;
}

// ── headline: a whole SIP ──

/// A tensor with numbers if they are asked for; else its content does not matter.
Tensor numbers_or_empty(Torch& torch, const Shape& shape, const DPPolicy& dp, std::uint64_t seed,
                        const char* name) {
  if (torch.has_data()) return Eighths{shape, seed}.tensor(torch, DType::f16, dp, name);
  return torch.empty(shape, DType::f16, dp, name);
}

/// Launches of a long prefill: commands of one must fit into memory.
std::int64_t parts_of_prefill(const GqaConfig& c, std::int64_t queries, std::int64_t context, int pes) {
  const double scores = static_cast<double>(c.h_q) * static_cast<double>(queries) *
                        (static_cast<double>(context) - 0.5 * static_cast<double>(queries));
  const double blocks = scores / (128 * 128) / pes;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(blocks / 4096)));
}

/// Begin of part i of n of the queries, so that each has about as much causal work. Query j sees `before` + j keys.
std::int64_t part_begin(std::int64_t queries, std::int64_t before, std::int64_t i, std::int64_t n) {
  const double b = static_cast<double>(before), q = static_cast<double>(queries);
  const double work = static_cast<double>(i) / static_cast<double>(n) * (2 * b + q) * q;  // = (2 b + j) j
  return i == n ? queries : static_cast<std::int64_t>(std::sqrt(b * b + work) - b) / 256 * 256;
}

void add_launch(GqaRow& row, const runtime::Handle& handle, BenchReport& report) {
  row.total_ns += handle.trace().total_ns(), row.pe_exec_ns += handle.trace().pe_exec_ns();
  const LaunchFigures more = report.figures(handle);
  LaunchFigures& sum = row.figures;
  sum.lower_bound += more.lower_bound, sum.matrix += more.matrix, sum.vector += more.vector,
      sum.hbm += more.hbm;
  for (const auto& [operation, time] : more.vector_by) sum.vector_by[operation] += time;
  sum.bound_by = more.bound_by, sum.engines = more.engines, sum.hbm_use = more.hbm_use,
  sum.link_use = more.link_use;
  sum.summary = more.summary;
}

GqaRow run_whole(Torch& torch, const GqaConfig& c, const std::string& panel, std::int64_t batch,
                 std::int64_t context, BenchReport& report) {
  const bool prefill = is_prefill(panel);
  const std::int64_t queries = c.queries > 0 ? c.queries : prefill ? context : 1;
  if (queries > context)
    throw InputError(
        {"param.value", "",
         fmt::format("the last {} tokens were asked for of a sequence that has {}", queries, context),
         "give queries=N with N at most the tokens of every context"});
  const Shape q_shape{batch, c.h_q, queries, c.d_head}, k_shape{batch, c.h_kv, context, c.d_head};
  const auto& machine = torch.machine();
  const auto keys =
      nn::attention_keys(machine, k_shape, prefill ? nn::KeyPlacement::copied : nn::KeyPlacement::shared);
  const Tensor q = numbers_or_empty(torch, q_shape, nn::attention_queries(machine, q_shape, c.h_kv), 1, "q");
  const Tensor k = numbers_or_empty(torch, k_shape, keys, 2, "k"),
               v = numbers_or_empty(torch, k_shape, keys, 3, "v");
  const Tensor o = torch.empty(q_shape, DType::f16, nn::attention_results(machine, q_shape, c.h_kv), "o");
  GqaRow row{.panel = panel,
             .n_ranks = machine.cubes() * machine.pes(),
             .context = context,
             .batch = batch,
             .queries = queries};
  const auto parts = prefill ? parts_of_prefill(c, queries, context, machine.cubes() * machine.pes()) : 1;
  for (std::int64_t i = 0; i < parts; ++i) {
    const nn::QueryRange part{part_begin(queries, context - queries, i, parts),
                              part_begin(queries, context - queries, i + 1, parts)};
    if (part.begin == part.end) continue;  // few queries: parts begin at multiples of 256
    nn::AttentionOptions options{.causal = prefill, .name = panel};
    if (part.end - part.begin < queries) options.queries = part;
    const auto handle = nn::attention_into(torch, o, q, k, v, options);
    torch.wait(handle);
    add_launch(row, handle, report);
  }
  if (report.verify())
    compare_with_plain(
        row, report, o.numpy(),
        nn::plain_attention(Eighths{q_shape, 1}.array(DType::f16), Eighths{k_shape, 2}.array(DType::f16),
                            Eighths{k_shape, 3}.array(DType::f16),
                            {.causal = prefill, .threads = report.threads()}));
  return row;
}

/// Where the baseline has these dimensions.
std::optional<double> measured_us(const Baseline& baseline, const GqaConfig& c, const GqaRow& row) {
  const auto heads = fmt::format("hq{}_hk{}_d{}", c.h_q, c.h_kv, c.d_head);
  if (row.queries != (is_prefill(row.panel) ? row.context : 1)) return {};
  if (!is_prefill(row.panel))
    return baseline.work_us("sdpa", fmt::format("b{}_s{}_{}", row.batch, row.context, heads));
  if (row.batch != 1) return {};
  return baseline.work_us("sdpa_causal", fmt::format("s{}_{}", row.context, heads));
}

// ── the file, and the table ──

ordered_json to_json(const GqaRow& row, bool headline) {
  const LaunchFigures& f = row.figures;
  ordered_json json{{"panel", row.panel}, {"n_ranks", row.n_ranks}};
  if (headline) json["context"] = row.context, json["batch"] = row.batch, json["queries"] = row.queries;
  json["total_ns"] = row.total_ns, json["pe_exec_ns"] = row.pe_exec_ns, json["latency_ns"] = row.total_ns;
  json["lower_bound_ns"] = f.lower_bound.ns(), json["bound_by"] = f.bound_by;
  json["work_ns"] = {{"matrix", f.matrix.ns()}, {"vector", f.vector.ns()}, {"hbm", f.hbm.ns()}};
  json["vector_work_ns"] = ordered_json::object();
  for (const auto& [operation, time] : f.vector_by) json["vector_work_ns"][operation] = time.ns();
  json["utilization"] = {
      {"gemm", f.engines.gemm},           {"math", f.engines.math}, {"dma_read", f.engines.dma_read},
      {"dma_write", f.engines.dma_write}, {"hbm", f.hbm_use},       {"link_max", f.link_use}};
  json["verified"] = row.verified ? ordered_json(*row.verified) : ordered_json();
  if (row.verified) json["max_error"] = row.error;
  if (row.beside_us) json["beside_us"] = *row.beside_us;
  json["op_log_summary"] = f.summary ? parse_json(trace::to_json(*f.summary)) : ordered_json();
  return json;
}

void write_sweep(const std::string& path, const GqaConfig& c, bool validation,
                 const std::vector<GqaRow>& rows) {
  ordered_json json{{"version", 1}, {"validation_scale", validation}, {"panels", ordered_json::array()}};
  for (const auto& panel : kPanels)
    if (std::ranges::any_of(rows, [&](const GqaRow& row) { return row.panel == panel; }))
      json["panels"].push_back(panel);
  json["config"] = {{"S_q_prefill", c.S_q_prefill},
                    {"S_kv_per_rank", c.S_kv_per_rank},
                    {"h_q", c.h_q},
                    {"h_kv", c.h_kv},
                    {"d_head", c.d_head},
                    {"n_ranks_single_user", c.n_ranks_single_user},
                    {"n_ranks_multi_user", c.n_ranks_multi_user}};
  json["rows"] = ordered_json::array();
  for (const auto& row : rows) json["rows"].push_back(to_json(row, !validation));
  NewFile file(path);
  file.write(dump_json(json, 2) + "\n");
  file.commit();
}

std::string line_of(const GqaRow& row, bool headline) {
  const LaunchFigures& f = row.figures;
  const auto us = [](Time t) { return t.ns() / 1e3; };
  const auto verdict = !row.verified   ? ""
                       : *row.verified ? fmt::format("  OK, off by {:.1e} at most", row.error)
                                       : "  FAIL";
  const auto beside = row.beside_us ? fmt::format(" {:>11.3f} {:>6.2f} ×", *row.beside_us,
                                                  *row.beside_us * 1e3 / row.pe_exec_ns)
                                    : "";
  const auto what = headline ? fmt::format("{:>6} {:>5}", row.context, row.batch)
                             : fmt::format("{:>6} {:>5}", row.n_ranks, "");
  return fmt::format("{:<20} {} {:>11.3f} {:>11.3f} {:>7.1f} % {:>10.3f} {:>10.3f} {:>10.3f}{}", row.panel,
                     what, row.pe_exec_ns / 1e3, us(f.lower_bound), 100 * f.lower_bound.ns() / row.pe_exec_ns,
                     us(f.matrix), us(f.vector), us(f.hbm), verdict + beside);
}

/// Which operations the vector unit of the longest row is busy with, the largest share first.
std::string vector_line(const std::vector<GqaRow>& rows) {
  const auto longest = std::ranges::max_element(rows, {}, &GqaRow::pe_exec_ns);
  if (longest == rows.end() || longest->figures.vector == Time()) return "";
  std::vector<std::pair<double, std::string>> shares;
  double others = 0;
  for (const auto& [operation, time] : longest->figures.vector_by)
    if (const double share = 100 * time.ns() / longest->figures.vector.ns(); share >= 1)
      shares.emplace_back(share, operation);
    else
      others += share;
  std::ranges::sort(shares, std::greater());
  shares.emplace_back(others, "others");
  std::string text = fmt::format("\nvector work of {} {}:", longest->panel,
                                 longest->context > 0 ? longest->context : longest->n_ranks);
  for (const auto& [share, operation] : shares) text += fmt::format(" {} {:.1f} %", operation, share);
  return text;
}

/// A run of one panel, as sweeps have it: names that do not depend on which.
void add_single(BenchReport& report, const GqaRow& row) {
  report.result("time_ns", row.pe_exec_ns);
  report.result("bound_ns", row.figures.lower_bound.ns());
  if (row.queries > 0)
    report.result("queries", row.queries);  // headline; with queries=0 the number that it stands for
  if (!row.beside_us) return;
  report.result("beside_ns", *row.beside_us * 1e3);
  report.result("faster", *row.beside_us * 1e3 / row.pe_exec_ns);
}

void say(BenchReport& report, const std::vector<GqaRow>& rows, bool validation, const std::string& path,
         const std::optional<Baseline>& baseline) {
  std::string text =
      fmt::format("milestone-gqa-llama70b {}, {} rows{}: {}\n", validation ? "validation" : "headline",
                  rows.size(), path.empty() ? "" : " in " + path, report.verdict());
  text += fmt::format("{:<20} {:>6} {:>5} {:>11} {:>11} {:>9} {:>10} {:>10} {:>10}", "panel",
                      validation ? "ranks" : "tokens", validation ? "" : "batch", "time us", "bound us",
                      "of bound", "matrix us", "vector us", "HBM us");
  if (baseline) text += fmt::format(" {:>11} {:>8}", baseline->name() + " us", "faster");
  if (rows.size() == 1) add_single(report, rows.front());
  for (const auto& row : rows) {
    text += "\n" + line_of(row, !validation);
    const auto name = validation ? row.panel : fmt::format("{}_{}_{}", row.panel, row.context, row.batch);
    report.result(name + "_ns", row.pe_exec_ns);
  }
  if (baseline) text += "\n" + baseline->legend();
  report.line(text + vector_line(rows));
}

// ── the bench ──

bool wants_validation(const Options& options) {
  const char* set = std::getenv("GQA_VALIDATION");
  if (options.text("scale") == "auto") return set != nullptr && std::string_view(set) == "1";
  return options.text("scale") == "validation";
}

/// `2048,8192`.
std::vector<std::int64_t> numbers_of(const Options& options, const char* name) {
  std::vector<std::int64_t> numbers;
  std::istringstream in(options.text(name));
  for (std::string word; std::getline(in, word, ',');) {
    const auto number = parse_whole<std::int64_t>(word);
    if (!number || *number < 1)
      throw InputError({"param.value", "",
                        fmt::format("{}={}: '{}' is no number above 0", name, options.text(name), word),
                        fmt::format("give numbers with commas between: {}=2048,8192", name)});
    numbers.push_back(*number);
  }
  return numbers;
}

std::vector<GqaRow> run_panels(Torch& torch, const GqaConfig& c, const Options& options, bool validation,
                               BenchReport& report) {
  std::vector<GqaRow> rows;
  if (validation) {
    for (const auto& panel : kPanels) rows.push_back(run_line(torch, c, panel, report));
    return rows;
  }
  for (const std::int64_t tokens : numbers_of(options, "contexts")) {
    for (const auto& panel : kPanels)
      for (const std::int64_t batch : numbers_of(options, "batches")) {
        if (is_single_user(panel) != (batch == 1)) continue;
        if (std::ranges::find(options.words("panels"), panel) == options.words("panels").end()) continue;
        rows.push_back(run_whole(torch, c, panel, batch, tokens, report));
      }
  }
  return rows;
}

void run_gqa(Torch& torch, const Options& options, BenchReport& report) {
  const bool validation = wants_validation(options);
  const auto& machine = torch.machine();
  const std::int64_t cubes = machine.cubes(), pes = machine.pes();
  GqaConfig c =
      validation
          ? GqaConfig{16, 16, 1, 1, 64, std::min<std::int64_t>(8, pes), std::min<std::int64_t>(4, cubes)}
          : GqaConfig{0, 0, 64, 8, 128, cubes * pes, cubes * pes};
  if (!validation) c.queries = options.integer("queries");
  const std::filesystem::path path = options.text("output");
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path());
  if (!path.empty()) check_writable(path.string());
  std::optional<Baseline> baseline;  // a wrong name is said before the panels run, which takes minutes
  if (!options.text("beside").empty()) baseline = Baseline::load(options.text("beside"));
  auto rows = run_panels(torch, c, options, validation, report);
  if (baseline)
    for (auto& row : rows) row.beside_us = measured_us(*baseline, c, row);
  if (!path.empty()) write_sweep(path.string(), c, validation, rows);
  say(report, rows, validation, path.string(), baseline);
}

}  // namespace

Bench milestone_gqa_llama70b() {
  return {"milestone-gqa-llama70b",
          "attention with grouped queries in four panels: lines of PEs and cubes (validation), Llama-3-70B "
          "on a SIP (headline)",
          {Param::choice("scale", "auto", {"auto", "validation", "headline"},
                         "validation: small, both mesh kernels; headline: 64 query and 8 K/V heads of 128 on "
                         "all PEs; auto: "
                         "validation if the environment has GQA_VALIDATION=1, else headline"),
           Param::text("contexts", "2048,8192", "headline: tokens of a sequence, with commas between"),
           Param::text("batches", "1,8,64", "headline: sequences, with commas between; 1 is the single user"),
           Param::integer(
               "queries", 0, {0, 1 << 20},
               "headline: the last tokens of a sequence, which attend to all of it; 0: the whole sequence in "
               "prefill, 1 in decode"),
           Param::words("panels", {"single_user_prefill", "single_user_decode", "multi_user_decode"}, kPanels,
                        "headline: which panels"),
           Baseline::option("headline: measured times to stand beside: "
                            "h200, or a CSV file (see data/baselines)"),
           Param::output_file("output", "benches/1H_milestone_output/gqa/sweep.json",
                              "where the rows are written; empty: nowhere")},
          run_gqa,
          {{{"contexts", "batches", "queries", "panels", "beside"}, "scale", {"auto", "headline"}}},
          {"*_ns", "queries", "faster"}};
}

}  // namespace kernbench::bench
