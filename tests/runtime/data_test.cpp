#include <cmath>
#include <filesystem>
#include <random>

#include "runtime/engine.hpp"
#include "runtime/host_world.hpp"
#include "runtime/log_estimate.hpp"

namespace kernbench::runtime::data_test {
namespace {

const DPPolicy kColumns{.cube = Split::column_wise, .pe = Split::column_wise};

NdArray random_f16(unsigned seed, const Shape& shape) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> number(-1, 1);
  NdArray array(f16, shape);
  for (F16& x : array.view<F16>()) x = F16(number(random));
  return array;
}

/// y = x · w, with x on every PE and columns of w and y.
void project(tl::Context& tl, tl::Ptr x, tl::Ptr w, tl::Ptr y, std::int64_t m, std::int64_t k) {
  const auto &weights = tl.shard(w), &out = tl.shard(y);
  tl.composite("gemm", tl.ref(x, {m, k}, f16), tl.ref(weights.ptr, weights.shape, f16),
               tl.ref(out.ptr, out.shape, f16));
}

// As the contract has it: over k ascending, one fused multiply-add each, rounded once.
TEST(Data, AProductOverAllPesOfASipIsRightToTheBit) {
  const std::int64_t m = 32, k = 64, n = 256;
  const NdArray a = random_f16(1, {m, k}), b = random_f16(2, {k, n});
  Torch torch(load());
  Tensor x = torch.from_numpy(a, DPPolicy{}, "x"), w = torch.from_numpy(b, kColumns, "w");
  Tensor y = torch.empty({m, n}, f16, kColumns, "y");
  torch.launch("project", project, x, w, y, m, k);
  const NdArray c = y.numpy();
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::int64_t l = 0; l < k; ++l)
        sum = std::fmaf(static_cast<float>(a.at<F16>({i, l})), static_cast<float>(b.at<F16>({l, j})), sum);
      ASSERT_EQ(static_cast<float>(c.at<F16>({i, j})), static_cast<float>(F16(sum))) << i << " " << j;
    }
  EXPECT_TRUE(torch.hazards().empty());
}

/// A product in f32, stored into the tensor as it is.
void dot_into(tl::Context& tl, tl::Ptr x, tl::Ptr y, std::int64_t n) {
  const auto a = tl.load(x, {n, n}, f16);
  tl.store(y, tl.dot(a, a));
}

// f32 bytes in an f16 tensor would be garbage, and twice as many as there is room for.
TEST(Data, AProductInF32StoredIntoAnF16TensorIsTheRoundedProduct) {
  const std::int64_t n = 16;
  const NdArray a = random_f16(3, {n, n});
  Torch torch(small());
  Tensor x = torch.from_numpy(a), y = torch.zeros({n, n}, f16), z = torch.zeros({n, n}, f32);
  torch.launch("dot_into", dot_into, x, y, n);
  torch.launch("dot_into", dot_into, x, z, n);
  const NdArray half = y.numpy(), single = z.numpy();
  for (std::size_t i = 0; i < static_cast<std::size_t>(n * n); ++i)
    ASSERT_EQ(static_cast<float>(half.view<F16>()[i]), static_cast<float>(F16(single.view<float>()[i]))) << i;
  EXPECT_NE(half.view<F16>()[0], F16(0.0F));
}

void add(tl::Context& tl, tl::Ptr x, int n) {
  const auto& mine = tl.shard(x);
  tl.store(mine.ptr, tl.load(mine.ptr, mine.shape, mine.dtype) + n);
}

// Reads in between see what was then, and go on from there.
TEST(Data, ReadsInBetweenSeeThePresent) {
  Torch torch(small());
  Tensor x = torch.zeros({32}, i32, kColumns);
  for (int i = 1; i <= 5; ++i) {
    torch.launch("add", add, x, 1);
    EXPECT_EQ(x.numpy(), filled({32}, i));
    x.fill_(i);
    torch.launch("add", add, x, 0);
  }
  EXPECT_EQ(x.numpy(), filled({32}, 5));
}

