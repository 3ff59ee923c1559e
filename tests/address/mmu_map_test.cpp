#include "address/mmu_map.hpp"

#include <gmock/gmock.h>

#include <optional>
#include <random>
#include <vector>

namespace kernbench::address::mmu_map_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr PeCoord kPe{0, 5, 3};
constexpr VirtAddr kBase{0x1'0000'0000};

VirtAddr va(std::int64_t offset) { return kBase + Bytes(offset); }

std::vector<PhysPiece> translate(const MmuMap& map, VirtAddr begin, Bytes size) {
  std::vector<PhysPiece> pieces;
  map.translate(begin, size, pieces);
  return pieces;
}

/// A tensor of 4 shards of 100 bytes, one in the slice of each of PEs 0 to 3.
std::shared_ptr<const MapSegment> four_shards() {
  std::vector<PhysPiece> shards;
  shards.reserve(4);
  for (int pe = 0; pe < 4; ++pe) shards.push_back({pe_hbm_addr({0, 0, pe}, 6_GiB, 1_KiB), 100_B});
  return std::make_shared<const MapSegment>(kBase, shards, "x");
}

PhysAddr shard_byte(int pe, int offset) { return pe_hbm_addr({0, 0, pe}, 6_GiB, 1_KiB + Bytes(offset)); }

TEST(MmuMap, ARangeBecomesThePiecesItWasMappedAs) {
  MmuMap map(kPe);
  map.insert(four_shards());
  EXPECT_THAT(translate(map, va(0), 100_B), ElementsAre(PhysPiece{shard_byte(0, 0), 100_B}));
  EXPECT_THAT(translate(map, va(110), 20_B), ElementsAre(PhysPiece{shard_byte(1, 10), 20_B}));
  EXPECT_THAT(translate(map, va(90), 220_B),
              ElementsAre(PhysPiece{shard_byte(0, 90), 10_B}, PhysPiece{shard_byte(1, 0), 100_B},
                          PhysPiece{shard_byte(2, 0), 100_B}, PhysPiece{shard_byte(3, 0), 10_B}));
  EXPECT_EQ(map.translate(va(399)), shard_byte(3, 99));
  EXPECT_THAT(translate(map, va(400), 0_B), IsEmpty());  // no byte, no fault
}

TEST(MmuMap, FindsTheFirstByteOfWhatLiesInOnePiece) {
  MmuMap map(kPe);
  map.insert(four_shards());
  map.insert(va(400), {pe_tcm_addr(kPe, 0_B), 8_B}, "y");
  EXPECT_EQ(map.find(va(110), 90_B), shard_byte(1, 10));  // up to the end of the shard
  EXPECT_EQ(map.find(va(110), 91_B), std::nullopt);       // and a byte into the next
  EXPECT_EQ(map.find(va(399), 1_B), shard_byte(3, 99));
  EXPECT_EQ(map.find(va(399), 2_B), std::nullopt);  // into the next mapping
  EXPECT_EQ(map.find(va(407), 2_B), std::nullopt);  // beyond all of them
  EXPECT_EQ(map.find(va(500), 1_B), std::nullopt);
  map.erase(va(150), 10_B);
  EXPECT_EQ(map.find(va(110), 40_B), shard_byte(1, 10));
  EXPECT_EQ(map.find(va(110), 41_B), std::nullopt);  // in one piece once, but no longer mapped
}

TEST(MmuMap, AccessesMaySpanMappings) {
  MmuMap map(kPe);
  map.insert(va(8), {pe_tcm_addr(kPe, 0_B), 8_B}, "b");
  map.insert(va(0), {cube_sram_addr({0, 0}, 0_B), 8_B}, "a");
  EXPECT_THAT(translate(map, va(4), 8_B), ElementsAre(PhysPiece{cube_sram_addr({0, 0}, 4_B), 4_B},
                                                      PhysPiece{pe_tcm_addr(kPe, 0_B), 4_B}));
}

TEST(MmuMap, PesShareASegmentAndUnmapItOnTheirOwn) {
  const auto segment = four_shards();
  std::vector<MmuMap> maps(128, MmuMap(kPe));
  for (auto& map : maps) map.insert(segment);
  EXPECT_EQ(segment.use_count(), 129);  // shared, not copied
  EXPECT_EQ(maps[7].erase(va(0), 400_B), 400_B);
  EXPECT_EQ(segment.use_count(), 128);
  EXPECT_THROW(maps[7].translate(va(0)), MmuFault);
  EXPECT_EQ(maps[8].translate(va(0)), shard_byte(0, 0));
}

