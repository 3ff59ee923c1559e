// Placements of one's own, and tensors in other memories than HBM.
#include <map>

#include "runtime/engine.hpp"
#include "runtime/host_world.hpp"
#include "runtime/random_placement.hpp"

namespace kernbench::runtime::own_placement_test {
namespace {

/// A policy, and for each element (in row-major order) the PEs that should have it.
struct Case {
  std::string name;
  DPPolicy policy;
  Shape shape;
  std::function<std::set<PePlace>(std::int64_t row, std::int64_t col)> where;
};

std::int64_t rows_of(const Shape& s) { return s.elements() / s[s.rank() - 1]; }

/// The n-th PE of a rectangle, counted cube by cube and again from the first.
PePlace nth(IndexRange cubes, IndexRange pes, std::int64_t n) {
  const int wide = pes.end - pes.begin, all = wide * (cubes.end - cubes.begin);
  const int i = static_cast<int>(n % all);
  return {cubes.begin + i / wide, pes.begin + i % wide};
}

/// Cubes or PEs of a machine with so many.
IndexRange some(RandomPlacement& random, int there) {
  const int begin = static_cast<int>(random.upto(there)) - 1;
  return {begin, begin + static_cast<int>(random.upto(there - begin))};
}

Case rectangle(RandomPlacement& random) {
  const IndexRange cubes = some(random, 4), pes = some(random, 8);
  const int n = pes.end - pes.begin, c = cubes.end - cubes.begin;
  const std::int64_t each = random.upto(3), rows = random.upto(5);
  return {"columns over a rectangle",
          DPPolicy{.cube = Split::column_wise, .pe = Split::column_wise}.on(cubes, pes),
          {rows, c * n * each},
          [=](std::int64_t, std::int64_t col) { return std::set{nth(cubes, pes, col / each)}; }};
}

Case dealt_by_list(RandomPlacement& random) {
  std::vector<PePlace> list;
  for (auto n = random.upto(12); n > 0; --n)
    list.push_back({static_cast<int>(random.upto(4)) - 1, static_cast<int>(random.upto(8)) - 1});
  const TileSize tile{random.upto(4), random.upto(4)};
  const Shape shape{random.upto(3), random.upto(9), random.upto(17)};
  const std::int64_t across = (shape[2] + tile.w - 1) / tile.w;
  return {
      "dealt by a list", DPPolicy::dealt(tile, list), shape, [=](std::int64_t row, std::int64_t col) {
        return std::set{list[static_cast<std::size_t>(row / tile.h * across + col / tile.w) % list.size()]};
      }};
}

Case dealt_by_function(RandomPlacement& random) {
  const TileSize tile{random.upto(4), random.upto(4)};
  const auto order = [](TileIndex t) {
    return PePlace{static_cast<int>((t.row + 2 * t.col) % 4), static_cast<int>(t.number % 3)};
  };
  const Shape shape{random.upto(19), random.upto(23)};
  const std::int64_t across = (shape[1] + tile.w - 1) / tile.w;
  return {"dealt by a function", DPPolicy::dealt(tile, order), shape,
          [=](std::int64_t row, std::int64_t col) {
            const std::int64_t r = row / tile.h, c = col / tile.w;
            return std::set{order({r * across + c, r, c})};
          }};
}

Case dealt_in_zigzag(RandomPlacement& random) {
  const IndexRange cubes = some(random, 4), pes = some(random, 8);
  const std::int64_t n = (pes.end - pes.begin) * (cubes.end - cubes.begin), h = random.upto(3);
  const Shape shape{random.upto(90), random.upto(5)};
  return {"zigzag", DPPolicy::dealt({h, 8}, zigzag).on(cubes, pes), shape,
          [=](std::int64_t row, std::int64_t) {
            const std::int64_t i = row / h % (2 * n);
            return std::set{nth(cubes, pes, i < n ? i : 2 * n - 1 - i)};
          }};
}

Case by_head(RandomPlacement& random) {
  const IndexRange cubes = some(random, 4), pes = some(random, 8);
  const int heads = static_cast<int>(random.upto(6)), group = static_cast<int>(random.upto(5));
  const std::int64_t length = random.upto(20), each = (length + group - 1) / group;
  return {"by head",
          DPPolicy::by_head(heads, group).on(cubes, pes),
          {2, heads, length, 3},
          [=](std::int64_t row, std::int64_t) {
            return std::set{nth(cubes, pes, row / length % heads * group + row % length / each)};
          }};
}

Case interleaved(RandomPlacement& random) {
  const IndexRange cubes = some(random, 4), pes = some(random, 8);
  const std::int64_t page = random.upto(9), width = random.upto(13);
  return {"interleaved",
          DPPolicy::interleaved(Bytes(4 * page)).on(cubes, pes),
          {random.upto(40), width},
          [=](std::int64_t row, std::int64_t col) {
            return std::set{nth(cubes, pes, (row * width + col) / page)};
          }};
}

/// Every piece on one or two PEs.
Case given(RandomPlacement& random) {
  const Shape shape{random.upto(12), random.upto(12)};
  std::vector<ShardSpec> shards;
  std::map<std::int64_t, std::set<PePlace>> holders;  // by the last element of the piece
  for (std::int64_t begin = 0; begin < shape.elements();) {
    const std::int64_t n = std::min(random.upto(20), shape.elements() - begin);
    auto& who = holders[begin + n - 1];
    for (auto copies = random.upto(2); copies > 0; --copies)
      who.insert({static_cast<int>(random.upto(4)) - 1, static_cast<int>(random.upto(8)) - 1});
    for (const PePlace at : who)
      shards.insert(shards.begin(), {0, at.cube, at.pe, Bytes(4 * begin), Bytes(4 * n)});
    begin += n;
  }
  return {"given by hand", DPPolicy::given(shards), shape, [=](std::int64_t row, std::int64_t col) {
            return holders.lower_bound(row * shape[1] + col)->second;
          }};
}

std::vector<Case> random_cases(RandomPlacement& random) {
  return {rectangle(random),
          dealt_by_list(random),
          dealt_by_function(random),
          dealt_in_zigzag(random),
          by_head(random),
          interleaved(random),
          given(random)};
}

// Every element lies where the reference says, once on each of those PEs, and nowhere else.
TEST(OwnPlacement, EveryElementLiesWhereItShould) {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    RandomPlacement random(seed);
    for (const Case& c : random_cases(random)) {
      SCOPED_TRACE(::testing::Message() << c.name << " " << to_string(c.shape) << " seed " << seed);
      const Layout layout(c.policy, c.shape, 4, 8, 4);
      const std::int64_t width = c.shape[c.shape.rank() - 1];
      std::map<std::int64_t, std::multiset<PePlace>> found;
      for (const Holder& h : layout.holders())
        for (const LayoutTile& tile : layout.tiles(layout.blocks()[h.block]))
          for (std::int64_t r = 0; r < tile.rect.rows; ++r)
            for (std::int64_t k = 0; k < tile.rect.cols; ++k)
              found[(tile.rect.row + r) * width + tile.rect.col + k].insert({h.cube, h.pe});
      for (std::int64_t row = 0; row < rows_of(c.shape); ++row)
        for (std::int64_t col = 0; col < width; ++col) {
          const auto expected = c.where(row, col);
          ASSERT_EQ(found[row * width + col], std::multiset<PePlace>(expected.begin(), expected.end()));
        }
    }
  }
}

// Unequal shards lie end to end, by cube and PE.
TEST(OwnPlacement, StorageHasNoHoles) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    RandomPlacement random(seed);
    for (const Case& c : random_cases(random)) {
      const Layout layout(c.policy, c.shape, 4, 8, 4);
      std::int64_t next = 0;
      for (const LayoutBlock& block : layout.blocks())
        for (const LayoutTile& tile : layout.tiles(block)) {
          ASSERT_EQ(tile.offset, next) << c.name;
          next += tile.rect.rows * tile.rect.cols * 4;
        }
      ASSERT_EQ(next, layout.bytes());
    }
  }
}