// A read of one device's tensor does not see, nor disturb, what the other device has not done yet.
TEST(Data, ReadsWithOtherDevicesAtWork) {
  Torch torch(load());
  torch.ahbm.set_device(1);
  Tensor far = torch.zeros({1 << 14}, i32, kColumns);
  for (int i = 0; i < 10; ++i) torch.launch("add", add, far, 1);
  torch.ahbm.set_device(0);
  Tensor near = torch.zeros({256}, i32, kColumns);
  torch.launch("add", add, near, 1);
  EXPECT_EQ(near.numpy(), filled({256}, 1));
  EXPECT_EQ(far.numpy(), filled({1 << 14}, 10));
}

TEST(Data, TheSameOnDiskAsInMemory) {
  std::vector<std::uint64_t> hashes;
  for (const LogStorage storage : {LogStorage::memory, LogStorage::disk}) {
    Torch torch(small(), {.log = storage, .log_folder = std::filesystem::temp_directory_path().string()});
    Tensor x = torch.zeros({32}, i32, kColumns);
    for (int i = 1; i <= 3; ++i) {
      torch.launch("add", add, x, 1);
      EXPECT_EQ(x.numpy(), filled({32}, i));
    }
    hashes.push_back(torch.log().hash());
  }
  EXPECT_EQ(hashes[0], hashes[1]);
}

// 300 launches of the same kernel: with a log every command stays, without one only those of the last launches may.
TEST(Data, WithoutALogProgramsGoWhenTheyHaveEnded) {
  const auto programs_left = [](LogStorage log) {
    std::size_t left = 0;
    Torch torch(small(), {.data = false, .log = log});
    Tensor x = torch.from_numpy(counting({32}), kColumns);
    for (int i = 0; i < 300; ++i) torch.wait(torch.launch("add", add, x, 1));
    for (const auto& request : torch.engine().requests())
      if (const auto* launch = dynamic_cast<const LaunchRequest*>(request.get()))
        left += launch->programs().size();
    return left;
  };
  EXPECT_EQ(programs_left(LogStorage::memory), 300u * 32);
  EXPECT_LE(programs_left(LogStorage::none), 32u);
}

// The host knows what it wrote where no launch wrote since, whether or not the programs are still there.
TEST(NoDataMode, WhatLaunchesWroteIsUnknownAfterTheirProgramsAreGone) {
  Torch torch(small(), {.data = false, .log = LogStorage::none});
  Tensor x = torch.from_numpy(counting({32}), kColumns), y = torch.from_numpy(counting({32}), kColumns);
  torch.wait(torch.launch("add", add, x, 1));
  EXPECT_THROW(x.numpy(), NoData);
  EXPECT_EQ(y.numpy(), counting({32}));
  x.copy_(counting({32}));
  EXPECT_EQ(x.numpy(), counting({32}));
}

/// Writes every second element of a PE's part, from the last to the first, then those of another tensor.
void write_backwards(tl::Context& tl, tl::Ptr a, tl::Ptr b) {
  for (const tl::Ptr& tensor : {a, b}) {
    const auto mine = tl.shard(tensor);
    for (std::int64_t i = mine.shape[0] - 2; i >= 0; i -= 2) tl.store(mine.ptr + 4 * i, tl.full({1}, 7, i32));
  }
}

// Many small writes in no order, of several PEs, in tensors that lie side by side: each element alone counts.
TEST(NoDataMode, OfATensorThatIsWrittenInPartsTheOthersStayKnown) {
  for (const LogStorage log : {LogStorage::memory, LogStorage::none}) {
    Torch torch(small(), {.data = false, .log = log});
    Tensor before = torch.from_numpy(counting({4096}), kColumns),
           a = torch.from_numpy(counting({4096}), kColumns), b = torch.from_numpy(counting({4096}), kColumns),
           behind = torch.from_numpy(counting({4096}), kColumns);
    torch.wait(torch.launch("write_backwards", write_backwards, a, b));
    EXPECT_EQ(before.numpy(), counting({4096}));
    EXPECT_EQ(behind.numpy(), counting({4096}));
    for (Tensor* t : {&a, &b}) {
      for (const std::int64_t i : {0, 64, 4094}) EXPECT_THROW(((*t)[{{i, i + 1}}].numpy()), NoData) << i;
      for (const std::int64_t i : {1, 65, 4095})
        EXPECT_EQ(((*t)[{{i, i + 1}}].numpy()), filled({1}, static_cast<std::int32_t>(i))) << i;
    }
  }
}

