// Attention at real sizes, on small machines.
#include "nn/mesh_world.hpp"

namespace kernbench::nn::attention_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct AttentionShapes {
  std::int64_t batch = 1, h_q = 8, h_kv = 1, S_q = 100, S_kv = 100, d = 64;
  AttentionOptions options = {};
  KeyPlacement keys = KeyPlacement::copied;
  std::string cubes = "2x1";
};

struct AttentionRun {
  double error = 0;
  std::uint64_t macs = 0, gemms = 0;
  std::vector<std::string> hazards;
  NdArray result;
};

AttentionRun run_attention(const AttentionShapes& s) {
  Torch torch(machine(1, s.cubes), TorchOptions{.hazards = true});
  const Shape q_shape{s.batch, s.h_q, s.S_q, s.d}, k_shape{s.batch, s.h_kv, s.S_kv, s.d};
  const NdArray q = normal(q_shape, 1), k = normal(k_shape, 2), v = normal(k_shape, 3);
  const auto keys = attention_keys(torch.machine(), k_shape, s.keys);
  const Tensor tq = torch.from_numpy(q, attention_queries(torch.machine(), q_shape, s.h_kv), "q");
  const Tensor tk = torch.from_numpy(k, keys, "k"), tv = torch.from_numpy(v, keys, "v");
  const Tensor o = attention(torch, tq, tk, tv, s.options);
  AttentionRun run;
  run.result = o.numpy();
  auto lengths = s.options.kv_length;
  if (lengths.size() == 1) lengths.resize(static_cast<std::size_t>(s.batch), lengths.front());
  run.error = largest_difference(
      run.result,
      plain_attention(q, k, v, {.causal = s.options.causal, .scale = s.options.scale, .kv_length = lengths}));
  for (const auto& hazard : torch.hazards()) run.hazards.push_back(hazard.text);
  const auto gemm = torch.log().summary().total.gemm;
  run.macs = gemm.amount, run.gemms = gemm.count;
  return run;
}

void expect_right(const AttentionShapes& s, double most = 4e-3) {
  const auto run = run_attention(s);
  EXPECT_LT(run.error, most) << "S " << s.S_q << "/" << s.S_kv << " heads " << s.h_q << "/" << s.h_kv
                             << " batch " << s.batch << " causal " << s.options.causal;
  EXPECT_THAT(run.hazards, IsEmpty());
}

// Lengths that are no multiple of a tile or block: 8 heads make tiles of 16 positions, blocks have 128 keys.
TEST(Attention, IsRightForAnyLengths) {
  for (const bool causal : {false, true})
    for (const auto& [S_q, S_kv] :
         {std::pair<std::int64_t, std::int64_t>{17, 17}, {100, 100}, {131, 257}, {33, 400}})
      for (const auto keys : {KeyPlacement::copied, KeyPlacement::shared})
        expect_right({.S_q = S_q, .S_kv = S_kv, .options = {.causal = causal}, .keys = keys});
}

TEST(Attention, KeepsScoresInF32IfAsked) {
  const AttentionShapes plain{.S_q = 100, .S_kv = 300};
  auto precise = plain;
  precise.options.scores = f32;
  const double coarse = run_attention(plain).error, fine = run_attention(precise).error;
  EXPECT_LT(fine, 1e-3);
  EXPECT_LT(fine, coarse);
}

TEST(Attention, HasGroupedQueriesBatchesAndLengthsOfTheirOwn) {
  for (const auto& [h_q, h_kv] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {2, 2}, {6, 2}, {16, 8}})
    expect_right({.batch = 3,
                  .h_q = h_q,
                  .h_kv = h_kv,
                  .S_q = 140,
                  .S_kv = 150,
                  .options = {.causal = true, .kv_length = {140, 141, 150}}});
}

// One query: the PEs of a pair share its keys.
TEST(Attention, DecodesOverKeysThatPesShare) {
  for (const std::int64_t S_kv : {1, 127, 128, 129, 1000, 5000})
    expect_right({.S_q = 1, .S_kv = S_kv, .keys = KeyPlacement::shared});
}

TEST(Attention, DecodesSequencesOfDifferentLengths) {
  expect_right({.batch = 5,
                .h_q = 8,
                .h_kv = 2,
                .S_q = 1,
                .S_kv = 777,
                .options = {.kv_length = {1, 128, 500, 776, 777}},
                .keys = KeyPlacement::shared});
  expect_right({.batch = 40,
                .h_q = 4,
                .h_kv = 2,
                .S_q = 1,
                .S_kv = 200,
                .keys = KeyPlacement::shared});  // more pairs than PEs
  expect_right({.h_q = 8, .S_q = 5, .S_kv = 333, .options = {.causal = true}, .keys = KeyPlacement::shared});
}

TEST(Attention, TakesTheScaleItIsGiven) { expect_right({.S_q = 40, .S_kv = 60, .options = {.scale = 0.03}}); }

// 1024 queries: full 1024² scores a head; causal, tiles of 16 positions see their keys rounded up to 16, so 1024 · 1040 / 2.
TEST(Attention, CausalDoesHalfTheProducts) {
  AttentionShapes s{.S_q = 1024, .S_kv = 1024};
  const auto full = run_attention(s);
  s.options.causal = true;
  const auto half = run_attention(s);
  const double share = static_cast<double>(half.macs) / static_cast<double>(full.macs);
  EXPECT_NEAR(share, 1040.0 / 2048, 1e-3);
}

TEST(Attention, RefusesWhatItIsNotFor) {
  Torch torch(machine(1, "1x1"));
  const auto make = [&](const Shape& shape, DType dtype = f16) { return torch.zeros(shape, dtype, {}, "x"); };
  const auto call = [&](const Tensor& q, const Tensor& k, const AttentionOptions& options = {}) {
    return runtime::complaint([&] { attention(torch, q, k, k, options); });
  };
  const Tensor q = make({1, 2, 3, 64});
  EXPECT_THAT(call(q, make({1, 3, 3, 64})), HasSubstr("h_q a multiple of h_kv"));
  EXPECT_THAT(call(q, make({1, 1, 3, 64}, f32)), HasSubstr("all f16 or all bf16"));
  EXPECT_THAT(call(q, make({1, 1, 3, 64})), HasSubstr("attention_keys"));
  EXPECT_THAT(call(q, make({1, 1, 3, 64}), {.kv_length = {4}}), HasSubstr("1 to 3"));
  EXPECT_THAT(call(q, make({1, 1, 3, 64}), {.kv_length = {1, 1}}),
              HasSubstr("2 K/V lengths for 1 sequences"));
  EXPECT_THAT(call(q, make({1, 1, 3, 64}), {.causal = true, .kv_length = {2}}),
              HasSubstr("3 causal queries of 2 keys"));
}

}  // namespace
}  // namespace kernbench::nn::attention_test
