// Prints numbers that functions decide, as bits: tables of angles, a decoder layer as a plain program computes it, and every
// function of a tile. libm_test.cpp runs it with two C libraries.
#include <cstdio>
#include <numbers>
#include <vector>

#include "data/numerics/elementwise.hpp"
#include "kernbench/decoder.hpp"
#include "kernbench/fixed_math.hpp"
#include "kernbench/ndarray.hpp"
#include "kernbench/nn.hpp"
#include "kernbench/torch.hpp"

namespace kernbench {
namespace {

NdArray waves(const Shape& shape, float step) {
  NdArray array(DType::f32, shape);
  float x = -3;
  for (float& e : array.view<float>()) e = x, x = x > 3 ? x - 6 : x + step;
  return array;
}

void print(const char* name, const NdArray& array) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const std::byte b : array.bytes()) hash = (hash ^ static_cast<std::uint64_t>(b)) * 0x100000001b3;
  std::printf("%s %016llx\n", name, static_cast<unsigned long long>(hash));
}

void print_functions() {
  const NdArray x = waves({4000}, 0.00151F);
  for (const MathOpInfo& op : math_ops())
    if (op.kind == MathKind::elementwise && op.operands == 1 && op.result == ResultRule::real)
      print(op.name.data(), data::elementwise(op.op, std::vector<data::ConstArray>{x}));
}

void print_tables() {
  Torch torch(topology::load_machine("small", {}, topology::builtin_components()));
  const nn::RopeTables tables = nn::rope_tables(torch, 300, 64, DPPolicy{}, 500000.0, 100'000);
  print("cosines", tables.cos.numpy());
  print("sines", tables.sin.numpy());
}

void print_layer() {
  nn::DecoderShape s;
  s.hidden = 32, s.ffn = 64, s.heads = 4, s.kv_heads = 2, s.head_dim = 8;
  const auto matrix = [](std::int64_t rows, std::int64_t cols) { return waves({rows, cols}, 0.0173F); };
  const nn::DecoderWeights w{matrix(32, 32), matrix(32, 16),    matrix(32, 16),
                             matrix(32, 32), matrix(32, 64),    matrix(32, 64),
                             matrix(64, 32), waves({32}, 0.1F), waves({32}, 0.2F)};
  nn::DecoderRun run;
  run.prefill = true, run.batch = 1, run.context = 16;
  print("layer", nn::plain_decoder_layer(s, run, w, matrix(16, 32), NdArray(), NdArray()));
}

}  // namespace
}  // namespace kernbench

int main() {
  kernbench::print_functions();
  kernbench::print_tables();
  kernbench::print_layer();
}
