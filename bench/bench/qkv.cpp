// gpt3-qkv without data, from its options to its result, beside the sgemm of OpenBLAS that computes the same three
// products on one thread. The unit is a multiply-add.
#include <vector>

#include "bench/run.hpp"
#include "blas.hpp"
#include "workload.hpp"

namespace kernbench::bench {
namespace {

constexpr int kTokens = 32, kModel = 12288;
constexpr std::int64_t kMacs = std::int64_t{3} * kTokens * kModel * kModel;

}  // namespace

Result qkv() {
  const Registry registry = builtin_registry();
  const Bench& bench = registry.benches.at("gpt3-qkv");
  const auto machine = topology::load_machine("default", {}, registry.components);
  std::uint64_t hash = 0;
  const double seconds = seconds_of([&] { hash = run(bench, bench.read_options({}), machine).hash; });
  return {kMacs, hash, seconds};
}

/// One weight matrix stands for all three: it is far larger than any cache, so each product reads it from memory.
Result qkv_openblas() {
  const std::vector<float> x(std::size_t{kTokens} * kModel, 0.5F),
      weights(std::size_t{kModel} * kModel, 0.25F);
  std::vector<float> y(std::size_t{kTokens} * kModel);
  openblas_sgemm(1, 1, 1, x.data(), weights.data(), y.data());  // loads it
  const double seconds = seconds_of([&] {
    for (int i = 0; i < 3; ++i) openblas_sgemm(kTokens, kModel, kModel, x.data(), weights.data(), y.data());
  });
  return {kMacs, 0, seconds};
}

}  // namespace kernbench::bench
