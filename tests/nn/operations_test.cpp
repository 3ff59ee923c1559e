#include "nn/nn_world.hpp"

namespace kernbench::nn::operations_test {
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

/// Rotary positions from 5 on, in every layout that rope takes.
void expect_turned(std::int64_t length, DType dtype) {
  SCOPED_TRACE(to_string(dtype));
  const std::int64_t d = 8;
  Torch torch(small());
  const NdArray a = random_array({2, 3, length, d}, dtype, 4);
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
              tolerance(dtype));
}

/// Rows of a table, in every layout that embedding takes.
void expect_rows(std::int64_t n, DType dtype) {
  SCOPED_TRACE(to_string(dtype));
  const std::int64_t width = 64;
  Torch torch(small());
  NdArray ids(i32, {n});
  for (std::int64_t i = 0; i < n; ++i) ids.at<std::int32_t>({i}) = static_cast<std::int32_t>(i * 37 % 50);
  const NdArray table = random_array({50, width}, dtype, 5);
  const Plain rows = plain(table);
  Plain expected{n, width, std::vector<double>(static_cast<std::size_t>(n * width))};
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t c = 0; c < width; ++c) expected.at(i, c) = rows.at(i * 37 % 50, c);
  const Tensor names = torch.from_numpy(ids, {}, "ids");
  for (const DPPolicy& dp : {DPPolicy{.num_cubes = 1, .num_pes = 2}, spread(torch, Split::column_wise, width),
                             DPPolicy::whole()}) {
    const Tensor got = embedding(names, torch.from_numpy(table, dp, "table"));
    EXPECT_EQ(got.shape(), (Shape{n, width}));
    EXPECT_EQ(worst(got.numpy(), expected), 0);
  }
}

TEST_P(OddSizes, RotaryPositions) {
  for (const DType dtype : kFloats) expect_turned(GetParam(), dtype);
}

TEST_P(OddSizes, Embedding) {
  for (const DType dtype : kFloats) expect_rows(GetParam(), dtype);
}

TEST(Operations, LayoutsTheyDoNotTakeAreListed) {
  Torch torch(small());
  const DPPolicy columns = spread(torch, Split::column_wise, 32);
  const Tensor x = torch.zeros({4, 32}, f16, columns, "x"), y = torch.zeros({4, 32}, f16, DPPolicy{}, "y");
  const Tensor w = torch.zeros({32}, f16, DPPolicy::whole(), "w"),
               pages = torch.zeros({4, 32}, f16, DPPolicy::interleaved(), "p");
  torch.synchronize();
  const auto free = [&] { return torch.engine().space().pools().usage(MemorySpace::Hbm, {0, 0, 0}).free; };
  const Bytes before = free();
  const auto launches = [&] {
    return std::ranges::count(torch.traces(), runtime::Phase::launch, &runtime::Trace::phase);
  };
  // An operation that refuses has allocated nothing, and launched nothing.
  const auto refused = [&](const std::function<void()>& fn, const std::string& text) {
    EXPECT_THAT(complaint(fn), HasSubstr(text));
    torch.synchronize();
    EXPECT_EQ(free(), before) << text;
    EXPECT_EQ(launches(), 0) << text;
  };
  refused([&] { add(x, y); }, "a and b laid out alike");
  refused([&] { add(x, torch.zeros({4, 16}, f16)); }, "[4, 32] and [4, 16]");
  refused([&] { softmax(x); }, "softmax does not take 'x' f16[4, 32] column-wise over 32 PEs");
  refused([&] { softmax(x); }, "row-wise, or tiles as wide as the tensor");
  refused([&] { rms_norm(y, w); }, "the weight has no copy on cube 0 PE 1");
  refused([&] { layer_norm(y, torch.zeros({31}, f16, DPPolicy{}), w); }, "as many elements as a row");
  refused([&] { relu(pages); }, "tensor 'p' is interleaved");
  refused([&] { relu(pages); }, "x any layout but interleaved");
  refused([&] { rope(y, x, x); }, "x is (…, S, d)");
  refused(
      [&] {
        embedding(torch.zeros({3}, i32), torch.zeros({32, 4}, f16, spread(torch, Split::row_wise, 32)));
      },
      "table column-wise");
  refused([&] { embedding(torch.full({3}, 99, i32), y); }, "id 99 at place 0, but the table has 4 rows");
  refused([&] { relu(Tensor()); }, "this Tensor is none");
}

/// A matrix of 6 × 32 in a layout, and whether each PE has whole rows of it.
struct AnyLayout {
  const char* name;
  DPPolicy dp;
  bool whole_rows;
};

std::vector<AnyLayout> every_layout(const Torch& torch) {
  return {
      {"whole", DPPolicy::whole_on({1, 2}), true},
      {"replicated", DPPolicy{}, true},
      {"rows", spread(torch, Split::row_wise, 6), true},
      {"columns", spread(torch, Split::column_wise, 32), false},
      {"rows over cubes, columns in each",
       {.cube = Split::row_wise, .pe = Split::column_wise, .num_cubes = 3},
       false},
      {"wide tiles", DPPolicy::dealt({2, 32}, zigzag).on({1, 3}, {2, 7}), true},
      {"narrow tiles", DPPolicy::dealt({3, 8}, {{0, 1}, {3, 7}, {2, 2}}), false},
      {"by hand", DPPolicy::given({{0, 1, 1, 0_B, Bytes(2 * 40)}, {0, 2, 0, Bytes(2 * 40), Bytes(2 * 152)}}),
       false}};
}

/// The call works, or refuses with all layouts that the operation takes.
void expect_listed(const std::string& operation, bool works, const std::function<void()>& call) {
  const std::string text = complaint(call);
  if (works) {
    EXPECT_EQ(text, "nothing") << operation;
    return;
  }
  EXPECT_THAT(text, HasSubstr("nn.layout")) << operation;
  for (const Operation& o : operations()) {
    if (o.name != operation) continue;
    for (const std::string& layout : o.layouts) EXPECT_THAT(text, HasSubstr(layout)) << operation;
  }
}

// Every operation in every layout: it is right (tests above), or it refuses with the layouts that it takes.
TEST(Operations, TakeALayoutOrListThoseTheyTake) {
  Torch torch(small());
  const Tensor v = torch.zeros({32}, f16, DPPolicy{}, "v");
  const RopeTables tables = rope_tables(torch, 6, 32, {});
  for (const AnyLayout& layout : every_layout(torch)) {
    SCOPED_TRACE(layout.name);
    const Tensor x = torch.zeros({6, 32}, f16, layout.dp, "x");
    expect_listed("relu", true, [&] { relu(x); });
    expect_listed("gelu", true, [&] { gelu(x); });
    expect_listed("silu", true, [&] { silu(x); });
    expect_listed("add", true, [&] { add(x, x); });
    expect_listed("softmax", layout.whole_rows, [&] { softmax(x); });
    expect_listed("layer_norm", layout.whole_rows, [&] { layer_norm(x, v, v); });
    expect_listed("rope", layout.whole_rows, [&] { rope(x, tables.cos, tables.sin); });
    for (const AnyLayout& other : every_layout(torch)) {
      SCOPED_TRACE(other.name);
      const Tensor y = torch.zeros({6, 32}, f16, other.dp, "y");
      expect_listed("mul", layout.dp == other.dp, [&] { mul(x, y); });
    }
  }
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
}  // namespace kernbench::nn::operations_test