TEST(OwnPlacement, InterleavedStorageIsRowMajor) {
  const Layout layout(DPPolicy::interleaved(Bytes(12)), {3, 5}, 4, 8, 4);
  for (const LayoutTile& tile : layout.tiles())
    EXPECT_EQ(tile.offset, 4 * (tile.rect.row * 5 + tile.rect.col));
}

// In HBM and in TCM; an SRAM is of a whole cube (OtherMemories).
TEST(OwnPlacement, TensorsAreTheHostsArrayWhereverTheyLie) {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    Torch torch(small());
    RandomPlacement random(seed);
    const MemorySpace mem = seed % 2 == 0 ? MemorySpace::Hbm : MemorySpace::Tcm;
    for (const Case& c : random_cases(random)) {
      SCOPED_TRACE(::testing::Message()
                   << c.name << " " << to_string(c.shape) << " seed " << seed << " in " << to_string(mem));
      NdArray expected = counting(c.shape);
      Tensor x = torch.from_numpy(expected, c.policy, "x", mem);
      ASSERT_EQ(x.numpy(), expected);
      const std::int64_t at = random.upto(c.shape[0]) - 1, width = c.shape.elements() / c.shape[0];
      x[{tl::index(at)}].fill_(-7);
      for (std::int64_t i = at * width; i < (at + 1) * width; ++i)
        expected.view<std::int32_t>()[static_cast<std::size_t>(i)] = -7;
      ASSERT_EQ(x.numpy(), expected);
    }
  }
}

