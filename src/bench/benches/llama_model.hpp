// The Llama models as published: their dimensions, and what they need.
#pragma once

#include <cstdint>
#include <string>

#include "kernbench/decoder.hpp"

namespace kernbench::bench {

struct LlamaModel {
  std::string name;
  nn::DecoderShape shape;
  std::int64_t layers = 1, vocab = 1;

  std::int64_t layer_weights() const;  // numbers, not bytes
  std::int64_t weights() const;        // with embedding and head
  /// Multiply-adds of one layer, of the head.
  double layer_macs(const nn::DecoderRun& run) const;
  double head_macs(const nn::DecoderRun& run) const;
  /// K and V of all layers, bytes.
  std::int64_t cache_bytes(const nn::DecoderRun& run) const;
  std::int64_t weight_bytes(const nn::DecoderRun& run) const { return weights() * itemsize(run.dtype); }
};

/// llama3-8b, llama3-70b, llama3-405b.
LlamaModel llama_model(const std::string& name);

/// What a SIP has to hold, and has.
struct LlamaMemory {
  std::int64_t weights, cache, capacity;
  bool fits(std::int64_t copies = 1) const { return weights * copies + cache <= capacity; }
};
LlamaMemory memory_of(const LlamaModel& model, const nn::DecoderRun& run, int ranks,
                      const topology::Machine& machine);
/// InputError (`llama.memory`) that says what would fit, if it does not.
void check_memory(const LlamaModel& model, const nn::DecoderRun& run, int ranks,
                  const topology::Machine& machine);

}  // namespace kernbench::bench
