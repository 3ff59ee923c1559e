#include "kernbench/decoder.hpp"

#include "nn/nn_world.hpp"

namespace kernbench::nn::decoder_test {
namespace {

using dist::get_world_size;

NdArray numbers(const Shape& shape, unsigned seed, double scale) {
  NdArray array = random_array(shape, f32, seed);
  for (float& e : array.view<float>()) e = static_cast<float>(BF16(e * static_cast<float>(scale)));
  return array;
}

DecoderWeights weights_of(const DecoderShape& s) {
  const std::int64_t q = s.heads * s.head_dim, kv = s.kv_heads * s.head_dim;
  const auto matrix = [](std::int64_t rows, std::int64_t cols, unsigned seed) {
    return numbers({rows, cols}, seed, 1.7 / std::sqrt(static_cast<double>(rows)));
  };
  return {matrix(s.hidden, q, 1),     matrix(s.hidden, kv, 2),    matrix(s.hidden, kv, 3),
          matrix(q, s.hidden, 4),     matrix(s.hidden, s.ffn, 5), matrix(s.hidden, s.ffn, 6),
          matrix(s.ffn, s.hidden, 7), numbers({s.hidden}, 8, 1),  numbers({s.hidden}, 9, 1)};
}

struct LayerCase {
  int sips;
  DecoderShape shape;
  DecoderRun run;
  bool grid = false;
};

void expect_layer(const LayerCase& c) {
  SCOPED_TRACE(fmt::format("{} SIPs, {}, batch {}, context {}", c.sips, c.run.prefill ? "prefill" : "decode",
                           c.run.batch, c.run.context));
  Torch torch(small({fmt::format("system.sips.count={}", c.sips)}));
  const DecoderWeights weights = weights_of(c.shape);
  const NdArray x = numbers({c.run.tokens(), c.shape.hidden}, 10, 1);
  const Shape cache{c.run.batch, c.shape.kv_heads, c.run.context, c.shape.head_dim};
  const NdArray k = numbers(cache, 11, 1), v = numbers(cache, 12, 1);
  std::vector<Tensor> results(static_cast<std::size_t>(c.sips));
  dist::init_process_group(torch);
  tp::initialize_model_parallel(torch, c.sips);
  spawn(
      torch,
      [&](int rank) {
        torch.ahbm.set_device(rank);
        DecoderLayer layer(torch, c.shape, c.run);
        EXPECT_EQ(layer.copies_weights(), c.grid);
        layer.load(weights);
        if (!c.run.prefill) layer.load_cache(k, v);
        NdArray rounded(c.run.dtype, x.shape());
        with_elements(rounded, [&](auto view) {
          for (std::size_t i = 0; i < view.size(); ++i)
            view[i] = std::decay_t<decltype(view[i])>(x.view<float>()[i]);
        });
        results[static_cast<std::size_t>(rank)] =
            layer.forward(torch.from_numpy(rounded, layer.input(), "x"));
      },
      c.sips);
  const NdArray first = results.front().numpy();
  EXPECT_LT(worst(first, plain(plain_decoder_layer(c.shape, c.run, weights, x, k, v))),
            c.run.dtype == bf16 ? 5e-2 : 1e-2);
  for (const Tensor& other : results) EXPECT_EQ(other.numpy(), first);
  EXPECT_TRUE(torch.hazards().empty());
}

constexpr DecoderShape kTiny{.hidden = 96, .ffn = 160, .heads = 8, .kv_heads = 4, .head_dim = 32};

TEST(Decoder, DecodesOverSips) {
  for (const int sips : {1, 2, 4})
    for (const std::int64_t batch : {1, 5})
      expect_layer({sips, kTiny, {.batch = batch, .context = 77, .dtype = f16}});
}

TEST(Decoder, PrefillsOverSips) {
  for (const int sips : {1, 2, 4})
    for (const std::int64_t batch : {1, 5})
      expect_layer(
          {sips, kTiny, {.prefill = true, .batch = batch, .context = batch == 1 ? 37 : 11, .dtype = f16}});
}

// 256 tokens on 4 cubes: every cube has 64 of them, and a copy of the weights.
TEST(Decoder, ManyTokensLieOverCubesAndPes) {
  for (const int sips : {1, 2})
    expect_layer({sips, kTiny, {.prefill = true, .batch = 1, .context = 256, .dtype = f16}, true});
  expect_layer({1, kTiny, {.prefill = true, .batch = 1, .context = 128, .weights_once = true}, false});
}

TEST(Decoder, ComputesInBf16) { expect_layer({2, kTiny, {.batch = 3, .context = 130, .dtype = bf16}}); }

TEST(Decoder, HeadsDivideByRanks) {
  Torch torch(small({"system.sips.count=3"}));
  tp::initialize_model_parallel(torch, 3);
  EXPECT_THAT(complaint([&] { DecoderLayer(torch, kTiny, {}); }),
              HasSubstr("heads (8) must be divisible by TP world size (3)"));
}

}  // namespace
}  // namespace kernbench::nn::decoder_test
