#include "bench/benches/llama_model.hpp"

#include <fmt/format.h>

#include "kernbench/error.hpp"

namespace kernbench::bench {
namespace {

double gib(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

/// The largest number up to `most` for which it fits, or 0.
template <class Fits>
std::int64_t largest(std::int64_t most, Fits fits) {
  std::int64_t low = 0, high = most;
  while (low < high) {
    const std::int64_t middle = low + (high - low + 1) / 2;
    if (fits(middle))
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

std::string what_would_fit(const LlamaModel& model, const nn::DecoderRun& run, int ranks,
                           const topology::Machine& machine) {
  const auto with = [&](std::int64_t batch, std::int64_t context) {
    nn::DecoderRun other = run;
    other.batch = batch, other.context = context;
    return memory_of(model, other, ranks, machine).fits();
  };
  std::string text;
  const auto say = [&](const std::string& what) { text += (text.empty() ? "these fit: " : ", ") + what; };
  if (const auto batch = largest(run.batch, [&](std::int64_t b) { return with(b, run.context); }); batch > 0)
    say(fmt::format("batch {} at this context", batch));
  if (const auto n = largest(run.context, [&](std::int64_t c) { return with(run.batch, c); }); n > 0)
    say(fmt::format("context {} at this batch", n));
  for (int more = ranks + 1; more <= model.shape.kv_heads; ++more)
    if (model.shape.kv_heads % more == 0 && memory_of(model, run, more, machine).fits()) {
      say(fmt::format("{} SIPs (--set system.sips.count={})", more, more));
      break;
    }
  return text.empty() ? "a machine with more cube.hbm.hbm_total_gb_per_cube would hold it" : text;
}

}  // namespace

std::int64_t LlamaModel::layer_weights() const {
  const std::int64_t q = shape.heads * shape.head_dim, kv = shape.kv_heads * shape.head_dim;
  return shape.hidden * (2 * q + 2 * kv) + 3 * shape.hidden * shape.ffn + 2 * shape.hidden;
}

std::int64_t LlamaModel::weights() const {
  return layers * layer_weights() + 2 * vocab * shape.hidden + shape.hidden;
}

double LlamaModel::layer_macs(const nn::DecoderRun& run) const {
  const double products = static_cast<double>(layer_weights() - 2 * shape.hidden);
  const double context = static_cast<double>(run.context);
  const double seen =
      run.prefill ? context * (context + 1) / 2 : context;  // keys, by all queries of a sequence
  return static_cast<double>(run.tokens()) * products +
         2.0 * static_cast<double>(run.batch * shape.heads * shape.head_dim) * seen;
}

double LlamaModel::head_macs(const nn::DecoderRun& run) const {
  return static_cast<double>(run.batch * shape.hidden * vocab);
}

std::int64_t LlamaModel::cache_bytes(const nn::DecoderRun& run) const {
  return 2 * layers * run.batch * run.context * shape.kv_heads * shape.head_dim * itemsize(run.dtype);
}

LlamaModel llama_model(const std::string& name) {
  if (name == "llama3-8b") return {name, {.hidden = 4096, .ffn = 14336, .heads = 32}, 32, 128256};
  if (name == "llama3-70b") return {name, {.hidden = 8192, .ffn = 28672, .heads = 64}, 80, 128256};
  if (name == "llama3-405b") return {name, {.hidden = 16384, .ffn = 53248, .heads = 128}, 126, 128256};
  throw InputError({"llama.model", "", fmt::format("no model is called '{}'", name),
                    "llama3-8b, llama3-70b and llama3-405b are; or custom"});
}

LlamaMemory memory_of(const LlamaModel& model, const nn::DecoderRun& run, int ranks,
                      const topology::Machine& machine) {
  const auto cube = machine.at("cube.hbm").bytes("hbm_total_gb_per_cube").count();
  return {model.weight_bytes(run) / ranks, model.cache_bytes(run) / ranks, machine.cubes() * cube};
}

void check_memory(const LlamaModel& model, const nn::DecoderRun& run, int ranks,
                  const topology::Machine& machine) {
  const LlamaMemory m = memory_of(model, run, ranks, machine);
  if (m.fits()) return;
  throw InputError(
      {"llama.memory", "",
       fmt::format("{} in {} at batch {}, context {} on {} SIPs: each has {:.0f} GiB, and would hold {:.0f} "
                   "GiB of weights and {:.0f} GiB of cache",
                   model.name, to_string(run.dtype), run.batch, run.context, ranks, gib(m.capacity),
                   gib(m.weights), gib(m.cache)),
       what_would_fit(model, run, ranks, machine)});
}

}  // namespace kernbench::bench
