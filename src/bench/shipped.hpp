// The benches that ship, one file each in benches/.
#pragma once

#include "kernbench/bench.hpp"

namespace kernbench::bench {

Bench ccl_allreduce();
Bench ccl_neighbour();
Bench matmul_composite();
Bench gpt3_qkv();
Bench milestone_gqa_llama70b();
Bench va_offset_verify();
Bench tp_mlp();
Bench llama();
Bench traffic();
Bench memory();

}  // namespace kernbench::bench
