#include <gmock/gmock.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "kernbench/address.hpp"

namespace kernbench::address::phys_addr_test {
namespace {

using ::testing::StartsWith;

constexpr std::array kResources = {Resource::Hbm,  Resource::Sram,       Resource::Mcpu,    Resource::Tcm,
                                   Resource::Ipcq, Resource::Scratchpad, Resource::Regfile, Resource::Status};

std::uint64_t at(int bit, std::uint64_t value = 1) { return value << bit; }

std::optional<InputError> error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const InputError& e) {
    return e;
  }
  return std::nullopt;
}

TEST(PhysAddr, FieldsLieWhereTheLayoutSays) {
  EXPECT_EQ(pe_ipcq_addr({0, 0, 3}, Bytes(0x1234)).raw(), 0xD000'1234u);  // 3 << 30 | 0x1000'1234
  EXPECT_EQ(hbm_addr({1, 5}, Bytes(0x40)).raw(), at(43) | at(38, 5) | at(37) | 0x40);
  EXPECT_EQ(cube_sram_addr({0, 31}, 16_B).raw(), at(38, 31) | at(34, 2) | 16);
  EXPECT_EQ(mcpu_addr({0, 0}, 8_B).raw(), at(34, 1) | 8);
  EXPECT_EQ(pe_tcm_addr({0, 0, 15}, 7_B).raw(), at(30, 15) | 7);
  EXPECT_EQ(pe_scratchpad_addr({0, 0, 0}, 1_B).raw(), 0x1100'0001u);
  EXPECT_EQ(pe_regfile_addr({0, 0, 0}, 1_B).raw(), 0x1200'0001u);
  EXPECT_EQ(pe_status_addr({0, 0, 0}, 1_B).raw(), 0x1210'0001u);
}

TEST(PhysAddr, ASipIsARackAndAPlaceInIt) {
  // SIP 37 = rack 2, place 5; SIP 255 = rack 15, place 15.
  EXPECT_EQ(hbm_addr({37, 0}, 0_B).raw(), at(47, 2) | at(43, 5) | at(37));
  EXPECT_EQ(hbm_addr({255, 0}, 0_B).raw(), at(47, 15) | at(43, 15) | at(37));
  EXPECT_EQ(decode(PhysAddr::from_raw(at(47, 2) | at(43, 5))).sip, 37);
}

TEST(PhysAddr, TheSlicesOfACubeFollowEachOther) {
  EXPECT_EQ(pe_hbm_addr({0, 2, 3}, 6_GiB, 256_B), hbm_addr({0, 2}, Bytes(3 * (6ll << 30) + 256)));
  EXPECT_EQ(pe_hbm_addr({0, 0, 15}, 8_GiB, 8_GiB - 1_B), hbm_addr({0, 0}, 128_GiB - 1_B));  // the last byte
}

TEST(PhysAddr, EveryResourceEndsWhereTheNextBegins) {
  EXPECT_EQ(pe_tcm_addr({}, Bytes(0x0FFF'FFFF)).raw() + 1, pe_ipcq_addr({}, 0_B).raw());
  EXPECT_EQ(pe_ipcq_addr({}, Bytes(0xFF'FFFF)).raw() + 1, pe_scratchpad_addr({}, 0_B).raw());
  EXPECT_EQ(pe_scratchpad_addr({}, Bytes(0xFF'FFFF)).raw() + 1, pe_regfile_addr({}, 0_B).raw());
  EXPECT_EQ(pe_regfile_addr({}, Bytes(0xF'FFFF)).raw() + 1, pe_status_addr({}, 0_B).raw());
  EXPECT_EQ(pe_status_addr({}, Bytes(0xF'FFFF)).raw(), 0x121F'FFFFu);
}

TEST(PhysAddr, ReadsAsPeopleSpeak) {
  EXPECT_EQ(to_string(pe_ipcq_addr({0, 0, 3}, Bytes(0x1234))), "IPCQ sip=0 cube=0 pe=3 +0x1234");
  EXPECT_EQ(to_string(hbm_addr({1, 5}, 4_GiB)), "HBM sip=1 cube=5 +0x100000000");
  EXPECT_EQ(to_string(pe_tcm_addr({0, 1, 2}, 0_B)), "TCM sip=0 cube=1 pe=2 +0x0");
  EXPECT_EQ(to_string(cube_sram_addr({0, 1}, 9_B)), "SRAM sip=0 cube=1 +0x9");
  EXPECT_EQ(to_string(mcpu_addr({2, 0}, 0_B)), "MCPU sip=2 cube=0 +0x0");
  EXPECT_EQ(to_string(VirtAddr(0x1'0000'0000)), "0x100000000");
}

/// Offsets that matter: both ends, every single bit, and some anywhere.
std::vector<Bytes> sample_offsets(Resource r, std::mt19937_64& random) {
  const std::int64_t size = range_of(r).count();
  std::vector<Bytes> offsets = {0_B, Bytes(size - 1)};
  for (std::int64_t bit = 1; bit < size; bit *= 2) offsets.emplace_back(bit);
  for (int i = 0; i < 8; ++i)
    offsets.emplace_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(size)));
  return offsets;
}

TEST(PhysAddr, DecodeUndoesEncodeOverTheWholeSpace) {
  std::mt19937_64 random(1);
  std::size_t checked = 0;
  for (const Resource r : kResources) {
    const auto offsets = sample_offsets(r, random);
    const int pes = belongs_to_pe(r) ? kMaxPes : 1;
    for (int sip = 0; sip < kMaxSips; ++sip) {
      for (int cube = 0; cube < kMaxCubes; ++cube) {
        for (int pe = 0; pe < pes; ++pe) {
          const DecodedAddr fields{r, sip, cube, pe, offsets[checked++ % offsets.size()]};
          ASSERT_EQ(decode(encode(fields)), fields) << to_string(fields);
        }
      }
    }
    for (const Bytes offset : offsets) {
      const DecodedAddr fields{r, 200, 21, pes / 2, offset};
      ASSERT_EQ(decode(encode(fields)), fields) << to_string(fields);
    }
  }
  EXPECT_EQ(checked, 256u * 32 * (5 * 16 + 3));  // every coordinate of every resource
}

/// The layout in the header, written down a second time.
bool is_legal(std::uint64_t raw) {
  if (raw >= at(51)) return false;
  if (raw & at(37)) return true;
  const std::uint64_t unit = raw >> 34 & 7, pe = raw >> 30 & 15, ext = raw >> 29 & 1, sub = raw & 0x1FFF'FFFF;
  if (ext) return false;
  if (unit == 0) return sub <= 0x121F'FFFF;
  return unit <= 2 && pe == 0;
}

/// Any 64 bits, with the upper and middle fields often zero so that every rule is met often.
std::uint64_t random_raw(std::mt19937_64& random) {
  std::uint64_t raw = random();
  if (random() % 4 != 0) raw &= at(51) - 1;
  if (random() % 2 != 0) raw &= ~at(37);
  if (random() % 2 != 0) raw &= ~at(34, 7);
  if (random() % 2 != 0) raw &= ~at(30, 15);
  if (random() % 2 != 0) raw &= ~at(29);
  return raw;
}

TEST(PhysAddr, AnyRawValueIsLegalAndSurvivesOrIsAnInputErrorThatShowsIt) {
  std::mt19937_64 random(2);
  int legal = 0;
  constexpr int kTries = 300'000;
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t raw = random_raw(random);
    try {
      const PhysAddr a = PhysAddr::from_raw(raw);
      ASSERT_TRUE(is_legal(raw)) << std::hex << raw;
      ASSERT_EQ(encode(decode(a)).raw(), raw);
      ++legal;
    } catch (const InputError& e) {
      ASSERT_FALSE(is_legal(raw)) << std::hex << raw;
      ASSERT_EQ(e.where(), fmt::format("address {:#x}", raw));
      ASSERT_FALSE(e.hint().empty());
    }
  }
  EXPECT_GT(legal, kTries / 10);
  EXPECT_LT(legal, kTries * 9 / 10);
}

TEST(PhysAddr, EveryIllegalRawFieldHasItsOwnError) {
  const auto id = [](std::uint64_t raw) { return error_of([=] { PhysAddr::from_raw(raw); })->id(); };
  EXPECT_EQ(id(at(51)), "address.over-51-bits");
  EXPECT_EQ(id(~0ull), "address.over-51-bits");
  for (std::uint64_t unit = 3; unit < 8; ++unit) EXPECT_EQ(id(at(34, unit)), "address.reserved-unit");
  for (std::uint64_t unit = 0; unit < 3; ++unit) EXPECT_EQ(id(at(34, unit) | at(29)), "address.reserved-ext");
  EXPECT_EQ(id(at(34, 2) | at(30, 1)), "address.reserved-pe");
  EXPECT_EQ(id(at(34, 1) | at(30, 15)), "address.reserved-pe");
  EXPECT_EQ(id(0x1220'0000), "address.reserved-range");
  EXPECT_EQ(id(0x1FFF'FFFF), "address.reserved-range");
}

TEST(PhysAddr, AReservedRangeIsExplained) {
  const auto e = error_of([] { PhysAddr::from_raw(0x1220'0000); });
  ASSERT_TRUE(e);
  EXPECT_THAT(e->what(),
              StartsWith("address 0x12200000: PE sub-offset 0x12200000 is reserved; expected less than"));
}

TEST(PhysAddr, EveryFieldOutOfRangeIsRefused) {
  const auto id = [](DecodedAddr fields) { return error_of([=] { encode(fields); })->id(); };
  for (const Resource r : kResources) {
    EXPECT_EQ(id({r, 256, 0, 0, 0_B}), "address.sip-out-of-range");
    EXPECT_EQ(id({r, -1, 0, 0, 0_B}), "address.sip-out-of-range");
    EXPECT_EQ(id({r, 0, 32, 0, 0_B}), "address.cube-out-of-range");
    EXPECT_EQ(id({r, 0, -1, 0, 0_B}), "address.cube-out-of-range");
    EXPECT_EQ(id({r, 0, 0, belongs_to_pe(r) ? 16 : 1, 0_B}), "address.pe-out-of-range");
    EXPECT_EQ(id({r, 0, 0, -1, 0_B}), "address.pe-out-of-range");
    EXPECT_EQ(id({r, 0, 0, 0, range_of(r)}), "address.offset-out-of-range");
    EXPECT_EQ(id({r, 0, 0, 0, Bytes(-1)}), "address.offset-out-of-range");
  }
}

TEST(PhysAddr, AnIllegalFactoryCallSaysWhatWasMeant) {
  const auto e = error_of([] { pe_tcm_addr({0, 0, 16}, Bytes(0x10)); });
  ASSERT_TRUE(e);
  EXPECT_STREQ(e->what(),
               "TCM sip=0 cube=0 pe=16 +0x10: pe 16 does not fit its address field; expected 0 to 15\n"
               "  hint: a cube has at most 16 PEs");
}

TEST(PhysAddr, ASliceMustHoldItsOffsetAndTheWindowTheSlice) {
  const auto id = [](PeCoord pe, Bytes slice, Bytes offset) {
    return error_of([=] { pe_hbm_addr(pe, slice, offset); })->id();
  };
  EXPECT_EQ(id({0, 0, 1}, 6_GiB, 6_GiB), "address.offset-out-of-range");
  EXPECT_EQ(id({0, 0, 1}, 6_GiB, Bytes(-1)), "address.offset-out-of-range");
  EXPECT_EQ(id({0, 0, 16}, 6_GiB, 0_B), "address.pe-out-of-range");
  EXPECT_EQ(id({0, 0, -1}, 6_GiB, 0_B), "address.pe-out-of-range");
  EXPECT_EQ(id({0, 0, 7}, 16_GiB + 1_B, 0_B), "address.slice-out-of-range");  // 8 × 16 GiB fill the window
  EXPECT_EQ(id({0, 0, 0}, Bytes(-1), 0_B), "address.slice-out-of-range");
  EXPECT_NO_THROW(pe_hbm_addr({0, 0, 7}, 16_GiB, 0_B));
}

TEST(PhysAddr, MovesWithinItsResourceOnly) {
  const PhysAddr a = pe_ipcq_addr({3, 4, 5}, 16_B);
  EXPECT_EQ(a + 32_B, pe_ipcq_addr({3, 4, 5}, 48_B));
  EXPECT_EQ(room_after(a), Bytes(0x100'0000 - 16));
  EXPECT_EQ(a + (room_after(a) - 1_B), pe_ipcq_addr({3, 4, 5}, Bytes(0xFF'FFFF)));
  EXPECT_THROW(a + room_after(a), InternalError);
  EXPECT_THROW(a + Bytes(-17), InternalError);
}

}  // namespace
}  // namespace kernbench::address::phys_addr_test