// On two SIPs, with launches whose programs have gone when the hash is asked for, and sends that end in another partition.
TEST(NoDataMode, HashAndSummaryAreTheSameWhereverRecordsAreKept) {
  const auto told = [](LogStorage log) {
    Torch torch(small(),
                {.data = false, .log = log, .log_folder = std::filesystem::temp_directory_path().string()});
    Tensor x = torch.from_numpy(counting({32}), kColumns);
    for (int i = 0; i < 3; ++i) torch.wait(torch.launch("add", add, x, 1));
    const trace::Summary summary = torch.log_summary();
    EXPECT_EQ(summary.pes.size(), 32u);
    EXPECT_EQ(summary.total.dma_read.count, 3u * 32);
    EXPECT_GT(summary.total.math.busy, 0_ps);
    return std::tuple(torch.log_hash(), summary.records, summary.exec, summary.total.dma_read.busy,
                      summary.total.math.busy);
  };
  EXPECT_EQ(told(LogStorage::memory), told(LogStorage::none));
  EXPECT_EQ(told(LogStorage::memory), told(LogStorage::disk));
}

TEST(Data, WithoutALogThereIsNothingToSee) {
  EXPECT_THAT(complaint([] { Torch(small(), {.log = LogStorage::none}); }),
              HasSubstr("data is on, but the op log"));
  Torch torch(small(), {.data = false, .log = LogStorage::none});
  Tensor x = torch.zeros({32}, i32, kColumns);
  torch.launch("add", add, x, 1);
  torch.synchronize();
  EXPECT_EQ(torch.traces().size(), 3u);
  EXPECT_THAT(complaint([&] { torch.log(); }), HasSubstr("switched off"));
  EXPECT_THAT(complaint([&] { torch.hazards(); }), HasSubstr("switched off"));
}

// ── how many records there will be ──

// The estimate is exact but for what the host's requests write.
TEST(LogEstimate, CountsWhatProgramsWrite) {
  Torch torch(small(), {.data = false});
  Tensor a = torch.zeros({96, 128}, f16), b = torch.zeros({128, 64}, f16), c = torch.zeros({96, 64}, f16);
  std::int64_t expected = 0;
  torch.launch(
      "product",
      [&](tl::Context& tl, tl::Ptr pa, tl::Ptr pb, tl::Ptr pc) {
        tl.composite("gemm", tl.ref(pa, {96, 128}, f16), tl.ref(pb, {128, 64}, f16),
                     tl.ref(pc, {96, 64}, f16));
        tl.store(pc, tl.load(pa, {32}, f16) + 1);
        expected = records_of(tl.program(), torch.engine().processors().spec());
      },
      a, b, c);
  torch.synchronize();
  // 3 · 2 output tiles, each 2 steps of two loads and a product, and one store; then a load, an add and a store.
  EXPECT_EQ(expected, 6 * (2 * 3 + 1) + 3);
  std::int64_t found = 0;
  for (const trace::Op& op : torch.log().ops())
    if (op.command != trace::Op::kNoCommand) ++found;
  EXPECT_EQ(found, expected);
}

// ── from an operation to what it carried out ──