TEST(MmuMap, UnmappingAPartLeavesTheRest) {
  MmuMap map(kPe);
  map.insert(four_shards());
  EXPECT_EQ(map.erase(va(150), 100_B), 100_B);
  EXPECT_EQ(map.erase(va(150), 100_B), 0_B);
  EXPECT_EQ(map.erase(va(200), 0_B), 0_B);
  EXPECT_EQ(map.window_count(), 2u);
  EXPECT_EQ(map.translate(va(149)), shard_byte(1, 49));
  EXPECT_EQ(map.translate(va(250)), shard_byte(2, 50));
  EXPECT_THROW(map.translate(va(150)), MmuFault);
  EXPECT_THROW(map.translate(va(249)), MmuFault);
  map.insert(va(150), {pe_tcm_addr(kPe, 0_B), 100_B}, "y");  // the hole can be mapped again
  EXPECT_EQ(map.translate(va(249)), pe_tcm_addr(kPe, 99_B));
}

TEST(MmuMap, TensorsDroppedInTheOrderTheyCameLeaveTheOthers) {
  MmuMap map(kPe);
  constexpr int kTensors = 8;
  for (int i = 0; i < kTensors; ++i) map.insert(va(i * 10), {pe_tcm_addr(kPe, Bytes(i * 64)), 10_B}, "x");
  for (int gone = 1; gone <= kTensors; ++gone) {
    EXPECT_EQ(map.erase(va((gone - 1) * 10), 10_B), 10_B);
    EXPECT_EQ(map.window_count(), static_cast<std::size_t>(kTensors - gone));
    for (int i = 0; i < kTensors; ++i) {
      const auto found = map.find(va(i * 10), 10_B);
      EXPECT_EQ(found, i < gone ? std::nullopt : std::optional(pe_tcm_addr(kPe, Bytes(i * 64)))) << i;
    }
  }
  map.insert(va(5), {pe_tcm_addr(kPe, 0_B), 10_B}, "y");  // there is room again
  EXPECT_EQ(map.find(va(5), 10_B), pe_tcm_addr(kPe, 0_B));
}

TEST(MmuMap, OverlapsAndBadPiecesAreOurOwnFault) {
  MmuMap map(kPe);
  map.insert(four_shards());
  const PhysAddr tcm = pe_tcm_addr(kPe, 0_B);
  EXPECT_THROW(map.insert(va(399), {tcm, 1_B}, "y"), InternalError);
  EXPECT_THROW(map.insert(va(-1), {tcm, 2_B}, "y"), InternalError);
  EXPECT_THROW(map.insert(va(-1), {tcm, 1000_B}, "y"), InternalError);
  EXPECT_NO_THROW(map.insert(va(-1), {tcm, 1_B}, "y"));
  EXPECT_NO_THROW(map.insert(va(400), {tcm, 1_B}, "y"));
  EXPECT_THROW(MapSegment(kBase, {}, "y"), InternalError);
  EXPECT_THROW(MapSegment(kBase, {{tcm, 0_B}}, "y"), InternalError);
  EXPECT_THROW(MapSegment(kBase, {{tcm, 256_MiB + 1_B}}, "y"), InternalError);  // runs into the IPCQ
  EXPECT_THROW(MapSegment(VirtAddr(~0ull), {{tcm, 2_B}}, "y"), InternalError);
}

TEST(MmuMap, AFaultNamesPeAddressSourceAndTheNearestMappings) {
  MmuMap map(kPe);
  map.insert(four_shards());                                   // [0x100000000, 0x100000190)
  map.insert(va(0x1000), {pe_tcm_addr(kPe, 0_B), 16_B}, "y");  // [0x100001000, 0x100001010)
  std::vector<PhysPiece> pieces;
  try {
    map.translate(va(0x180), 32_B, pieces, {"softmax.cpp", 12});
    FAIL();
  } catch (const MmuFault& e) {
    EXPECT_STREQ(
        e.what(),
        "sip0.cube5.pe3.pe_mmu: 0x100000190 is not mapped (access to 32 B at 0x100000180 issued at "
        "softmax.cpp:12); nearest mapping: x at [0x100000000, 0x100000190) 1 B below, "
        "y at [0x100001000, 0x100001010) 3696 B above\n"  // 0x1000 − 0x190
        "  hint: a kernel that runs past its tensor needs a mask or other offsets; a tensor is mapped on "
        "its own SIP only, and no longer once it is dropped");
    EXPECT_EQ(e.id(), "address.mmu-fault");
    EXPECT_EQ(e.pe(), kPe);
    EXPECT_EQ(e.address(), va(0x190));
  }
  EXPECT_THAT(pieces, IsEmpty());  // not the 16 bytes that were mapped
}

