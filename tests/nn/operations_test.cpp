#include "nn/nn_world.hpp"

namespace kernbench::nn {
namespace {

/// Layouts for a matrix of such a shape.
std::vector<std::pair<std::string, DPPolicy>> any_layouts(const Torch& torch, std::int64_t rows,
                                                          std::int64_t cols) {
  return {{"whole", DPPolicy::whole_on({1, 2})},
          {"replicated", DPPolicy{}},
          {"rows", spread(torch, Split::row_wise, rows)},
          {"columns", spread(torch, Split::column_wise, cols)},
          {"dealt", DPPolicy::dealt({3, 40}, {{0, 1}, {3, 7}, {2, 2}})},
          {"zigzag", DPPolicy::dealt({2, cols}, zigzag).on({1, 3}, {2, 7})}};
}

std::vector<std::pair<std::string, DPPolicy>> row_layouts(const Torch& torch, std::int64_t rows,
                                                          std::int64_t cols) {
  auto all = any_layouts(torch, rows, cols);
  std::erase_if(all, [&](const auto& l) {
    return (l.first == "columns" && cols > 1) || (l.first == "dealt" && cols > 40);
  });
  return all;
}

class OddSizes : public ::testing::TestWithParam<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(Odd, OddSizes, ::testing::ValuesIn(kOddSizes),
                         [](const auto& of) { return "size" + std::to_string(of.param); });

TEST_P(OddSizes, ElementwiseInEveryLayout) {
  for (const DType dtype : kFloats)
    for (const Shape& shape : {Shape{GetParam(), 5}, Shape{3, GetParam()}}) {
      Torch torch(small());
      const NdArray a = random_array(shape, dtype, 1), b = random_array(shape, dtype, 2);
      const NdArray row = random_array({shape[1]}, dtype, 3);
      for (const auto& [name, dp] : any_layouts(torch, shape[0], shape[1])) {
        SCOPED_TRACE(fmt::format("{} {} {}", name, to_string(shape), to_string(dtype)));
        const Tensor x = torch.from_numpy(a, dp, "x"), y = torch.from_numpy(b, dp, "y");
        const auto near = [&](const Tensor& got, const Plain& expected) {
          EXPECT_LT(worst(got.numpy(), expected), tolerance(dtype));
        };
        const Plain p = plain(a), q = plain(b);
        Plain sum = p, product = p, with_row = p;
        for (std::size_t i = 0; i < sum.x.size(); ++i) {
          sum.x[i] += q.x[i], product.x[i] *= q.x[i];
          with_row.x[i] += plain(row).x[i % static_cast<std::size_t>(shape[1])];
        }
        near(add(x, y), sum);
        near(mul(x, y), product);
        near(add(x, torch.from_numpy(row, DPPolicy{}, "row")), with_row);
        near(relu(x), mapped(p, [](double v) { return std::max(v, 0.0); }));
        near(gelu(x), mapped(p, [](double v) { return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))); }));
        near(silu(x), mapped(p, [](double v) { return v / (1 + std::exp(-v)); }));
      }
    }
}

Plain softmaxed(Plain p) {
  for (std::int64_t r = 0; r < p.rows; ++r) {
    double sum = 0;
    for (std::int64_t c = 0; c < p.cols; ++c) sum += p.at(r, c) = std::exp(p.at(r, c));
    for (std::int64_t c = 0; c < p.cols; ++c) p.at(r, c) /= sum;
  }
  return p;
}

Plain normed(Plain p, bool centred, const Plain& weight, const Plain& bias) {
  for (std::int64_t r = 0; r < p.rows; ++r) {
    double mean = 0, squares = 0;
    for (std::int64_t c = 0; c < p.cols; ++c) mean += p.at(r, c) / static_cast<double>(p.cols);
    if (!centred) mean = 0;
    for (std::int64_t c = 0; c < p.cols; ++c)
      squares += (p.at(r, c) - mean) * (p.at(r, c) - mean) / static_cast<double>(p.cols);
    for (std::int64_t c = 0; c < p.cols; ++c)
      p.at(r, c) = (p.at(r, c) - mean) / std::sqrt(squares + 1e-5) * weight.at(0, c) + bias.at(0, c);
  }
  return p;
}

