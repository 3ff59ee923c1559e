#include "kernbench/program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <climits>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "isa/program_book.hpp"
#include "isa/program_builder.hpp"
#include "isa/scratch.hpp"
#include "kernbench/isa.hpp"

namespace kernbench::isa::program_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::uint32_t vector_of(ProgramBuilder& b, std::int64_t n) { return b.shape(std::array{n}); }

CommandIndex load(ProgramBuilder& b, std::uint32_t granules, ValueId* id = nullptr) {
  Command c{.kind = CommandKind::dma_read, .place = b.address(0x1000)};
  c.result = b.tile(DType::f16, vector_of(b, 32 * granules), granules);
  if (id != nullptr) *id = c.result;
  return b.append(c, {});
}

TEST(ProgramBuilder, StoresEqualShapesStridesMasksAndLinesOnce) {
  ProgramBuilder b("k", {});
  const std::vector<LaneRange> runs{{0, 4}, {6, 8}}, more{{0, 4}};
  EXPECT_EQ(vector_of(b, 4), vector_of(b, 4));
  EXPECT_NE(vector_of(b, 4), vector_of(b, 5));
  EXPECT_NE(b.shape(std::array<std::int64_t, 2>{4, 1}), vector_of(b, 4));
  EXPECT_EQ(b.strides({1, 2}), b.strides({1, 2}));
  EXPECT_NE(b.strides({1, 2}), b.strides({2, 1}));
  EXPECT_EQ(b.mask(runs), b.mask(runs));
  EXPECT_NE(b.mask(runs), b.mask(more));
  EXPECT_EQ(b.direction("E"), b.direction("E"));
  EXPECT_NE(b.direction("E"), b.direction("W"));
  const std::string one = "f.cpp", two = "f.cpp";  // equal text at two places
  EXPECT_EQ(b.line(one.c_str(), 3), b.line(two.c_str(), 3));
  EXPECT_NE(b.line(one.c_str(), 3), b.line(one.c_str(), 4));
}

TEST(ProgramBuilder, KeepsThousandsOfDistinctShapesApart) {
  ProgramBuilder b("k", {});
  for (std::int64_t n = 0; n < 5000; ++n) ASSERT_EQ(vector_of(b, n), static_cast<std::uint32_t>(n));
  for (std::int64_t n = 0; n < 5000; ++n) ASSERT_EQ(vector_of(b, n), static_cast<std::uint32_t>(n));
}

TEST(ProgramBuilder, GivesEqualNumbersOneValue) {
  ProgramBuilder b("k", {});
  EXPECT_EQ(b.scalar(DType::f16, 0.5), b.scalar(DType::f16, 0.5));
  EXPECT_NE(b.scalar(DType::f16, 0.5), b.scalar(DType::f32, 0.5));
  EXPECT_NE(b.scalar(DType::f32, 0.0), b.scalar(DType::f32, -0.0));
  EXPECT_EQ(b.program().scalar(b.scalar(DType::f32, -7)), -7);
}

TEST(Program, ListsReadsBeyondThreeToo) {
  ProgramBuilder b("k", {});
  std::vector<ValueId> ids(7);
  for (auto& id : ids) load(b, 1, &id);
  const auto all = b.append({.kind = CommandKind::composite}, ids);
  const auto two = b.append({.kind = CommandKind::math}, std::span(ids).first(2));
  EXPECT_THAT(b.program().reads(b.program().command(all)), ::testing::ElementsAreArray(ids));
  EXPECT_THAT(b.program().reads(b.program().command(two)), ElementsAre(ids[0], ids[1]));
  EXPECT_EQ(b.program().value(ids[1]).last_reader, two);
  EXPECT_EQ(b.program().value(ids[6]).last_reader, all);
}