void negate_shards(tl::Context& tl, tl::Ptr x) {
  for (const auto& mine : tl.shards(x)) tl.store(mine.ptr, -tl.load(mine.ptr, mine.shape, mine.dtype));
}

TEST(OwnPlacement, KernelsFindTheirShards) {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    Torch torch(small());
    RandomPlacement random(seed);
    for (const Case& c : random_cases(random)) {
      if (c.name == "interleaved") continue;
      SCOPED_TRACE(::testing::Message() << c.name << " " << to_string(c.shape) << " seed " << seed);
      NdArray expected = counting(c.shape);
      Tensor x = torch.from_numpy(expected, c.policy);
      std::set<PePlace> holders;
      for (const ShardSpec& s : x.shards()) holders.insert({s.cube, s.pe});
      torch.launch({"negate", {}, {holders.begin(), holders.end()}}, negate_shards, x);
      for (auto& element : expected.view<std::int32_t>()) element = -element;
      ASSERT_EQ(x.numpy(), expected);
    }
  }
}

// A kernel reads an interleaved tensor as a GPU's would: by its pointer, row-major, across pages.
TEST(OwnPlacement, AnInterleavedTensorIsReadByItsPointerAndHasNoShards) {
  Torch torch(small());
  Tensor x = torch.from_numpy(counting({16, 48}), DPPolicy::interleaved(Bytes(256)), "x");
  Tensor y = torch.zeros({16}, i32, {}, "y");
  const auto sums = [](tl::Context& tl, tl::Ptr in, tl::Ptr out) {
    tl.store(out, tl.sum(tl.load(in, {16, 48}, i32), 1));
  };
  torch.launch({"sums", Grid{1, 1, {2, 5}}}, sums, x, y);
  for (std::int32_t row = 0; row < 16; ++row)  // 48 numbers from 48 · row on
    EXPECT_EQ(y.numpy().at<std::int32_t>({row}), 48 * 48 * row + 47 * 48 / 2);
  const auto shard = [](tl::Context& tl, tl::Ptr in) { tl.shard(in); };
  EXPECT_THAT(complaint([&] { torch.launch("shard", shard, x); }), HasSubstr("tensor 'x' is interleaved"));
}

std::string refusal(const DPPolicy& policy, const Shape& shape = {4, 8}) {
  return complaint([&] { resolve_dp_policy(policy, shape, 4, 8, 4, 0); });
}