TEST_P(OddSizes, RowOperationsWhereRowsAreWhole) {
  for (const DType dtype : kFloats)
    for (const Shape& shape : {Shape{GetParam(), 6}, Shape{3, GetParam()}}) {
      Torch torch(small());
      const NdArray a = random_array(shape, dtype, 1);
      const NdArray w = random_array({shape[1]}, dtype, 2), b = random_array({shape[1]}, dtype, 3);
      const Tensor weight = torch.from_numpy(w, DPPolicy{}, "w"), bias = torch.from_numpy(b, DPPolicy{}, "b");
      const Plain nothing = mapped(plain(b), [](double) { return 0.0; });
      for (const auto& [name, dp] : row_layouts(torch, shape[0], shape[1])) {
        SCOPED_TRACE(fmt::format("{} {} {}", name, to_string(shape), to_string(dtype)));
        const Tensor x = torch.from_numpy(a, dp, "x");
        EXPECT_LT(worst(softmax(x).numpy(), softmaxed(plain(a))), tolerance(dtype));
        EXPECT_LT(worst(rms_norm(x, weight).numpy(), normed(plain(a), false, plain(w), nothing)),
                  tolerance(dtype));
        // A row of one element has no variance: what is left is the bias.
        EXPECT_LT(worst(layer_norm(x, weight, bias).numpy(), normed(plain(a), true, plain(w), plain(b))),
                  2 * tolerance(dtype));
      }
    }
}

TEST_P(OddSizes, RmsNormWhereRowsAreSplit) {
  const std::int64_t n = std::min<std::int64_t>(GetParam(), 128);
  for (const DType dtype : kFloats) {
    Torch torch(small());
    const auto expect_normed = [&](const Shape& shape, const DPPolicy& of_x, const DPPolicy& of_weight) {
      SCOPED_TRACE(fmt::format("{} {} {}", to_string(shape), to_string(dtype), to_string(of_x)));
      const NdArray a = random_array(shape, dtype, 1), w = random_array({shape[1]}, dtype, 2);
      const Tensor y = rms_norm(torch.from_numpy(a, of_x, "x"), torch.from_numpy(w, of_weight, "w"));
      const Plain nothing = mapped(plain(w), [](double) { return 0.0; });
      EXPECT_LT(worst(y.numpy(), normed(plain(a), false, plain(w), nothing)), tolerance(dtype));
    };
    const DPPolicy columns = spread(torch, Split::column_wise, 6 * n);
    expect_normed({3, 6 * n}, columns, columns);
    const DPPolicy grid{.cube = Split::row_wise, .pe = Split::column_wise};
    expect_normed({4 * n, 8 * 3}, grid, {.cube = Split::replicate, .pe = Split::column_wise});
    EXPECT_TRUE(torch.hazards().empty());
  }
}

TEST_P(OddSizes, RotaryPositions) {
  const std::int64_t length = std::min<std::int64_t>(GetParam(), 200), d = 8;
  Torch torch(small());
  const NdArray a = random_array({2, 3, length, d}, f16, 4);
  Plain expected = plain(a);
  for (std::int64_t r = 0; r < expected.rows; ++r)
    for (std::int64_t i = 0; i < d / 2; ++i) {
      const double angle =
          static_cast<double>(r % length + 5) * std::pow(10000.0, -2.0 * static_cast<double>(i) / d);
      const double u = expected.at(r, i), v = expected.at(r, i + d / 2);
      expected.at(r, i) = u * std::cos(angle) - v * std::sin(angle);
      expected.at(r, i + d / 2) = v * std::cos(angle) + u * std::sin(angle);
    }
  const RopeTables tables = rope_tables(torch, length, d, {}, 10000, 5);
  for (const DPPolicy& dp : {DPPolicy{}, spread(torch, Split::row_wise, 6 * length), DPPolicy::by_head(3, 4)})
    EXPECT_LT(worst(rope(torch.from_numpy(a, dp, "q"), tables.cos, tables.sin).numpy(), expected),
              tolerance(f16));
}

