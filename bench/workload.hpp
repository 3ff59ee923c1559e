// What every benchmark case reports. Cases are written as functions that build a model, run it and return
// this.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>

namespace kernbench::bench {

struct Result {
  std::int64_t units = 0;      // what the case counts: timeouts, hops, messages
  std::uint64_t checksum = 0;  // made of the times of all units; equal for all engines
  double seconds = 0;  // CPU time of the run, without building the model, unless the case says otherwise
};

/// CPU time, so that other work on the machine does not count. For cases that run on one thread.
template <class Body>
double seconds_of(Body&& body) {
  const auto start = std::clock();
  body();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

/// Seconds on the clock on the wall: what a user waits, on as many cores as the work uses.
template <class Body>
double wall_seconds_of(Body&& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The pseudo-random numbers of all engines, 31 bits each.
class Lcg {
 public:
  explicit Lcg(std::uint32_t seed) : x_(seed) {}
  std::uint32_t next() { return x_ = (x_ * 1103515245U + 12345U) & 0x7fffffffU; }

 private:
  std::uint32_t x_;
};

// KernBench: components as they are written in the simulator, with processes and building blocks.
Result hold();
Result pipeline();
Result ring();

// The ceiling: plain handlers on the same event queue, nothing else.
Result hold_bare();
Result pipeline_bare();
Result ring_bare();

// Recording: kernels into programs. The unit is a command.
Result recording();

// The op log, and a plain array. The unit is a record.
Result op_log();
Result op_log_array();

// Numbers: a matrix product, alone and as the replay of a composite command, and the BLAS they are measured by. The
// unit is a multiply-add.
Result gemm();
Result gemm_replay();
Result gemm_openblas();

// A whole bench: gpt3-qkv without data, and OpenBLAS computing its products. The unit is a multiply-add.
Result qkv();
Result qkv_openblas();

// A whole bench with numbers verified: all-reduce over PEs. The unit is a message.
Result all_reduce_ring(int sips);  // over all PEs
Result all_reduce_tree(int sips);

// A PE: a composite product streamed tile by tile. The unit is a record.
Result tile_pipeline();
std::size_t bytes_per_record();  // in the op log

// The fabric: the DMA engines of all PEs read from memory, packet by packet or, where that changes nothing,
// in one piece (`runs`). The unit is a packet over a link.
Result stream(int sips, bool runs);  // each PE from its own slice
Result neighbour(bool runs);         // of one SIP, each from a slice of the next cube: connections are shared
Result host_write(bool runs);        // the host writes 128 equal parts of a tensor
std::size_t bytes_per_packet();      // in flight

// An alternative, for comparison: the handlers of `hold_bare` on a binary heap.
Result hold_heap();

}  // namespace kernbench::bench