TEST(Program, TakesSeventyTwoBytesPerLoadAndResult) {
  ProgramBuilder b("k", {});
  for (int i = 0; i < 10'000; ++i) load(b, 1);
  const auto program = b.take(1);
  EXPECT_LE(program.memory_bytes(), 72u * 10'000 + 200);  // 36 + 28, an address of 8, and a few tables
}

TEST(Program, FingerprintTellsProgramsApart) {
  const auto fingerprint = [](PeCoord pe, std::uint64_t address, std::int64_t stride, double number) {
    ProgramBuilder b("k", pe);
    Command c{.kind = CommandKind::dma_read, .line = b.line("k.cpp", 1), .place = b.address(address)};
    c.strides = b.strides({stride});
    const auto other = b.scalar(DType::f16, number);
    c.result = b.tile(DType::f16, vector_of(b, 8), 1);
    b.append(c, std::array{other});
    return b.take(1).fingerprint();
  };
  const auto first = fingerprint({0, 0, 0}, 16, 2, 0.5);
  EXPECT_EQ(fingerprint({0, 0, 0}, 16, 2, 0.5), first);
  EXPECT_NE(fingerprint({0, 0, 1}, 16, 2, 0.5), first);
  EXPECT_NE(fingerprint({0, 0, 0}, 32, 2, 0.5), first);
  EXPECT_NE(fingerprint({0, 0, 0}, 16, 3, 0.5), first);
  EXPECT_NE(fingerprint({0, 0, 0}, 16, 2, 0.25), first);
}

/// A load of `n` elements at `address`, and a load of as many from where a reference of it points to.
Program of_pe(int pe, std::uint64_t address, std::int64_t n = 8) {
  ProgramBuilder b("k", {0, 0, pe});
  Command c{.kind = CommandKind::dma_read, .line = b.line("k.cpp", 1), .place = b.address(address)};
  c.result = b.tile(DType::f16, vector_of(b, n), 1);
  b.append(c, {});
  const auto from = b.reference(DType::f16, vector_of(b, n), address + 64, {1});
  b.append({.kind = CommandKind::ipcq_send, .detail = b.direction("E")}, std::array{from});
  return b.take(1);
}

TEST(ProgramBook, LetsProgramsShareAllButAddressesAndPe) {
  ProgramBook book;
  auto first = of_pe(0, 0x1000), second = of_pe(1, 0x2000), other = of_pe(2, 0x1000, 16);
  const auto fingerprint = second.fingerprint();
  for (Program* program : {&first, &second, &other}) book.share(*program);
  EXPECT_TRUE(second.shares_with(first));
  EXPECT_FALSE(other.shares_with(first));
  EXPECT_EQ(second.fingerprint(), fingerprint);
  EXPECT_EQ(second.pe(), (PeCoord{0, 0, 1}));
  EXPECT_EQ(first.address(first.command(0)), 0x1000u);
  EXPECT_EQ(second.address(second.command(0)), 0x2000u);
  EXPECT_EQ(first.address(first.command(1).read[0]), 0x1040u);
  EXPECT_EQ(second.address(second.command(1).read[0]), 0x2040u);
  EXPECT_TRUE(second == of_pe(1, 0x2000));
  EXPECT_FALSE(second == of_pe(1, 0x3000));
  EXPECT_FALSE(second == of_pe(3, 0x2000));
}

TEST(ProgramBook, DoesNotKeepWhatNobodyUses) {
  ProgramBook book;
  auto first = of_pe(0, 0x1000);
  book.share(first);
  first = Program();
  EXPECT_TRUE(first.commands().empty());
  auto second = of_pe(0, 0x1000), third = of_pe(1, 0x1000);
  book.share(second), book.share(third);
  EXPECT_TRUE(third.shares_with(second));
}

/// A program of random commands. `choices` decides what they are, `places` where they go to.
class RandomProgram {
 public:
  RandomProgram(ProgramBuilder& b, unsigned choices, unsigned places)
      : b_(b), choices_(choices), places_(places) {}

  /// From command `from` on others than without it.
  void record(int commands, int from = INT_MAX, unsigned others = 0) {
    for (int i = 0; i < commands; ++i) {
      if (i == from) choices_.seed(others);
      add();
    }
  }

 private:
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(choices_()) % n; }
  std::uint64_t place() { return 64 * (1 + places_() % 1000); }
  std::uint32_t shape() { return vector_of(b_, static_cast<std::int64_t>(1 + below(3))); }
  ValueId any() {
    return values_.empty() ? made() : values_[below(static_cast<std::uint32_t>(values_.size()))];
  }

  ValueId made() {
    Command c{
        .kind = CommandKind::dma_read, .line = b_.line("k.cpp", below(5)), .place = b_.address(place())};
    if (below(4) == 0) c.strides = b_.strides({static_cast<std::int64_t>(1 + below(3))});
    const std::vector<LaneRange> runs = {{0, 1 + static_cast<std::int64_t>(below(2))}};
    if (below(4) == 0) c.detail = below(2) == 0 ? b_.mask(runs) : b_.scattered(runs, std::array{place()});
    c.result = b_.tile(DType::f16, shape(), 1 + below(2));
    b_.append(c, {});
    values_.push_back(c.result);
    return c.result;
  }

  void add() {
    switch (below(8)) {
      case 0:
        return void(made());
      case 1:
        return void(
            b_.append({.kind = CommandKind::dma_write, .place = b_.address(place())}, std::array{any()}));
      case 2:
        return void(values_.push_back(b_.view(b_.tables().base(any()), shape(), {1}, 0)));
      case 3:
        return add_math();
      case 4: {
        const auto from = b_.reference(DType::f16, shape(), place(), {1});
        return void(
            b_.append({.kind = CommandKind::ipcq_send, .detail = b_.direction(below(2) == 0 ? "E" : "W")},
                      std::array{from}));
      }
      case 5: {
        Command c{.kind = CommandKind::ipcq_recv, .detail = b_.direction("W")};
        c.result = b_.placed(DType::f16, shape(), place());
        b_.append(c, {});
        return values_.push_back(c.result);
      }
      case 6:
        return b_.begin_instance();
      default: {
        const std::vector<EpilogueStep> steps(below(2), {MathOp::add, EpiloguePoint::per_k_step, any()});
        const CompositeSpec spec{CompositeOp::gemm, any(), any(), any(), 0, 0};
        b_.append({.kind = CommandKind::composite, .detail = b_.composite(spec, steps)},
                  std::array{spec.a, spec.b, spec.out, steps.empty() ? spec.a : steps[0].operand});
      }
    }
  }

  void add_math() {
    const ValueId a = any(),
                  number = b_.scalar(DType::f16, below(2) == 0 ? -0.0 : static_cast<double>(below(2)));
    Command c{.kind = CommandKind::math, .op = below(2) == 0 ? MathOp::add : MathOp::mul};
    c.result = b_.tile(DType::f16, shape(), 1);
    b_.append(c, std::array{a, number});
    values_.push_back(c.result);
  }

  ProgramBuilder& b_;
  std::mt19937 choices_, places_;
  std::vector<ValueId> values_;
};

// The model has 40 commands. Others are as long, shorter or longer, the same to some command or to the end, at other places.
TEST(ProgramBuilder, MakesTheSameProgramWhateverModelItFollows) {
  int shared = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    ProgramBuilder first("k", {0, 0, 0});
    RandomProgram(first, seed, 1).record(40);
    const auto peak = measure_scratch(first.program(), INT64_MAX).peak_granules;
    const Program model = first.take(peak);
    const int length = random() % 2 == 0 ? 40 : static_cast<int>(random() % 80);
    const int from = random() % 2 == 0 ? INT_MAX : static_cast<int>(random() % 40);
    ProgramBuilder alone("k", {0, 0, 1}), follows("k", {0, 0, 1}, &model);
    RandomProgram(alone, seed, 2).record(length, from, seed + 1);
    RandomProgram(follows, seed, 2).record(length, from, seed + 1);
    const auto known = follows.known_peak();
    const auto measured = measure_scratch(alone.program(), INT64_MAX).peak_granules;
    ASSERT_EQ(known.value_or(measured), measured) << seed;
    if (random() % 2 == 0) {
      ASSERT_EQ(measure_scratch(follows.program(), INT64_MAX).peak_granules, measured) << seed;
      ASSERT_EQ(follows.program().commands().size(), alone.program().commands().size()) << seed;
    }
    const Program expected = alone.take(measured), made = follows.take(measured);
    ASSERT_TRUE(made == expected) << seed;
    ASSERT_EQ(made.fingerprint(), expected.fingerprint()) << seed;
    ASSERT_EQ(made.shares_with(model), length == 40 && from == INT_MAX) << seed;
    shared += made.shares_with(model) ? 1 : 0;
  }
  EXPECT_GT(shared, 50);
}