TEST_P(OddSizes, Embedding) {
  const std::int64_t n = std::min<std::int64_t>(GetParam(), 130), width = 64;
  Torch torch(small());
  NdArray ids(i32, {n});
  for (std::int64_t i = 0; i < n; ++i) ids.at<std::int32_t>({i}) = static_cast<std::int32_t>(i * 37 % 50);
  const NdArray table = random_array({50, width}, bf16, 5);
  Plain expected{n, width, std::vector<double>(static_cast<std::size_t>(n * width))};
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t c = 0; c < width; ++c) expected.at(i, c) = plain(table).at(i * 37 % 50, c);
  const Tensor names = torch.from_numpy(ids, {}, "ids");
  for (const DPPolicy& dp : {DPPolicy{.num_cubes = 1, .num_pes = 2}, spread(torch, Split::column_wise, width),
                             DPPolicy::whole()}) {
    const Tensor got = embedding(names, torch.from_numpy(table, dp, "table"));
    EXPECT_EQ(got.shape(), (Shape{n, width}));
    EXPECT_EQ(worst(got.numpy(), expected), 0);
  }
}

TEST(Operations, LayoutsTheyDoNotTakeAreListed) {
  Torch torch(small());
  const DPPolicy columns = spread(torch, Split::column_wise, 32);
  const Tensor x = torch.zeros({4, 32}, f16, columns, "x"), y = torch.zeros({4, 32}, f16, DPPolicy{}, "y");
  const Tensor w = torch.zeros({32}, f16, DPPolicy::whole(), "w"),
               pages = torch.zeros({4, 32}, f16, DPPolicy::interleaved(), "p");
  const auto refused = [&](const std::function<void()>& fn, const std::string& text) {
    EXPECT_THAT(complaint(fn), HasSubstr(text));
  };
  refused([&] { add(x, y); }, "a and b laid out alike");
  refused([&] { add(x, torch.zeros({4, 16}, f16)); }, "[4, 32] and [4, 16]");
  refused([&] { softmax(x); }, "softmax does not take 'x' f16[4, 32] column-wise over 32 PEs");
  refused([&] { softmax(x); }, "row-wise, or tiles as wide as the tensor");
  refused([&] { rms_norm(y, w); }, "the weight has no copy on cube 0 PE 1");
  refused([&] { layer_norm(y, torch.zeros({31}, f16, DPPolicy{}), w); }, "as many elements as a row");
  refused([&] { relu(pages); }, "tensor 'p' is interleaved");
  refused([&] { rope(y, x, x); }, "x is (…, S, d)");
  refused(
      [&] {
        embedding(torch.zeros({3}, i32), torch.zeros({32, 4}, f16, spread(torch, Split::row_wise, 32)));
      },
      "table column-wise");
  refused([&] { embedding(torch.full({3}, 99, i32), y); }, "id 99 at place 0, but the table has 4 rows");
  refused([&] { relu(Tensor()); }, "this Tensor is none");
}

TEST(Operations, WorkOnTheSipOfTheirTensors) {
  Torch torch(runtime::load());
  torch.ahbm.set_device(1);
  const Tensor x = torch.full({4, 32}, -3, f16, DPPolicy{}, "x");
  torch.ahbm.set_device(0);
  const Tensor y = relu(x);
  EXPECT_EQ(y.sip(), 1);
  EXPECT_EQ(torch.ahbm.current_device(), 0);
  EXPECT_EQ(worst(y.numpy(), mapped(plain(x.numpy()), [](double) { return 0.0; })), 0);
}

TEST(Operations, AreAllDescribed) {
  std::vector<std::string> names;
  for (const Operation& o : operations()) {
    names.push_back(o.name);
    EXPECT_FALSE(o.layouts.empty() || o.cost.empty() || o.doc.empty()) << o.name;
  }
  EXPECT_THAT(names,
              ::testing::IsSupersetOf({"matmul", "add", "mul", "relu", "gelu", "silu", "softmax", "rms_norm",
                                       "layer_norm", "rope", "embedding", "redistribute"}));
}

}  // namespace
}  // namespace kernbench::nn
