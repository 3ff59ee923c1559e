// Runs the benchmark cases under Google Benchmark; `bench/run.py` sets them beside their SimPy peers. A
// case's name is workload/engine, its label the checksum.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "workload.hpp"

namespace {

using kernbench::bench::Result;

void add(const char* name, Result (*run)()) {
  benchmark::RegisterBenchmark(name, [run](benchmark::State& state) {
    Result last;
    for (auto _ : state) {
      last = run();
      state.SetIterationTime(last.seconds);
    }
    state.SetItemsProcessed(last.units * static_cast<std::int64_t>(state.iterations()));
    state.SetLabel(fmt::format("{}", last.checksum));
  })->UseManualTime();
}

}  // namespace

int main(int argc, char** argv) {
  namespace cases = kernbench::bench;
  add("hold/kernbench", cases::hold);
  add("hold/bare", cases::hold_bare);
  add("hold/heap", cases::hold_heap);
  add("pipeline/kernbench", cases::pipeline);
  add("pipeline/bare", cases::pipeline_bare);
  add("ring/kernbench", cases::ring);
  add("ring/bare", cases::ring_bare);
  add("recording/kernbench", cases::recording);
  add("recording/hold", cases::hold);
  add("gemm/kernbench", cases::gemm);
  add("gemm/replay", cases::gemm_replay);
  add("gemm/openblas", cases::gemm_openblas);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
