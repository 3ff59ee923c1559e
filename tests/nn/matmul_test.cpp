#include "nn/product.hpp"
#include "nn/timed_product.hpp"

namespace kernbench::nn::matmul_test {
namespace {

struct Problem {
  NdArray a, b;
  Plain expected;
};

Problem problem(std::int64_t m, std::int64_t k, std::int64_t n, DType dtype, unsigned seed) {
  Problem p{random_array({m, k}, dtype, seed), random_array({k, n}, dtype, seed + 1), {}};
  p.expected = times(plain(p.a), plain(p.b));
  return p;
}

/// Every layout of the table.
struct Layouts {
  const char* name;
  std::function<std::pair<DPPolicy, DPPolicy>(const Torch&, std::int64_t m, std::int64_t k, std::int64_t n)>
      of;
  Split result = Split::replicate;
};

const std::vector<Layouts> kTable = {
    {"replicated × columns", [](const Torch& t, auto, auto,
                                auto n) { return std::pair(DPPolicy{}, spread(t, Split::column_wise, n)); }},
    {"rows × replicated",
     [](const Torch& t, auto m, auto, auto) { return std::pair(spread(t, Split::row_wise, m), DPPolicy{}); }},
    {"columns × rows",
     [](const Torch& t, auto, auto k, auto) {
       return std::pair(spread(t, Split::column_wise, k), spread(t, Split::row_wise, k));
     }},
    {"columns × rows, to columns",
     [](const Torch& t, auto, auto k, auto) {
       return std::pair(spread(t, Split::column_wise, k), spread(t, Split::row_wise, k));
     },
     Split::column_wise},
    {"whole × whole",
     [](const Torch&, auto, auto, auto) {
       return std::pair(DPPolicy::whole_on({2, 3}), DPPolicy::whole_on({2, 3}));
     }},
};

void check(Torch& torch, const Layouts& layouts, std::int64_t m, std::int64_t k, std::int64_t n,
           DType dtype) {
  SCOPED_TRACE(fmt::format("{}: {} × {} × {} {}", layouts.name, m, k, n, to_string(dtype)));
  const Problem p = problem(m, k, n, dtype, static_cast<unsigned>(m * 7 + k * 3 + n));
  const auto [dp_a, dp_b] = layouts.of(torch, m, k, n);
  const Tensor a = torch.from_numpy(p.a, dp_a, "a"), b = torch.from_numpy(p.b, dp_b, "b");
  const Tensor c = matmul(a, b, {.result = layouts.result});
  EXPECT_EQ(c.dtype(), dtype);
  EXPECT_EQ(c.shape(), (Shape{m, n}));
  EXPECT_LT(worst(c.numpy(), p.expected), tolerance(dtype) * 4);
}

class MatmulSizes : public ::testing::TestWithParam<std::int64_t> {};

// The odd size in each place, the others small: every layout of the table, every dtype.
TEST_P(MatmulSizes, EveryLayoutGivesTheProduct) {
  const std::int64_t s = GetParam();
  for (const Layouts& layouts : kTable)
    for (const DType dtype : kFloats) {
      Torch torch(small());
      check(torch, layouts, s, 33, 7, dtype);
      check(torch, layouts, 3, s, 33, dtype);
      check(torch, layouts, 2, 7, s, dtype);
      check(torch, layouts, 33, 64, 96, dtype);
      EXPECT_TRUE(torch.hazards().empty());
    }
}
INSTANTIATE_TEST_SUITE_P(Odd, MatmulSizes, ::testing::ValuesIn(kOddSizes),
                         [](const auto& of) { return "size" + std::to_string(of.param); });

// Rows over 4 cubes, columns over the 8 PEs of each: every PE multiplies its rows with its columns.
TEST(Matmul, RowsOverCubesTimesColumnsOverPes) {
  for (const DType dtype : {f16, bf16, f32})
    for (const Shape& mkn : {Shape{4, 7, 8}, Shape{12, 33, 24}, Shape{128, 127, 1000}}) {
      Torch torch(small());
      const NdArray a = random_array({mkn[0], mkn[1]}, dtype, 1),
                    b = random_array({mkn[1], mkn[2]}, dtype, 2);
      const Tensor x = torch.from_numpy(a, DPPolicy{.cube = Split::row_wise}, "x");
      const Tensor w = torch.from_numpy(b, DPPolicy{.pe = Split::column_wise}, "w");
      const Tensor y = matmul(x, w);
      EXPECT_EQ(y.dp(), (DPPolicy{.cube = Split::row_wise, .pe = Split::column_wise}));
      EXPECT_LT(worst(y.numpy(), times(plain(a), plain(b))), 4 * tolerance(dtype));
    }
}

TEST(Matmul, LeadingDimensionsAreRows) {
  Torch torch(small());
  const NdArray a = random_array({2, 5, 16}, f32, 1), b = random_array({16, 32}, f32, 2);
  const Tensor c =
      matmul(torch.from_numpy(a, DPPolicy{}), torch.from_numpy(b, spread(torch, Split::column_wise, 32)));
  EXPECT_EQ(c.shape(), (Shape{2, 5, 32}));
  EXPECT_LT(worst(c.numpy(), times(plain(a), plain(b))), 1e-4);
}

TEST(Matmul, TheEpilogueActsOnTheProduct) {
  Torch torch(small());
  const Problem p = problem(8, 32, 64, f16, 3);
  const NdArray bias = random_array({64}, f16, 9);
  const DPPolicy columns = spread(torch, Split::column_wise, 64);
  Plain expected = p.expected;
  for (std::int64_t r = 0; r < 8; ++r)
    for (std::int64_t c = 0; c < 64; ++c)
      expected.at(r, c) = std::max(0.0, expected.at(r, c) + plain(bias).at(0, c));
  const std::vector<Epilogue> steps = {{"add", torch.from_numpy(bias, columns, "bias")},
                                       {"maximum", {}, 0.0}};
  const Tensor c = matmul(torch.from_numpy(p.a, DPPolicy{}), torch.from_numpy(p.b, columns),
                          {.out_dtype = f32, .epilogue = steps});
  EXPECT_EQ(c.dtype(), f32);
  EXPECT_LT(worst(c.numpy(), expected), 1e-2);
  // Where K is split, the sum is there before the epilogue.
  const Tensor split = matmul(torch.from_numpy(p.a, spread(torch, Split::column_wise, 32)),
                              torch.from_numpy(p.b, spread(torch, Split::row_wise, 32)),
                              {.epilogue = steps, .result = Split::column_wise});
  EXPECT_LT(worst(split.numpy(), expected), 1e-2);
}

TEST(Matmul, OtherLayoutsAreAnErrorThatListsTheTableAndLeavesNothingBehind) {
  Torch torch(small());
  const DPPolicy rows = spread(torch, Split::row_wise, 32), columns = spread(torch, Split::column_wise, 32);
  const Tensor a_rows = torch.zeros({32, 32}, f16, rows, "a"), b_rows = torch.zeros({32, 32}, f16, rows, "b");
  const Tensor by_columns = torch.zeros({32, 32}, f16, columns),
               copies = torch.zeros({32, 32}, f16, DPPolicy{});
  const Tensor whole = torch.zeros({32, 32}, f16),
               elsewhere = torch.zeros({32, 32}, f16, DPPolicy::whole_on({1, 1}));
  torch.synchronize();
  const auto free = [&] { return torch.engine().space().pools().usage(MemorySpace::Hbm, {0, 0, 0}).free; };
  const Bytes before = free();
  const std::vector<std::pair<Tensor, Tensor>> refused = {
      {a_rows, b_rows},     {a_rows, by_columns}, {by_columns, by_columns},
      {by_columns, copies}, {copies, copies},     {copies, b_rows},
      {whole, elsewhere},   {whole, by_columns},  {a_rows, whole}};
  for (const auto& operands : refused) {
    const std::string text = complaint([&] { matmul(operands.first, operands.second); });
    EXPECT_THAT(text, HasSubstr("nn.layout"));
    EXPECT_THAT(text, HasSubstr("a replicated, b column-wise"));
    EXPECT_THAT(text, HasSubstr("a whole on a PE, b whole on the same PE"));
    EXPECT_THAT(text, HasSubstr("nn::redistribute"));
  }
  torch.synchronize();
  EXPECT_EQ(free(), before);
  EXPECT_THAT(complaint([&] {
                matmul(copies, torch.zeros({16, 32}, f16, columns));
              }),
              HasSubstr("[32, 32] times [16, 32]"));
  EXPECT_THAT(complaint([&] {
                matmul(copies, torch.zeros({32, 32}, f32, columns));
              }),
              HasSubstr("f16 times f32"));
  EXPECT_THAT(complaint([&] {
                matmul(copies, torch.zeros({32, 32}, f16, DPPolicy::interleaved(), "p"));
              }),
              HasSubstr("tensor 'p' is interleaved"));
}

// 96 columns over the 32 PEs of this machine are 3 each; 33 divide by 11 or 3 of its grids (3 cubes × 1 PE is 3), 7 by 7.
TEST(Matmul, TheTraceSaysOnHowManyPesItRan) {
  Torch torch(small());
  const auto note = [&](std::int64_t n) {
    matmul(torch.zeros({4, 16}, f16, DPPolicy{}),
           torch.zeros({16, n}, f16, spread(torch, Split::column_wise, n)));
    return last_launch(torch).note;
  };
  EXPECT_EQ(note(96), "on 32 of 32 PEs");
  EXPECT_EQ(note(7), "on 7 of 32 PEs");
  EXPECT_EQ(note(33), "on 3 of 32 PEs");
  EXPECT_EQ(note(31), "on 1 of 32 PEs");
}

// One PE: 64 × 64 × 64 in f16 reads 8 KiB + 8 KiB and writes 8 KiB at 256 B/ns: 96 ns. MACs: 262144 at 4096 a ns: 64 ns.
TEST(Matmul, TheCompulsoryBoundIsTheLargerOfWorkAndBytes) {
  Torch torch(small());
  matmul(torch.zeros({64, 64}, f16), torch.zeros({64, 64}, f16));
  EXPECT_EQ(last_launch(torch).compulsory, 96_ns);
  matmul(torch.zeros({1024, 1024}, f16),
         torch.zeros({1024, 1024}, f16));  // 2³⁰ MACs: 262144 ns; bytes: 24576 ns
  EXPECT_EQ(last_launch(torch).compulsory, 262144_ns);
}

// 12288 × 96 weights of a PE take 9.2 us to read, and all of A 3.1 us: 12.3 us. A of 4096² elements takes 131 us, as its 2²⁹
// multiply-adds do, and 4096 · 32 elements of B and of the result 1 us each.
TEST(Matmul, ByColumnsTakesAtMostATenthMoreThanItsBound) {
  for (const auto& [m, k, n, bound_us] :
       {std::tuple(32, 12288, 12288, 12.3), std::tuple(4096, 4096, 4096, 133.1)}) {
    const runtime::Trace trace = timed(m, k, n, false);
    EXPECT_NEAR(trace.compulsory.ns() / 1e3, bound_us, 0.2);
    EXPECT_LT(trace.pe_exec.ns(), 1.1 * trace.compulsory.ns());
  }
}

// Where K is split, a PE reads 96 rows of B in 9.3 us, and its partial products, 32 · 12288 in f32, leave it at 512 GB/s in 3.1 us.
TEST(Matmul, WithKSplitTakesAtMostTwiceTheProductAndTheCut) { expect_near_cut(32, 12288, 12288); }

TEST(ProductPlan, KeepsWhatReadsLeast) {
  const Bytes room(1 << 20);
  const auto plan = [&](std::int64_t m, std::int64_t k, std::int64_t n) {
    return plan_product(m, k, n, 2, room);
  };
  EXPECT_EQ(plan(4096, 4096, 32).keeps, ProductPlan::Keeps::b);
  EXPECT_EQ(plan(4096, 4096, 32).bytes, 2 * (4096 * 4096 + 4096 * 32));
  EXPECT_EQ(plan(32, 12288, 96).keeps, ProductPlan::Keeps::a);
  EXPECT_EQ(plan(32, 12288, 96).bytes, 2 * (32 * 12288 + 12288 * 96));
  EXPECT_EQ(plan(1, 8192, 56).keeps, ProductPlan::Keeps::a);  // both fit: the smaller one is there sooner
  EXPECT_EQ(plan(56, 8192, 1).keeps, ProductPlan::Keeps::b);
  const auto large = plan(2048, 2048, 2048);  // panels of 96 columns: 7/16 of 1 MiB hold 112 of 4 KiB
  EXPECT_EQ(large.panel, 96);
  EXPECT_EQ(large.bytes, 2 * (2048 * 2048 + 22 * 2048 * 2048));
  EXPECT_EQ(plan(64, 1 << 20, 64).keeps, ProductPlan::Keeps::neither);  // not even 32 rows fit
}

}  // namespace
}  // namespace kernbench::nn::matmul_test