TEST(MmuMap, AFaultAtEitherEndShowsTheOneNeighbour) {
  MmuMap map(kPe);
  const auto text = [&map](VirtAddr a) -> std::string {
    try {
      map.translate(a);
    } catch (const MmuFault& e) {
      return e.message();
    }
    return "no fault";
  };
  EXPECT_EQ(text(VirtAddr(0)), "0x0 is not mapped (access to 1 B at 0x0); nothing is mapped here");
  map.insert(four_shards());
  EXPECT_THAT(text(VirtAddr(0)),
              HasSubstr("nearest mapping: x at [0x100000000, 0x100000190) 4294967296 B above"));
  EXPECT_THAT(text(VirtAddr(~0ull)),
              HasSubstr("x at [0x100000000, 0x100000190) 18446744069414583920 B below"));
}

TEST(MmuMap, AnAccessThatWrapsAroundFaults) {
  MmuMap map(kPe);
  map.insert(VirtAddr(~0ull - 15), {pe_tcm_addr(kPe, 0_B), 15_B}, "top");
  std::vector<PhysPiece> pieces;
  EXPECT_THROW(map.translate(VirtAddr(~0ull - 15), Bytes(INT64_MAX), pieces), MmuFault);
  EXPECT_THROW(map.translate(VirtAddr(~0ull), 16_B, pieces), MmuFault);
}

/// A map beside one that keeps the physical address of every byte.
class RandomMaps : public ::testing::TestWithParam<unsigned> {
 protected:
  static constexpr int kSpan = 2048;

  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  void insert_somewhere() {
    const int begin = below(kSpan);
    int end = begin;
    const bool equal = below(2) == 0;
    const int size = 1 + below(40);
    std::vector<PhysPiece> pieces;
    for (int left = 1 + below(6); left > 0; --left) {
      const Bytes n(equal && left > 1 ? size : 1 + below(60));
      if (end + n.count() > kSpan) break;
      pieces.push_back({hbm_addr({below(256), below(32)}, Bytes(below(1 << 30))), n});
      end += static_cast<int>(n.count());
    }
    const auto bytes_begin = bytes_.begin() + begin, bytes_end = bytes_.begin() + end;
    if (pieces.empty() || std::any_of(bytes_begin, bytes_end, [](auto& b) { return b.has_value(); })) return;
    auto byte = bytes_begin;
    for (const auto& [phys, n] : pieces) {
      for (Bytes i; i < n; i += 1_B) *byte++ = phys + i;
    }
    map_.insert(std::make_shared<const MapSegment>(va(begin), pieces, "t"));
  }

  void erase_somewhere() {
    const int begin = below(kSpan), size = below(std::min(200, kSpan - begin));
    std::int64_t mapped = 0;
    for (int i = begin; i < begin + size; ++i) {
      mapped += bytes_[static_cast<std::size_t>(i)].has_value();
      bytes_[static_cast<std::size_t>(i)].reset();
    }
    ASSERT_EQ(map_.erase(va(begin), Bytes(size)), Bytes(mapped));
  }

  void translate_somewhere() {
    const int begin = below(kSpan), size = below(std::min(120, kSpan - begin));
    std::vector<PhysAddr> expected;
    for (int i = begin; i < begin + size && bytes_[static_cast<std::size_t>(i)]; ++i) {
      expected.push_back(*bytes_[static_cast<std::size_t>(i)]);
    }
    std::vector<PhysAddr> got;
    std::vector<PhysPiece> pieces;
    try {
      map_.translate(va(begin), Bytes(size), pieces);
      for (const auto& [phys, n] : pieces) {
        ASSERT_GT(n, 0_B);
        for (Bytes i; i < n; i += 1_B) got.push_back(phys + i);
      }
      ASSERT_EQ(got, expected);  // every byte once, in order
      ASSERT_EQ(static_cast<int>(got.size()), size);
      ++translated_;
    } catch (const MmuFault& e) {
      ASSERT_LT(static_cast<int>(expected.size()), size);
      ASSERT_EQ(e.address(), va(begin + static_cast<int>(expected.size())));  // the first byte nobody mapped
      ++faults_;
    }
  }

  std::mt19937 random_{GetParam()};
  MmuMap map_{kPe};
  std::vector<std::optional<PhysAddr>> bytes_{static_cast<std::size_t>(kSpan)};
  int translated_ = 0;
  int faults_ = 0;
};

TEST_P(RandomMaps, AgreeWithAMapOfBytes) {
  for (int step = 0; step < 5000 && !HasFatalFailure(); ++step) {
    const int kind = below(10);
    if (kind < 3) {
      insert_somewhere();
    } else if (kind == 3) {
      erase_somewhere();
    } else {
      translate_somewhere();
    }
  }
  EXPECT_GT(translated_, 300);
  EXPECT_GT(faults_, 300);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomMaps, ::testing::Values(1, 2, 3, 4));

}  // namespace
}  // namespace kernbench::address::mmu_map_test