TEST(OwnPlacement, OverlapsGapsAndPesThatDoNotExistAreRefused) {
  const auto piece = [](int pe, std::int64_t begin, std::int64_t bytes) {
    return ShardSpec{0, 0, pe, Bytes(begin), Bytes(bytes)};
  };
  EXPECT_EQ(refusal(DPPolicy::given({piece(0, 0, 64), piece(1, 64, 64)})), "nothing");
  EXPECT_THAT(refusal(DPPolicy::given({piece(0, 0, 64), piece(1, 60, 68)})),
              HasSubstr("shards overlap: bytes 60 to 128"));
  EXPECT_THAT(refusal(DPPolicy::given({piece(0, 0, 60), piece(1, 64, 64)})),
              HasSubstr("nobody holds bytes 60 to 64"));
  EXPECT_THAT(refusal(DPPolicy::given({piece(0, 0, 64)})), HasSubstr("nobody holds bytes 64 to 128"));
  EXPECT_THAT(refusal(DPPolicy::given({})), HasSubstr("nobody holds bytes 0 to 128"));
  EXPECT_THAT(refusal(DPPolicy::given({piece(0, 0, 130)})), HasSubstr("[4, 8] has 128 bytes"));
  EXPECT_THAT(refusal(DPPolicy::given({piece(0, 0, 62), piece(0, 62, 66)})), HasSubstr("in elements of 4"));
  EXPECT_THAT(refusal(DPPolicy::given({piece(2, 0, 128), piece(2, 0, 128)})), HasSubstr("same bytes twice"));
  EXPECT_THAT(refusal(DPPolicy::given({piece(8, 0, 128)})), HasSubstr("piece 0 goes to cube 0 PE 8"));
  EXPECT_THAT(refusal(DPPolicy::dealt({2, 2}, {{0, 0}, {4, 0}})), HasSubstr("piece 1 goes to cube 4 PE 0"));
  EXPECT_THAT(refusal(DPPolicy::dealt({2, 2}, std::vector<PePlace>())), HasSubstr("empty list"));
  EXPECT_THAT(refusal(DPPolicy::dealt({0, 2}, zigzag)), HasSubstr("tiles of 0 × 2"));
  EXPECT_THAT(refusal(DPPolicy::dealt({2, 2}, {{0, 0}}).on({0, 1}, {0, 1})), HasSubstr("leave on(…) out"));
  EXPECT_THAT(refusal(DPPolicy().on({2, 5}, {0, 8})), HasSubstr("3 cubes from cube 2 on"));
  EXPECT_THAT(refusal(DPPolicy().on({4, 5}, {0, 8})), HasSubstr("cube 4 does not exist"));
  EXPECT_THAT(refusal(DPPolicy().on({0, 4}, {3, 3})), HasSubstr("0 PEs from PE 3 on"));
  EXPECT_THAT(refusal(DPPolicy::by_head(3, 2)), HasSubstr("[4, 8] does not hold 3 heads"));
  EXPECT_THAT(refusal(DPPolicy::interleaved(Bytes(6))), HasSubstr("pages of 6 bytes"));
}

// ── other memories ──

const DPPolicy kColumns{.cube = Split::column_wise, .pe = Split::column_wise};
const DPPolicy kByCube{.cube = Split::row_wise};

TEST(OtherMemories, TensorsAreTheHostsArrayInEveryMemory) {
  for (const MemorySpace mem : {MemorySpace::Hbm, MemorySpace::Tcm, MemorySpace::Sram}) {
    SCOPED_TRACE(to_string(mem));
    Torch torch(small());
    const DPPolicy policy = mem == MemorySpace::Sram ? kByCube : kColumns;
    Tensor x = torch.from_numpy(counting({32, 64}), policy, "x", mem);
    EXPECT_EQ(x.mem(), mem);
    EXPECT_EQ(x.numpy(), counting({32, 64}));
    EXPECT_EQ(torch.zeros({32, 64}, i32, policy, "z", mem).numpy(), filled({32, 64}, 0));
    Tensor y = torch.empty({32, 64}, i32, policy, "y", mem);
    const auto copy = [](tl::Context& tl, tl::Ptr in, tl::Ptr out) {
      const auto from = tl.shard(in), to = tl.shard(out);
      tl.store(to.ptr, tl.load(from.ptr, from.shape, i32));
    };
    // The PEs of a cube share what lies in its SRAM: one of them writes there.
    LaunchOptions options{.name = "copy", .grid = Grid{mem == MemorySpace::Sram ? 1 : 8, 4}};
    torch.launch(options, copy, x, y);
    EXPECT_EQ(y.numpy(), counting({32, 64}));
    EXPECT_TRUE(torch.hazards().empty());
  }
}