TEST(ProgramBuilder, DoesNotShowWhatOnlyItsModelHas) {
  const Program model = of_pe(0, 0x1000);
  ProgramBuilder b("k", {0, 0, 1}, &model);
  Command c{.kind = CommandKind::dma_read, .line = b.line("k.cpp", 1), .place = b.address(0x2000)};
  c.result = b.tile(DType::f16, vector_of(b, 8), 1);
  b.append(c, {});
  EXPECT_EQ(b.program().commands().size(), 1u);
  EXPECT_EQ(b.program().values().size(), 1u);
  EXPECT_FALSE(b.known_peak());
}

TEST(ProgramBuilder, FollowsNoModelOfAnotherKernel) {
  const Program model = of_pe(0, 0x1000);
  EXPECT_TRUE(ProgramBuilder("l", {0, 0, 1}, &model).program().commands().empty());
}

// Seven that share, so that there are four and three of them, two of another kind, and one more.
TEST(Program, FingerprintsOfManyAreThoseOfEach) {
  ProgramBook book;
  std::vector<std::shared_ptr<const Program>> programs;
  for (int pe = 0; pe < 10; ++pe) {
    Program one = of_pe(pe, 0x1000u * static_cast<unsigned>(pe + 1), pe < 7 ? 8 : 15 + pe / 9);
    book.share(one);
    programs.push_back(std::make_shared<const Program>(std::move(one)));
  }
  std::vector<const Program*> all;
  std::vector<std::uint64_t> expected;
  for (const auto& program : programs) {
    all.push_back(program.get());
    expected.push_back(program->fingerprint());
  }
  EXPECT_EQ(Program::fingerprints(all), expected);
  EXPECT_TRUE(Program::fingerprints({}).empty());
}

