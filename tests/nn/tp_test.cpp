#include "kernbench/tp.hpp"

#include "dist/dist_world.hpp"
#include "nn/nn_world.hpp"

namespace kernbench::nn::tp::tp_test {
namespace {

using dist::get_world_size;

/// SIPs of 2 × 2 cubes of 8 PEs.
topology::Machine sips(int n, const std::string& topology = "ring_1d") {
  std::vector<std::string> overrides = {fmt::format("system.sips.count={}", n),
                                        "system.sips.topology=" + topology};
  if (n == 6) overrides.insert(overrides.end(), {"system.sips.w=3", "system.sips.h=2"});
  return small(overrides);
}

/// Runs `fn(rank)` on all ranks, with groups of n.
void on_ranks(Torch& torch, int n, const std::function<void(int)>& fn) {
  spawn(
      torch,
      [&](int rank) {
        torch.ahbm.set_device(rank);
        dist::init_process_group(torch);
        initialize_model_parallel(torch, n);
        fn(rank);
      },
      get_world_size(torch));
}

NdArray part(const NdArray& all, std::int64_t row, std::int64_t rows, std::int64_t col, std::int64_t cols) {
  NdArray out(all.dtype(), {rows, cols});
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < cols; ++c) out.at<F16>({r, c}) = all.at<F16>({row + r, col + c});
  return out;
}

struct World {
  int sips;
  std::string topology;
  friend void PrintTo(const World& w, std::ostream* out) { *out << w.sips << " SIPs, " << w.topology; }
};

class TpWorlds : public ::testing::TestWithParam<World> {};
INSTANTIATE_TEST_SUITE_P(Sips, TpWorlds,
                         ::testing::Values(World{1, "ring_1d"}, World{2, "ring_1d"}, World{4, "ring_1d"},
                                           World{4, "torus_2d"}, World{6, "torus_2d"}),
                         [](const auto& of) {
                           return fmt::format("{}_{}", of.param.sips, of.param.topology);
                         });

// Column then row is x · W1 · W2 within the rounding of f16, and every rank ends with the same bits.
TEST_P(TpWorlds, ColumnThenRowIsTheProductOfBoth) {
  const auto [n, topology] = GetParam();
  for (const std::int64_t tokens : {1, 2, 4})
    for (const std::int64_t width : {16, 32, 48, 96}) {
      if (2 * width % n != 0) continue;
      SCOPED_TRACE(fmt::format("tokens {} width {}", tokens, width));
      Torch torch(sips(n, topology));
      const NdArray x = random_array({tokens, width}, f16, 1), w1 = random_array({width, 2 * width}, f16, 2),
                    w2 = random_array({2 * width, width}, f16, 3);
      const Plain expected = times(times(plain(x), plain(w1)), plain(w2));
      std::vector<Tensor> results(static_cast<std::size_t>(n));
      on_ranks(torch, n, [&](int rank) {
        ColumnParallelLinear up(torch, width, 2 * width);
        RowParallelLinear down(torch, 2 * width, width);
        EXPECT_EQ(up.weight.shape(), (Shape{width, 2 * width / n}));
        EXPECT_EQ(down.weight.shape(), (Shape{2 * width / n, width}));
        EXPECT_FALSE(up.bias);
        up.weight.copy_(part(w1, 0, width, rank * up.n_local, up.n_local));
        down.weight.copy_(part(w2, rank * down.k_local, down.k_local, 0, width));
        results[static_cast<std::size_t>(rank)] = down.forward(up.forward(torch.from_numpy(x, {}, "x")));
      });
      const NdArray first = results.front().numpy();
      // The contract is 1e-2, at widths 16 and 32. At 96 the rounding to f16 of x · W1 and of the sums is 1.5e-2, and 2.1e-2 over a
      // torus, whose sums are rounded once along each dimension.
      EXPECT_LT(worst(first, expected), width <= 32 ? 1e-2 : topology == "torus_2d" ? 3e-2 : 2e-2);
      for (const Tensor& other : results) EXPECT_EQ(other.numpy(), first);
      EXPECT_TRUE(torch.hazards().empty());
    }
}

TEST(TensorParallel, NamesAreMegatronsOwn) {
  Torch torch(sips(2));
  on_ranks(torch, 2, [&](int) {
    ColumnParallelLinear up(torch, 16, 32);
    RowParallelLinear down(torch, 32, 16);
    EXPECT_EQ(up.weight.name(), "col_parallel_w");
    EXPECT_EQ(down.weight.name(), "row_parallel_w");
    const Tensor h = up.forward(torch.zeros({2, 16}, f16));
    EXPECT_EQ(h.name(), "col_parallel_out");
    down.forward(h);
  });
  std::set<std::string> names;
  for (const auto& t : torch.traces()) names.insert(t.name);
  EXPECT_THAT(names,
              ::testing::IsSupersetOf({"col_parallel_gemm", "row_parallel_gemm", "row_parallel_partial"}));
}

TEST(TensorParallel, BiasIsAddedOnceAndOutputsCanBeGathered) {
  Torch torch(sips(2));
  const NdArray x = random_array({3, 32}, f16, 1), w = random_array({32, 64}, f16, 2),
                b = random_array({64}, f16, 4);
  Plain expected = times(plain(x), plain(w));
  for (std::int64_t r = 0; r < 3; ++r)
    for (std::int64_t c = 0; c < 64; ++c) expected.at(r, c) += plain(b).at(0, c);
  on_ranks(torch, 2, [&](int rank) {
    ColumnParallelLinear columns(torch, 32, 64, {.bias = true, .gather_output = true});
    columns.weight.copy_(part(w, 0, 32, rank * 32, 32));
    columns.bias.copy_(part(b.reshaped({1, 64}), 0, 1, rank * 32, 32).reshaped({32}));
    const Tensor here = torch.from_numpy(x, {}, "x");
    const Tensor all = columns.forward(here);
    EXPECT_EQ(all.shape(), (Shape{3, 64}));
    EXPECT_LT(worst(all.numpy(), expected), 1e-2);
    RowParallelLinear rows(torch, 32, 64, {.bias = true, .input_is_parallel = false});
    rows.weight.copy_(part(w, rank * 16, 16, 0, 64));
    rows.bias.copy_(b);
    EXPECT_LT(worst(rows.forward(here).numpy(), expected), 1e-2);
  });
}

// Ranks 0 and 1, 2 and 3: each group adds up its own.
TEST(TensorParallel, GroupsOfTwoDoNotDisturbEachOther) {
  Torch torch(sips(4));
  on_ranks(torch, 2, [&](int rank) {
    EXPECT_EQ(get_tensor_model_parallel_world_size(torch), 2);
    EXPECT_EQ(get_tensor_model_parallel_rank(torch), rank % 2);
    Tensor x = torch.full({4, 64}, 1 << rank, f16, DPPolicy{}, "x");
    EXPECT_EQ(mappings::reduce_from_tp_region(x, torch).ptr(), x.ptr());
    EXPECT_EQ(plain(x.numpy()).x.front(), rank < 2 ? 3 : 12);
    const Tensor mine = torch.full({2, 8}, rank, f16, {}, "y");
    const Tensor both = mappings::gather_from_tp_region(mine, torch);
    EXPECT_EQ(both.shape(), (Shape{2, 16}));
    EXPECT_EQ(plain(both.numpy()).at(1, 0), rank / 2 * 2);
    EXPECT_EQ(plain(both.numpy()).at(1, 15), rank / 2 * 2 + 1);
    const Tensor again = mappings::scatter_to_tp_region(both, torch);
    EXPECT_EQ(again.shape(), (Shape{2, 8}));
    EXPECT_EQ(plain(again.numpy()).at(0, 3), rank);
  });
}

TEST(TensorParallel, VocabularyIsSplitByRows) {
  Torch torch(sips(2));
  const NdArray table = random_array({10, 32}, f16, 5);
  NdArray ids(i32, {7});
  for (std::int64_t i = 0; i < 7; ++i) ids.at<std::int32_t>({i}) = static_cast<std::int32_t>(i * 3 % 10);
  on_ranks(torch, 2, [&](int rank) {
    VocabParallelEmbedding embedding(torch, 10, 32);
    embedding.weight.copy_(part(table, rank * 5, 5, 0, 32));
    const Plain got = plain(embedding.forward(torch.from_numpy(ids, {}, "ids")).numpy());
    for (std::int64_t i = 0; i < 7; ++i)
      for (std::int64_t c = 0; c < 32; ++c) EXPECT_EQ(got.at(i, c), plain(table).at(i * 3 % 10, c));
  });
}

TEST(TensorParallel, WrongSizesGiveTheQuotedTexts) {
  Torch torch(sips(2));
  EXPECT_THAT(complaint([&] { get_tensor_model_parallel_world_size(torch); }),
              HasSubstr("tp.not-initialized"));
  EXPECT_THAT(complaint([&] { initialize_model_parallel(torch, 3); }),
              HasSubstr("groups of 3 ranks in a world of 2"));
  on_ranks(torch, 2, [&](int) {
    EXPECT_THAT(complaint([&] { ColumnParallelLinear(torch, 16, 33); }),
                HasSubstr("out_features (33) must be divisible by TP world size (2)"));
    EXPECT_THAT(complaint([&] { RowParallelLinear(torch, 17, 32); }),
                HasSubstr("in_features (17) must be divisible by TP world size (2)"));
    EXPECT_THAT(complaint([&] { VocabParallelEmbedding(torch, 9, 32); }),
                HasSubstr("num_embeddings (9) must be divisible by TP world size (2)"));
  });
}

}  // namespace
}  // namespace kernbench::nn::tp::tp_test