// 16 MiB less 4 of the scheduler and 1 of scratch are 11 MiB of a TCM.
TEST(OtherMemories, ATensorInTcmCountsAgainstIt) {
  Torch torch(small());
  auto& pools = torch.engine().space().pools();
  const PeCoord pe{0, 0, 0};
  const Bytes free = pools.usage(MemorySpace::Tcm, pe).free;
  EXPECT_EQ(free, Bytes(11 << 20));
  Tensor x = torch.empty({8 << 20}, i8, {}, "x", MemorySpace::Tcm);
  EXPECT_EQ(pools.usage(MemorySpace::Tcm, pe).free, Bytes(3 << 20));
  const std::string text = complaint([&] { torch.empty({4 << 20}, i8, {}, "y", MemorySpace::Tcm); });
  EXPECT_THAT(text, HasSubstr("TCM"));
  EXPECT_THAT(text, HasSubstr("held by x (8 MiB)"));
  x = {};
  torch.synchronize();
  EXPECT_EQ(pools.usage(MemorySpace::Tcm, pe).free, free);
}

TEST(OtherMemories, AnSramHoldsOneCopyForItsCube) {
  Torch torch(small());
  auto& pools = torch.engine().space().pools();
  const Bytes before = pools.usage(MemorySpace::Sram, {0, 1, 0}).free;
  Tensor x = torch.zeros({4, 1 << 20}, i8, kByCube, "x", MemorySpace::Sram);
  EXPECT_EQ(pools.usage(MemorySpace::Sram, {0, 1, 0}).free, before - Bytes(1 << 20));
  EXPECT_THAT(complaint([&] {
                torch.zeros({32, 64}, i8, kColumns, "y", MemorySpace::Sram);
              }),
              HasSubstr("the PEs of cube 0 are to hold different parts in its SRAM"));
}

// A read from a PE's own TCM crosses no fabric and no HBM: it is faster than one from its slice.
TEST(OtherMemories, TcmIsFasterThanHbm) {
  const auto time = [](MemorySpace mem) {
    Torch torch(small());
    Tensor x = torch.zeros({256, 256}, f16, {}, "x", mem);
    const auto load = [](tl::Context& tl, tl::Ptr in) { tl.load(in, {256, 256}, f16); };
    const Handle handle = torch.launch("load", load, x);
    torch.wait(handle);
    return handle.trace().pe_exec;
  };
  EXPECT_LT(time(MemorySpace::Tcm), time(MemorySpace::Hbm));
}

// ── the critical path of a launch ──

TEST(LaunchPath, IsOfThatLaunchAloneAndAddsUp) {
  Torch torch(small());
  Tensor x = torch.zeros({512, 512}, f16, {}, "x");
  const auto load = [](tl::Context& tl, tl::Ptr in) { tl.store(in, tl.load(in, {256, 512}, f16) + 1); };
  torch.launch("first", load, x);
  torch.launch("second", load, x);
  torch.synchronize();
  const auto traces = torch.traces();
  for (const Trace& trace : traces) {
    const auto path = trace.critical_path();
    EXPECT_EQ(path.length(), trace.total) << trace.name;
    Time sum;
    for (const auto& piece : path.pieces) sum += piece.end - piece.begin;
    EXPECT_EQ(sum, trace.total) << trace.name;
  }
  const auto path = traces.back().critical_path();  // of the second launch; the write of x is not in it
  for (const auto& share : path.by_line) EXPECT_THAT(share.name, ::testing::Not(HasSubstr("write x")));
  EXPECT_THAT(path.by_line.front().name, HasSubstr("own_placement_test.cpp"));
}

TEST(LaunchPath, NeedsItsContext) {
  std::vector<Trace> traces;
  {
    Torch torch(small());
    torch.zeros({1}, f16);
    torch.synchronize();
    traces = torch.traces();
  }
  EXPECT_THAT(complaint([&] { traces.front().critical_path(); }), HasSubstr("context of this trace is gone"));
}

}  // namespace
}  // namespace kernbench::runtime::own_placement_test
