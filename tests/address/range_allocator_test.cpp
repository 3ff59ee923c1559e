#include "address/range_allocator.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <ostream>
#include <random>
#include <vector>

namespace kernbench::address::range_allocator_test {
namespace {

using ::testing::HasSubstr;

/// One flag per granule: the plainest thing that can be right.
class Bitmap {
 public:
  Bitmap(Bytes capacity, Bytes granule)
      : granule_(granule.count()), used_(static_cast<std::size_t>(capacity.count() / granule_)) {}

  bool fits_somewhere(Bytes size, Bytes alignment) const {
    const std::size_t step = std::max<std::size_t>(1, static_cast<std::size_t>(alignment.count() / granule_));
    for (std::size_t i = 0; i < used_.size(); i += step) {
      if (is_free(i, granules(size))) return true;
    }
    return false;
  }
  bool is_free(Bytes begin, Bytes size) const { return is_free(index(begin), granules(size)); }
  void set(Bytes begin, Bytes size, bool used) {
    std::fill_n(used_.begin() + static_cast<std::ptrdiff_t>(index(begin)), granules(size), used);
  }
  Bytes free_bytes() const { return Bytes(std::count(used_.begin(), used_.end(), false) * granule_); }
  Bytes largest_run() const {
    std::int64_t best = 0, run = 0;
    for (const bool used : used_) best = std::max(best, run = used ? 0 : run + 1);
    return Bytes(best * granule_);
  }
  std::size_t runs() const {
    std::size_t n = 0;
    for (std::size_t i = 0; i < used_.size(); ++i) n += !used_[i] && (i == 0 || used_[i - 1]);
    return n;
  }

 private:
  std::size_t index(Bytes b) const { return static_cast<std::size_t>(b.count() / granule_); }
  std::size_t granules(Bytes b) const {
    return static_cast<std::size_t>((b.count() + granule_ - 1) / granule_);
  }
  bool is_free(std::size_t i, std::size_t n) const {
    if (i + n > used_.size()) return false;
    const auto first = used_.begin() + static_cast<std::ptrdiff_t>(i);
    return std::none_of(first, first + static_cast<std::ptrdiff_t>(n), [](bool used) { return used; });
  }
  std::int64_t granule_;
  std::vector<bool> used_;
};

struct Walk {
  Bytes granule;
  Bytes max_size;
  unsigned seed;
};

std::string name_of(const ::testing::TestParamInfo<Walk>& info) {
  return fmt::format("Granule{}UpTo{}", info.param.granule.count(), info.param.max_size.count());
}

// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest looks for it
void PrintTo(const Walk& w, std::ostream* out) { *out << "seed " << w.seed; }

class RandomWalk : public ::testing::TestWithParam<Walk> {
 protected:
  static constexpr Bytes kCapacity = 4096_B;

  void expect_agreement() {
    ASSERT_EQ(allocator_.free_bytes(), bitmap_.free_bytes());
    ASSERT_EQ(allocator_.largest_free_block(), bitmap_.largest_run());
    ASSERT_EQ(allocator_.free_blocks(), bitmap_.runs());  // neighbours are always joined
  }
  void allocate_one() {
    const Bytes size(
        1 + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(GetParam().max_size.count())));
    const Bytes alignment(std::int64_t{1} << random_() % 9);
    const auto begin = allocator_.allocate({size, "walker", alignment});
    ASSERT_EQ(begin.has_value(), bitmap_.fits_somewhere(size, alignment));
    if (!begin) return;
    ASSERT_EQ(begin->count() % alignment.count(), 0);
    ASSERT_TRUE(bitmap_.is_free(*begin, size)) << "handed out twice: " << begin->count();
    bitmap_.set(*begin, size, true);
    live_.emplace_back(*begin, size);
  }
  void free_one() {
    std::swap(live_[random_() % live_.size()], live_.back());
    const auto [begin, size] = live_.back();
    live_.pop_back();
    allocator_.free(begin);
    bitmap_.set(begin, size, false);
  }