// They would be computed with alike.
TEST(ProgramBook, KeepsZeroAndMinusZeroApart) {
  const auto of = [](double number) {
    ProgramBuilder b("k", {});
    b.scalar(DType::f32, number);
    return b.take(0);
  };
  ProgramBook book;
  Program zero = of(0.0), minus = of(-0.0);
  book.share(zero), book.share(minus);
  EXPECT_FALSE(minus.shares_with(zero));
}

TEST(RowMajor, StridesMultiplyFromTheBack) {
  const auto s = row_major({2, 3, 4});
  EXPECT_THAT(std::vector(s.begin(), s.begin() + 4), ElementsAre(12, 4, 1, 0));
}

TEST(ScratchUse, StopsAtTheFirstCommandAboveTheLimit) {
  ProgramBuilder b("k", {});
  ValueId x = 0, y = 0;
  load(b, 5, &x);
  load(b, 3);
  const auto third = load(b, 4, &y);
  b.append({.kind = CommandKind::dma_write}, std::array{x});
  b.append({.kind = CommandKind::dma_write}, std::array{y});
  // at the commands: 5, 5 + 3, 5 + 4, 5 + 4, 4
  EXPECT_EQ(measure_scratch(b.program(), 9).peak_granules, 9);
  EXPECT_FALSE(measure_scratch(b.program(), 9).first_above_limit);
  EXPECT_EQ(measure_scratch(b.program(), 8).first_above_limit, third);
  EXPECT_THAT(live_tiles(b.program(), third), ElementsAre(x, y));
}

TEST(ScratchUse, OfRandomProgramsIsWhatASlowCountGives) {
  unsigned seed = 1;
  const auto pick = [&](unsigned n) {
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
  };
  for (int round = 0; round < 200; ++round) {
    ProgramBuilder b("k", {});
    std::vector<ValueId> tiles;
    for (int i = 0; i < 30; ++i) {
      std::vector<ValueId> reads;
      for (unsigned n = pick(4); n > 0 && !tiles.empty(); --n)
        reads.push_back(tiles[pick(static_cast<unsigned>(tiles.size()))]);
      Command c{.kind = CommandKind::math};
      c.result = b.tile(DType::i8, vector_of(b, 4), 1 + pick(9));
      tiles.push_back(c.result);
      b.append(c, reads);
    }
    std::int64_t most = 0;
    for (CommandIndex i = 0; i < 30; ++i) {
      const auto live = live_tiles(b.program(), i);
      most = std::max(
          most, std::accumulate(live.begin(), live.end(), std::int64_t{0},
                                [&](auto sum, ValueId id) { return sum + b.program().value(id).granules; }));
    }
    ASSERT_EQ(measure_scratch(b.program(), 1'000'000).peak_granules, most);
  }
}

TEST(Listing, NumbersCommandsAndShowsTheirLines) {
  ProgramBuilder b("copy", {0, 1, 2});
  Command c{.kind = CommandKind::dma_read, .line = b.line("/src/copy.cpp", 7), .place = b.address(0x1000)};
  c.result = b.tile(DType::f16, vector_of(b, 8), 1);
  b.append(c, {});
  b.append({.kind = CommandKind::dma_write, .line = b.line("/src/copy.cpp", 8), .place = b.address(0x2000)},
           std::array{c.result});
  const auto text = listing(b.program());
  EXPECT_THAT(text, HasSubstr("copy on sip0.cube1.pe2\n"));
  EXPECT_THAT(text, HasSubstr("#0    %0:f16[8] = dma_read 0x1000"));
  EXPECT_THAT(text, HasSubstr("copy.cpp:7\n#1    dma_write 0x2000 %0:f16[8]"));
  EXPECT_THAT(text, Not(HasSubstr("/src/")));
}

TEST(Commands, CompareByWhatTheySay) {
  const DmaRead read{
      .address = 1, .result = {.id = 3, .dtype = DType::f16, .shape = {4}}, .strides = {}, .lanes = {}};
  auto other = read;
  EXPECT_EQ(AnyCommand(read), AnyCommand(other));
  other.strides = {2};
  EXPECT_NE(AnyCommand(read), AnyCommand(other));
  other = read;
  other.lanes = std::vector<LaneRange>{};  // no lanes at all, as against all of them
  EXPECT_NE(AnyCommand(read), AnyCommand(other));
  EXPECT_NE(AnyCommand(read), AnyCommand(Fence{}));
  EXPECT_EQ(::testing::PrintToString(AnyCommand(read)), "%3:f16[4] = dma_read 0x1");
}

}  // namespace
}  // namespace kernbench::isa::program_test