TEST(Commands, OfOperationsAreThoseOfTheirProgram) {
  Torch torch(small());
  Tensor x = torch.from_numpy(counting({64}), DPPolicy{.pe = Split::column_wise, .num_cubes = 1}, "x");
  torch.launch("add", add, x, 1);
  torch.synchronize();
  std::map<std::string, int> seen;
  for (const trace::Op& op : torch.log().ops()) {
    if (op.command == trace::Op::kNoCommand) {
      EXPECT_THAT(complaint([&] { torch.command(op); }), HasSubstr("carries out no command"));
      continue;
    }
    const isa::AnyCommand command = torch.command(op);
    ++seen[std::string(op.kind)];
    if (op.kind == "dma_read") {
      EXPECT_EQ(command.as<isa::DmaRead>().address,
                x.ptr().address() + 32u * static_cast<std::uint32_t>(op.pe.pe));
    } else if (op.kind == "math") {
      EXPECT_EQ(command.as<isa::Math>().op, MathOp::add);
    }
  }
  EXPECT_EQ(seen["dma_read"], 8);
  EXPECT_EQ(seen["math"], 8);
  EXPECT_EQ(seen["dma_write"], 8);
  trace::Op foreign = torch.log().ops().back();
  foreign.command = 0, foreign.launch = 1000;
  EXPECT_THAT(complaint([&] { torch.command(foreign); }), HasSubstr("no such launch"));
}

// ── data off ──

TEST(NoDataMode, WhatTheHostWroteCanBeReadWhereNobodyWroteSince) {
  Torch torch(small(), {.data = false});
  Tensor x = torch.from_numpy(counting({64}), DPPolicy{.pe = Split::column_wise, .num_cubes = 1}, "x");
  EXPECT_EQ(x.numpy(), counting({64}));
  const Time before = torch.now();
  EXPECT_GT(before, 0_ps);  // the read took its time
  torch.launch(
      "third",
      [](tl::Context& tl, tl::Ptr p) {
        if (tl.program_id(0) == 3) tl.store(tl.shard(p).ptr, tl.zeros({4}, i32));  // elements 24 … 27
      },
      x);
  EXPECT_THROW(x.numpy(), NoData);
  EXPECT_THAT(complaint([&] { x.numpy(); }), HasSubstr("tensor 'x'"));
  EXPECT_EQ(values(x[{{20, 24}}].numpy()), (std::vector<std::int32_t>{20, 21, 22, 23}));
  EXPECT_EQ(values(x[{{28, 30}}].numpy()), (std::vector<std::int32_t>{28, 29}));
  EXPECT_THROW((x[{{27, 29}}].numpy()), NoData);
  x[{{24, 28}}].fill_(-1);
  EXPECT_EQ(values(x[{{23, 26}}].numpy()), (std::vector<std::int32_t>{23, -1, -1}));
}

// A fill is known by its element. Bytes that the host passes are kept for tensors up to 1 MiB.
TEST(NoDataMode, OfFillsTheValueIsKeptAndOfLargeArraysNothing) {
  Torch torch(small(), {.data = false});
  constexpr std::int64_t kMost = 1 << 18;
  Tensor filled_one = torch.full({kMost + 1}, 3, i32), kept = torch.from_numpy(counting({kMost})),
         large = torch.from_numpy(counting({kMost + 1}), {}, "large");
  EXPECT_EQ(filled_one.numpy(), filled({kMost + 1}, 3));
  EXPECT_EQ(kept.numpy(), counting({kMost}));
  EXPECT_THAT(
      complaint([&] { large.numpy(); }),
      HasSubstr("tensor 'large', but data is off and of bytes that the host passes to tensors larger"));
  EXPECT_THAT(to_string(large), HasSubstr("values not known"));
  large.fill_(7);
  EXPECT_EQ(large.numpy(), filled({kMost + 1}, 7));
  filled_one.copy_(counting({kMost + 1}));
  EXPECT_THROW(filled_one.numpy(), NoData);
}