  std::mt19937_64 random_{GetParam().seed};
  RangeAllocator allocator_{kCapacity, GetParam().granule};
  Bitmap bitmap_{kCapacity, GetParam().granule};
  std::vector<std::pair<Bytes, Bytes>> live_;
};

TEST_P(RandomWalk, NeverOverlapsFailsOnlyWhenFullAndCoalescesToOneBlock) {
  for (int step = 0; step < 4000; ++step) {
    const bool grow = random_() % 100 < (step / 500 % 2 == 0 ? 65u : 35u);  // fills up, empties, fills up …
    if (grow || live_.empty()) {
      allocate_one();
    } else {
      free_one();
    }
    expect_agreement();
    if (HasFatalFailure()) return;
  }
  while (!live_.empty()) free_one();
  EXPECT_EQ(allocator_.free_blocks(), 1u);
  EXPECT_EQ(allocator_.largest_free_block(), kCapacity);
}

INSTANTIATE_TEST_SUITE_P(Sizes, RandomWalk,
                         ::testing::Values(Walk{1_B, 64_B, 1}, Walk{1_B, 600_B, 2}, Walk{16_B, 100_B, 3},
                                           Walk{64_B, 1024_B, 4}, Walk{256_B, 256_B, 5}),
                         name_of);

TEST(RangeAllocator, TakesTheSmallestBlockThatFitsAndTheLowestAmongEquals) {
  RangeAllocator a(1000_B);
  std::vector<Bytes> begin;
  for (const int size : {100, 10, 50, 10, 50, 10}) begin.push_back(*a.allocate({Bytes(size), "x"}));
  a.free(begin[0]);  // free now: [0,100) [110,160) [170,220) and the rest from 230
  a.free(begin[2]);
  a.free(begin[4]);
  EXPECT_EQ(a.allocate({40_B, "x"}), 110_B);
  EXPECT_EQ(a.allocate({40_B, "x"}), 170_B);
  EXPECT_EQ(a.allocate({60_B, "x"}), 0_B);
  EXPECT_EQ(a.allocate({200_B, "x"}), 230_B);
}

TEST(RangeAllocator, RoundsToTheGranuleAndLeavesTheRaggedEnd) {
  RangeAllocator a(1000_B, 256_B);
  EXPECT_EQ(a.free_bytes(), 768_B);
  EXPECT_EQ(a.allocate({1_B, "x"}), 0_B);
  EXPECT_EQ(a.allocate({257_B, "x"}), 256_B);
  EXPECT_EQ(a.allocate({1_B, "x"}), std::nullopt);
  EXPECT_EQ(RangeAllocator(100_B, 256_B).largest_free_block(), 0_B);
}

TEST(RangeAllocator, NeverHandsOutAReservedArea) {
  RangeAllocator a(1024_B);
  a.reserve(256_B, 256_B, "scheduler");
  std::vector<Bytes> got;
  while (const auto begin = a.allocate({32_B, "x"})) got.push_back(*begin);
  EXPECT_EQ(got.size(), 768u / 32);
  for (const Bytes b : got) EXPECT_TRUE(b + 32_B <= 256_B || b >= 512_B) << b.count();
  EXPECT_THROW(a.free(256_B), InternalError);
  for (const Bytes b : got) a.free(b);
  EXPECT_EQ(a.free_blocks(), 2u);  // one on each side
  EXPECT_EQ(a.largest_free_block(), 512_B);
}

TEST(RangeAllocator, HoldsItsCallersToTheirPromises) {
  RangeAllocator a(1024_B, 16_B);
  const Bytes b = *a.allocate({64_B, "x"});
  EXPECT_THROW(a.free(b + 16_B), InternalError);  // not where it begins
  a.free(b);
  EXPECT_THROW(a.free(b), InternalError);  // twice
  EXPECT_THROW(a.free(4096_B), InternalError);
  EXPECT_THROW(a.allocate({0_B, "x"}), InternalError);
  EXPECT_THROW(a.allocate({Bytes(-1), "x"}), InternalError);
  EXPECT_THROW(a.allocate({8_B, "x", 3_B}), InternalError);
  EXPECT_THROW(a.reserve(8_B, 16_B, "x"), InternalError);  // not on a granule
  a.reserve(0_B, 16_B, "x");
  EXPECT_THROW(a.reserve(0_B, 16_B, "y"), InternalError);
  EXPECT_THROW(a.reserve(1008_B, 32_B, "y"), InternalError);  // beyond the end
  EXPECT_EQ(a.free_bytes(), 1008_B);                          // none of it left a mark
}

TEST(RangeAllocator, RefusesAbsurdRequestsWithoutOverflow) {
  RangeAllocator a(1024_B, 256_B);
  EXPECT_EQ(a.allocate({Bytes(INT64_MAX), "x"}), std::nullopt);
  EXPECT_EQ(a.allocate({1_B, "x", Bytes(std::int64_t{1} << 62)}), std::nullopt);
  EXPECT_EQ(a.free_bytes(), 1024_B);
}

TEST(RangeAllocator, ExhaustionSaysWhoHowMuchWhatIsFreeAndWhoHoldsIt) {
  RangeAllocator a(10_MiB);
  a.reserve(0_B, 1_MiB, "scheduler");
  a.allocate({2_MiB, "bias"});
  a.allocate({3_MiB, "weights"});
  a.allocate({2_MiB, "weights"});
  const AllocRequest request{4_MiB, "tensor 'x'"};
  ASSERT_EQ(a.allocate(request), std::nullopt);
  const AllocationError e = a.exhausted(request, "sip0.cube5.pe3 TCM", "buy more");
  EXPECT_STREQ(
      e.what(),
      "sip0.cube5.pe3 TCM: tensor 'x' asks for 4 MiB, but of 10 MiB only 2 MiB is free, the largest free "
      "block is 2 MiB; most is held by weights (5 MiB), bias (2 MiB), scheduler (1 MiB)\n"
      "  hint: buy more");
  EXPECT_EQ(e.id(), "address.exhausted");
  EXPECT_EQ(e.figures().requested, 4_MiB);
  EXPECT_EQ(e.figures().free, 2_MiB);
  EXPECT_EQ(e.figures().largest_free_block, 2_MiB);
}

TEST(RangeAllocator, ScatteredSpaceIsToldFromTooLittle) {
  RangeAllocator a(400_B);
  std::vector<Bytes> begin;
  for (int i = 0; i < 4; ++i) begin.push_back(*a.allocate({100_B, "x"}));
  a.free(begin[0]);
  a.free(begin[2]);
  const AllocRequest request{150_B, "y", 64_B};
  ASSERT_EQ(a.allocate(request), std::nullopt);
  const AllocationError e = a.exhausted(request, "here", "buy more");
  EXPECT_THAT(e.what(), HasSubstr("y asks for 150 B aligned to 64 B, but of 400 B only 200 B is free, the "
                                  "largest free block is 100 B"));
  EXPECT_THAT(e.hint(), HasSubstr("not in one piece"));
  EXPECT_THAT(a.exhausted({200_B, "y"}, "here", "buy more").hint(), HasSubstr("not in one piece"));
  EXPECT_EQ(a.exhausted({201_B, "y"}, "here", "buy more").hint(), "buy more");
}

TEST(RangeAllocator, SizesThatDifferDoNotLookAlike) {
  RangeAllocator a(6_GiB);
  const AllocRequest request{6_GiB + 1_B, "y"};
  EXPECT_THAT(a.exhausted(request, "here", "").what(),
              HasSubstr("y asks for 6 GiB (6442450945 B), but of 6 GiB only 6 GiB is free"));
  EXPECT_THAT(a.exhausted(request, "here", "").what(), HasSubstr("nobody holds any of it"));
}

}  // namespace
}  // namespace kernbench::address::range_allocator_test
