#include <cmath>
#include <random>

#include "runtime/host_world.hpp"
#include "runtime/random_placement.hpp"

namespace kernbench::runtime::tensor_test {
namespace {

struct Placed {
  DPPolicy policy;
  const char* name;
};
const std::vector<Placed> kPolicies = {
    {DPPolicy::whole(), "whole"},
    {{}, "a copy on every PE"},
    {{.cube = Split::column_wise, .pe = Split::column_wise}, "columns"},
    {{.cube = Split::row_wise, .pe = Split::row_wise}, "rows"},
    {{.cube = Split::row_wise, .pe = Split::column_wise}, "rows, then columns"},
    {{.cube = Split::column_wise, .pe = Split::row_wise}, "columns, then rows"},
    {{.pe = Split::column_wise}, "columns in every cube"},
    {{.cube = Split::column_wise}, "columns over cubes, copies in the cube"},
    {{.cube = Split::row_wise, .pe = Split::tiled_column_major, .tile = TileSize{1, 2}}, "rows, then tiles"},
    {{.cube = Split::tiled_row_major, .pe = Split::tiled_row_major, .tile = TileSize{1, 4}}, "tiles"},
};

TEST(Tensors, WhatIsCopiedInComesOutForEveryPolicyAndRank) {
  for (const Shape& shape : {Shape{64}, Shape{32, 64}, Shape{4, 8, 32}, Shape{2, 2, 8, 32}}) {
    Torch torch(small());
    for (const auto& [policy, name] : kPolicies) {
      const NdArray array = counting(shape);
      Tensor x = torch.empty(shape, i32, policy);
      x.copy_(array);
      EXPECT_EQ(x.numpy(), array) << name << " " << to_string(shape);
      EXPECT_EQ(torch.from_numpy(array, policy).numpy(), array) << name;
    }
  }
}

/// Calls `fn` with every index of a shape, in row-major order.
void for_each_index(const std::vector<std::int64_t>& extents,
                    const std::function<void(const std::vector<std::int64_t>&)>& fn) {
  std::vector<std::int64_t> index(extents.size(), 0);
  while (true) {
    fn(index);
    std::size_t axis = extents.size();
    while (axis > 0 && ++index[axis - 1] == extents[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

/// A part of each axis, and where its elements are in the array of the whole.
struct Part {
  std::vector<tl::Slice> slices;
  std::vector<std::int64_t> extents;
  std::vector<std::size_t> places;
};

Part random_part(RandomPlacement& random, const Shape& shape) {
  Part part;
  std::vector<std::int64_t> begin;
  for (const std::int64_t extent : shape) {
    begin.push_back(random.upto(extent) - 1);
    part.extents.push_back(random.upto(extent - begin.back()));
    part.slices.push_back({begin.back(), begin.back() + part.extents.back()});
  }
  for_each_index(part.extents, [&](const auto& index) {
    std::int64_t place = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis)
      place = place * shape[static_cast<int>(axis)] + begin[axis] + index[axis];
    part.places.push_back(static_cast<std::size_t>(place));
  });
  return part;
}

// The host's array is the tensor, whatever lies where: written whole, then in parts, read in parts and whole.
TEST(Tensors, RandomShapesUnderEveryPolicyAreTheHostsArray) {
  for (unsigned seed = 1; seed <= 3; ++seed) {
    Torch torch(small());
    RandomPlacement random(seed);
    for (const int rank : {1, 2, 3, 4})
      for (const auto& [policy, shape] : random.every_policy(rank)) {
        SCOPED_TRACE(::testing::Message() << to_string(policy.cube) << " " << to_string(policy.pe) << " "
                                          << to_string(shape) << " seed " << seed);
        NdArray expected = counting(shape);
        Tensor x = torch.from_numpy(expected, policy);
        ASSERT_EQ(x.numpy(), expected);
        const Part written = random_part(random, shape), read = random_part(random, shape);
        NdArray patch = counting(Shape(written.extents));
        for (std::size_t i = 0; i < written.places.size(); ++i)
          expected.view<std::int32_t>()[written.places[i]] = patch.view<std::int32_t>()[i] -= 5000;
        x.slice(written.slices).copy_(patch);
        const NdArray got = x.slice(read.slices).numpy();
        for (std::size_t i = 0; i < read.places.size(); ++i)
          ASSERT_EQ(got.view<std::int32_t>()[i], expected.view<std::int32_t>()[read.places[i]]);
        ASSERT_EQ(x.numpy(), expected);
      }
  }
}

void store_own_number(tl::Context& tl, tl::Ptr x) {
  for (const auto& mine : tl.shards(x))
    tl.store(mine.ptr, tl.full(mine.shape, tl.program_id(1) * 8 + tl.program_id(0), i32));
}

// Column j of [4, 32] over 4 cubes of 8 PEs is PE j's: logical columns, not the order in memory.
TEST(Tensors, ColumnsAreLogicalColumns) {
  Torch torch(small());
  Tensor x = torch.zeros({4, 32}, i32, DPPolicy{.cube = Split::column_wise, .pe = Split::column_wise});
  torch.launch("number", store_own_number, x);
  const NdArray y = x.numpy();
  for (std::int64_t r = 0; r < 4; ++r)
    for (std::int32_t c = 0; c < 32; ++c) ASSERT_EQ(y.at<std::int32_t>({r, c}), c);
}

void add_origin(tl::Context& tl, tl::Ptr x, std::int64_t width) {
  for (const auto& mine : tl.shards(x)) {
    const auto row = mine.origin[0], column = mine.origin[1];
    const auto tile = tl.load(mine.ptr, mine.shape, mine.dtype);
    tl.store(mine.ptr, tile + static_cast<int>(row * width + column));
  }
}

// Each element ends as the number of the first element of its piece; a kernel sees its pieces where the host puts them.
TEST(Tensors, AShardKnowsItsPlaceInTheTensor) {
  Torch torch(small());
  for (const auto& [policy, name] : kPolicies) {
    Tensor x = torch.zeros({32, 64}, i32, policy);
    torch.launch("origins", add_origin, x, 64);
    NdArray y = x.numpy();
    for (const auto& mine : x.shards()) EXPECT_GT(mine.nbytes, 0_B);
    // The first element of the tensor is the first of its piece, and a piece begins where its number says.
    EXPECT_EQ(y.view<std::int32_t>()[0], 0) << name;
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      const std::int32_t first = y.view<std::int32_t>()[static_cast<std::size_t>(i)];
      ASSERT_LE(first, i) << name;
      ASSERT_EQ(y.view<std::int32_t>()[static_cast<std::size_t>(first)], first) << name;
    }
  }
}

TEST(Tensors, SlicesThatSpanShardsReadAndWrite) {
  Torch torch(small());
  std::mt19937 random(3);
  const Shape shape{32, 64};
  for (const auto& [policy, name] : kPolicies) {
    NdArray expected = counting(shape);
    Tensor x = torch.from_numpy(expected, policy);
    for (int i = 0; i < 10; ++i) {
      const auto draw = [&](std::int64_t n) {
        return static_cast<std::int64_t>(random() % static_cast<unsigned>(n));
      };
      const std::int64_t r0 = draw(32), r1 = r0 + 1 + draw(32 - r0), c0 = draw(64),
                         c1 = c0 + 1 + draw(64 - c0);
      NdArray patch = filled({r1 - r0, c1 - c0}, 1000 + i);
      x[{{r0, r1}, {c0, c1}}].copy_(patch);
      for (std::int64_t r = r0; r < r1; ++r)
        for (std::int64_t c = c0; c < c1; ++c) expected.at<std::int32_t>({r, c}) = 1000 + i;
      const std::int64_t row = draw(32);
      const NdArray read = x[{tl::index(row), {c0, c1}}].numpy();
      ASSERT_EQ(read.shape(), (Shape{c1 - c0}));
      for (std::int64_t c = c0; c < c1; ++c)
        ASSERT_EQ(read.at<std::int32_t>({c - c0}), expected.at<std::int32_t>({row, c})) << name;
    }
    EXPECT_EQ(x.numpy(), expected) << name;
  }
}

TEST(Tensors, SlicesOfFourAxes) {
  Torch torch(small());
  const NdArray array = counting({2, 3, 4, 8});
  Tensor x = torch.from_numpy(array, DPPolicy{.pe = Split::column_wise, .num_cubes = 1});
  const NdArray part = x[{tl::all, tl::index(-1), {1, 3}, {2, 5}}].numpy();
  ASSERT_EQ(part.shape(), (Shape{2, 2, 3}));
  for (std::int64_t a = 0; a < 2; ++a)
    for (std::int64_t b = 0; b < 2; ++b)
      for (std::int64_t c = 0; c < 3; ++c)
        EXPECT_EQ(part.at<std::int32_t>({a, b, c}), array.at<std::int32_t>({a, 2, b + 1, c + 2}));
  EXPECT_THAT(complaint([&] { x[{tl::index(2)}]; }), HasSubstr("axis 0 of [2, 3, 4, 8]: no index 2"));
  EXPECT_THAT(complaint([&] { x[{tl::all, {2, 2}}]; }), HasSubstr("no elements 2 to 2"));
  EXPECT_THAT(complaint([&] { x[{{0, 2, 2}}]; }), HasSubstr("a step of 2"));
}

TEST(Tensors, SayWhatTheyAre) {
  Torch torch(small());
  Tensor x = torch.full({2, 8}, 3, f16, DPPolicy{.pe = Split::column_wise, .num_cubes = 1}, "x");
  EXPECT_EQ(x.shape(), (Shape{2, 8}));
  EXPECT_EQ(x.dtype(), f16);
  EXPECT_EQ(x.itemsize(), 2);
  EXPECT_EQ(x.nbytes(), 32);
  // mean 3; norm √(16 · 9) = 12
  EXPECT_EQ(to_string(x), "tensor 'x' f16[2, 8] on sip0, 8 shards, mean 3, norm 12");
  x[{tl::index(0)}].fill_(-3);
  EXPECT_THAT(to_string(x), HasSubstr("mean 0, norm 12"));
  EXPECT_EQ(to_string(Tensor()), "tensor none");
}

TEST(Tensors, ContentMadeRowByRowArrivesAndIsNotMadeWithoutData) {
  const Shape shape{1024, 512};  // 2 MiB of i32
  for (const bool data : {true, false}) {
    int rows = 0;
    Torch torch(small(), {.data = data});
    const auto fill = [&rows](std::int64_t row, std::span<std::int32_t> out) {
      std::iota(out.begin(), out.end(), static_cast<std::int32_t>(row * 512));
      ++rows;
    };
    Tensor x = torch.from_rows<std::int32_t>(shape, fill,
                                             DPPolicy{.cube = Split::column_wise, .pe = Split::row_wise});
    torch.synchronize();
    EXPECT_EQ(rows, 0);
    if (!data) continue;
    EXPECT_EQ(x.numpy(), counting(shape));
  }
}

TEST(Tensors, WrongArraysAreRefused) {
  Torch torch(small());
  Tensor x = torch.zeros({4}, i32, {}, "x");
  EXPECT_THAT(complaint([&] { x.copy_(NdArray(i32, {5})); }),
              HasSubstr("tensor 'x': an array i32[5] for i32[4]"));
  EXPECT_THAT(complaint([&] { x.copy_(NdArray(f32, {4})); }), HasSubstr("f32[4] for i32[4]"));
  EXPECT_THAT(complaint([&] {
                torch.zeros({5, 5}, i32, DPPolicy{.pe = Split::row_wise}, "odd");
              }),
              HasSubstr("tensor 'odd': row_wise over 8 PEs"));
  EXPECT_THAT(complaint([] { Tensor().numpy(); }), HasSubstr("tensor.none"));
  Tensor left;
  {
    Torch other(small());
    left = other.zeros({4}, i32, {}, "left");
  }
  EXPECT_THAT(complaint([&] { left.numpy(); }), HasSubstr("the context it was made in is gone"));
}

TEST(Tensors, ATensorNobodyWroteCannotBeRead) {
  Torch torch(small());
  Tensor x = torch.empty({64}, f16, {}, "blank");
  EXPECT_THAT(complaint([&] { x.numpy(); }), HasSubstr("tensor 'blank'"));
  EXPECT_THAT(to_string(x), HasSubstr("not written"));
  x[{{0, 32}}].fill_(1);
  EXPECT_EQ((x[{{8, 24}}].numpy().shape()), Shape{16});  // the run goes on
  EXPECT_THAT(complaint([&] { x[{{8, 33}}].numpy(); }), HasSubstr("data.unwritten"));
}

TEST(Tensors, AKernelThatReadsWhatNobodyWroteIsTheRunsError) {
  Torch torch(small());
  Tensor x = torch.empty({64}, i32, {}, "blank"), y = torch.zeros({64}, i32);
  torch.launch(
      "copy", [](tl::Context& tl, tl::Ptr from, tl::Ptr to) { tl.store(to, tl.load(from, {64}, i32)); }, x,
      y);
  for (int i = 0; i < 2; ++i) {
    const std::string text = complaint([&] { y.numpy(); });
    EXPECT_THAT(text, HasSubstr("kernel 'copy' on sip0.cube0.pe0"));
    EXPECT_THAT(text, HasSubstr("tensor 'blank'"));
  }
}

void store_to_one_copy(tl::Context& tl, tl::Ptr x) {
  if (tl.program_id(0) == 3) tl.store(x + 8, tl.full({1}, 7, i32));
}

TEST(Tensors, CopiesThatDifferAreRefusedAndTwoAreNamed) {
  Torch torch(small());
  Tensor x = torch.zeros({16}, i32, DPPolicy{.num_cubes = 1}, "x");
  torch.launch("one", store_to_one_copy, x);
  const std::string text = complaint([&] { x.numpy(); });
  EXPECT_THAT(
      text,
      HasSubstr("tensor.copies-differ tensor 'x': its copies on sip0.cube0.pe0 and sip0.cube0.pe3 differ: "
                "0 and 7, 8 bytes"));
  EXPECT_EQ(values(x[{{3, 6}}].numpy()), (std::vector<std::int32_t>{0, 0, 0}));  // where they are alike
}

// Each PE reads the tensor's first element: from its own copy, else from its cube's, else from cube 0's.
void load_first(tl::Context& tl, tl::Ptr x) { tl.load(x, {64}, i32); }

TEST(Tensors, APeReadsTheNearestCopy) {
  const auto read_time = [](const DPPolicy& policy, PeCoord reader) {
    Torch torch(small());
    Tensor x = torch.zeros({64}, i32, policy);
    torch.launch({"load", Grid{8, 4}}, load_first, x);
    torch.synchronize();
    Time time;
    torch.log().for_each([&](const trace::Op& op) {
      if (op.kind == "dma_read" && op.pe == reader) time = op.end - op.start;
    });
    return time;
  };
  const Time own = read_time({}, {0, 3, 5});
  const Time of_cube = read_time({.num_pes = 1}, {0, 3, 5});
  const Time of_cube0 = read_time({.num_cubes = 1}, {0, 3, 5});
  EXPECT_LT(own, of_cube);
  EXPECT_LT(of_cube, of_cube0);
  EXPECT_GT(of_cube0 - of_cube, 16_ns);  // at least one crossing between cubes
}

// As tl.full does.
TEST(Tensors, AreNotFilledWithNumbersTheirDtypeDoesNotHave) {
  Torch torch(small());
  EXPECT_THAT(complaint([&] { torch.full({4}, 1000, i8); }), HasSubstr("the number 1000 is no i8"));
  EXPECT_THAT(complaint([&] { torch.full({4}, NAN, i32); }), HasSubstr("the number nan is no i32"));
  EXPECT_THAT(complaint([&] { torch.full({4}, 2.5, i32); }), HasSubstr("the number 2.5 is no i32"));
  EXPECT_THAT(complaint([&] { torch.full({4}, 1e6, f16); }), HasSubstr("the number 1000000 is no f16"));
  Tensor x = torch.zeros({4}, i8, {}, "x");
  EXPECT_THAT(complaint([&] { x.fill_(128); }), HasSubstr("tensor 'x'"));
  EXPECT_THAT(complaint([&] { x[{{0, 2}}].fill_(-129); }), HasSubstr("the number -129 is no i8"));
  EXPECT_EQ(complaint([&] { torch.full({4}, INFINITY, f16), torch.full({4}, NAN, f32), x.fill_(-128); }),
            "nothing");
}

}  // namespace
}  // namespace kernbench::runtime::tensor_test
