// The benches that ship, one file each in benches/.
#pragma once

#include "kernbench/bench.hpp"

namespace kernbench::bench {

Bench matmul_composite();
Bench gpt3_qkv();
Bench va_offset_verify();

}  // namespace kernbench::bench