// Writes of all kinds over each other, against an array in which every element is known or not.
TEST(NoDataMode, RandomWritesAreKnownWhereTheHostWroteLast) {
  constexpr std::int64_t kElements = 96;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::int64_t n) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(n));
    };
    Torch torch(small(), {.data = false});
    Tensor x = torch.empty({kElements}, i32);
    std::vector<std::optional<std::int32_t>> expected(kElements);
    for (int step = 0; step < 12; ++step) {
      const std::int64_t begin = below(kElements), end = begin + 1 + below(kElements - begin);
      const auto kind = below(3);
      const auto value = static_cast<std::int32_t>(100 * step);
      if (kind == 0) x[{{begin, end}}].fill_(value);
      if (kind == 1) x[{{begin, end}}].copy_(counting({end - begin}));
      if (kind == 2)
        torch.launch(
            "store",
            [=](tl::Context& tl, tl::Ptr p) { tl.store(p + 4 * begin, tl.zeros({end - begin}, i32)); }, x);
      for (std::int64_t i = begin; i < end; ++i)
        expected[static_cast<std::size_t>(i)] =
            kind == 2 ? std::nullopt
                      : std::optional(kind == 0 ? value : static_cast<std::int32_t>(i - begin));
    }
    for (std::int64_t i = 0; i < kElements; ++i) {
      const auto& known = expected[static_cast<std::size_t>(i)];
      const auto read = [&] { return values(x[{{i, i + 1}}].numpy()).front(); };
      if (known)
        ASSERT_EQ(read(), *known) << "seed " << seed << ", element " << i;
      else
        ASSERT_THROW(read(), Error) << "seed " << seed << ", element " << i;
    }
  }
}

TEST(NoDataMode, TakesTheSameTime) {
  std::vector<Time> ends;
  std::vector<std::uint64_t> hashes;
  for (const bool data : {true, false}) {
    Torch torch(small(), {.data = data});
    Tensor x = torch.zeros({1 << 14}, i32, kColumns);
    torch.launch("add", add, x, 1);
    torch.synchronize();
    ends.push_back(torch.now());
    hashes.push_back(torch.log().hash());
  }
  EXPECT_EQ(ends[0], ends[1]);
  EXPECT_EQ(hashes[0], hashes[1]);
}

// ── hazards ──

void store_at(tl::Context& tl, tl::Ptr x, int apart) {
  tl.store(x + tl.program_id(0) * apart, tl.full({64}, tl.program_id(0), i32));
}

TEST(Hazards, StoresOfTwoPesToTheSameBytesAreFoundAndNamed) {
  Torch torch(small());
  Tensor x = torch.empty({1024}, i32, {}, "shared");
  torch.launch({"apart", Grid{2, 1}}, store_at, x, 256);
  torch.synchronize();
  EXPECT_TRUE(torch.hazards().empty());
  torch.launch({"overlap", Grid{2, 1}}, store_at, x, 128);
  torch.synchronize();
  const auto hazards = torch.hazards();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].kind, "write-write");
  EXPECT_THAT(hazards[0].text, HasSubstr("kernel 'overlap' on sip0.cube0.pe1 at data_test.cpp:"));
  EXPECT_THAT(hazards[0].text, HasSubstr("tensor 'shared' +0x80"));
  EXPECT_EQ(torch.hazards().size(), 1u);  // asked again, it is the same one
}

// One launch after the other, host writes before and after, memory used again by another tensor: all in order.
TEST(Hazards, ThereAreNoneBetweenRequestsOfAStream) {
  Torch torch(small());
  for (int i = 0; i < 3; ++i) {
    Tensor x = torch.zeros({1024}, i32);
    torch.launch({"first", Grid{1, 1}}, store_at, x, 0);
    torch.launch({"second", Grid{1, 1}}, store_at, x, 0);
    x.fill_(1);
    torch.launch({"apart", Grid{4, 1}}, store_at, x, 256);
    x.numpy();
  }
  EXPECT_TRUE(torch.hazards().empty());
}

/// Two PEs add to the same numbers again and again, in no order.
void add_together(tl::Context& tl, tl::Ptr x, int times) {
  for (int i = 0; i < times; ++i) tl.store(x, tl.load(x, {64}, i32) + 1);
}

