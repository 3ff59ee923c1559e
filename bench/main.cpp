// Runs the benchmark cases under Google Benchmark; `bench/run.py` sets them beside their SimPy peers. A
// case's name is workload/engine, its label the checksum.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <string>

#include "base/heap.hpp"
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
  kernbench::prefer_huge_pages();  // as the program does
  add("hold/kernbench", cases::hold);
  add("hold/bare", cases::hold_bare);
  add("hold/heap", cases::hold_heap);
  add("pipeline/kernbench", cases::pipeline);
  add("pipeline/bare", cases::pipeline_bare);
  add("ring/kernbench", cases::ring);
  add("ring/bare", cases::ring_bare);
  add("recording/kernbench", cases::recording);
  add("recording/hold", cases::hold);
  add("op-log/kernbench", cases::op_log);
  add("op-log/array", cases::op_log_array);
  add("tile-pipeline/kernbench", cases::tile_pipeline);
  add("stream/packets", [] { return cases::stream(1, false); });
  add("stream/runs", [] { return cases::stream(1, true); });
  add("neighbour/packets", [] { return cases::neighbour(false); });
  add("neighbour/runs", [] { return cases::neighbour(true); });
  add("host_write/packets", [] { return cases::host_write(false); });
  add("host_write/runs", [] { return cases::host_write(true); });
  add("packets_at/1", [] { return cases::stream(1, false); });
  add("packets_at/2", [] { return cases::stream(2, false); });
  add("packets_at/4", [] { return cases::stream(4, false); });
  add("packets_at/8", [] { return cases::stream(8, false); });
  add("packets_at/16", [] { return cases::stream(16, false); });
  add("runs_at/1", [] { return cases::stream(1, true); });
  add("runs_at/2", [] { return cases::stream(2, true); });
  add("runs_at/4", [] { return cases::stream(4, true); });
  add("runs_at/8", [] { return cases::stream(8, true); });
  add("runs_at/16", [] { return cases::stream(16, true); });
  add("gemm/kernbench", cases::gemm);
  add("gemm/replay", cases::gemm_replay);
  add("gemm/openblas", cases::gemm_openblas);
  add("qkv/kernbench", cases::qkv);
  add("qkv/openblas", cases::qkv_openblas);
  add("all_reduce_ring/2", [] { return cases::all_reduce_ring(2); });
  add("all_reduce_ring/16", [] { return cases::all_reduce_ring(16); });
  add("all_reduce_tree/2", [] { return cases::all_reduce_tree(2); });
  add("all_reduce_tree/16", [] { return cases::all_reduce_tree(16); });
  benchmark::AddCustomContext("bytes_per_packet", std::to_string(cases::bytes_per_packet()));
  benchmark::AddCustomContext("bytes_per_record", std::to_string(cases::bytes_per_record()));
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