// 2 · 1000 · (load, add, store) records: enough for a thread of their own, in memory and from disk.
TEST(Hazards, AreTheSameIfTheyAreLookedForWhileNumbersAreComputed) {
  const auto run = [](bool beside, LogStorage log) {
    Torch torch(
        small(),
        {.hazards = beside, .log = log, .log_folder = std::filesystem::temp_directory_path().string()});
    Tensor x = torch.zeros({64}, i32, {}, "shared");
    torch.launch({"together", Grid{2, 1}}, add_together, x, 1000);
    const NdArray numbers = x.numpy();
    torch.launch({"overlap", Grid{2, 1}}, store_at, x, 0);
    torch.synchronize();
    std::vector<std::string> found;
    for (const HazardReport& h : torch.hazards()) found.push_back(h.text);
    return std::pair(numbers, found);
  };
  const auto [numbers, found] = run(false, LogStorage::memory);
  EXPECT_EQ(found.size(), 3u);  // store and store, load and store; then those of the second kernel
  EXPECT_GT(numbers.at<std::int32_t>({0}), 0);
  for (const LogStorage log : {LogStorage::memory, LogStorage::disk}) {
    const auto [same_numbers, same_found] = run(true, log);
    EXPECT_EQ(same_numbers, numbers);
    EXPECT_EQ(same_found, found);
  }
}

/// Every PE adds its number to the same 64 elements, which lie on PE 0.
void add_number(tl::Context& tl, tl::Ptr x) { tl.atomic_add(x, tl.full({64}, tl.program_id(0) + 1, i32)); }
void take_largest(tl::Context& tl, tl::Ptr x) { tl.atomic_max(x, tl.full({64}, tl.program_id(0), i32)); }

// 1 + 2 + … + 8, whatever the order; each is a read and a write.
TEST(Data, AtomicsOfAllPesOnTheSameBytesAreNoHazardAndLoseNothing) {
  Torch torch(small());
  Tensor x = torch.full({64}, 100, i32);
  torch.launch({"add", Grid{8, 1}}, add_number, x);
  EXPECT_EQ(x.numpy(), filled({64}, 136));
  EXPECT_TRUE(torch.hazards().empty());
  EXPECT_EQ(torch.log().summary().total.dma_read.count, 8u);
  EXPECT_EQ(torch.log().summary().total.dma_write.count, 8u);
}

/// Lanes 0 … 63 of each PE fall on 3 places of an array on PE 0: lane i on place i % 3.
void count_places(tl::Context& tl, tl::Ptr x) {
  std::vector<std::uint64_t> places;
  for (std::uint64_t i = 0; i < 64; ++i) places.push_back(x.address() + i % 3 * 4);
  tl.atomic_at(MathOp::add, {places}, tl.full({64}, 1, i32));
}

// 64 lanes on 3 places are 22, 21 and 21 of each of 8 PEs; each PE has one read and one write of 64 runs.
TEST(Data, AtomicLanesThatFallOnOnePlaceAllCount) {
  Torch torch(small());
  Tensor x = torch.zeros({3}, i32);
  torch.launch({"count", Grid{8, 1}}, count_places, x);
  EXPECT_EQ(x.numpy(), NdArray::of<std::int32_t>({3}, {176, 168, 168}));
  EXPECT_TRUE(torch.hazards().empty());
  EXPECT_EQ(torch.log().summary().total.dma_read.count, 8u);
  EXPECT_EQ(torch.log().summary().total.dma_write.count, 8u);
}

void add_and_take(tl::Context& tl, tl::Ptr x) {
  if (tl.program_id(0) % 2 == 0) return add_number(tl, x);
  take_largest(tl, x);
}

TEST(Data, AtomicsOfTwoKindsOnTheSameBytesAreAHazard) {
  Torch torch(small());
  Tensor x = torch.full({64}, 100, i32);
  torch.launch({"both", Grid{8, 1}}, add_and_take, x);
  torch.synchronize();
  EXPECT_FALSE(torch.hazards().empty());
}

}  // namespace
}  // namespace kernbench::runtime::data_test
