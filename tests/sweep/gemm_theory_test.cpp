#include "sweep/gemm_theory.hpp"

#include <gmock/gmock.h>

namespace kernbench::sweep::gemm_theory_test {
namespace {

/// The default machine: tiles of 32 × 64 × 32 in 16 ns, HBM at 256 GB/s, all ports at 512.
GemmConstants machine(std::initializer_list<std::string> overrides = {}) {
  return GemmConstants(load_machine("default", overrides));
}

TEST(GemmTheory, OneTileIsTheSumOfItsStages) {
  const GemmTheory t = gemm_theory({.m = 32, .k = 64, .n = 32}, machine());
  EXPECT_DOUBLE_EQ(t.dma_in_ns, 8192 / 256.0);  // 32·64 and 64·32 of 2 bytes
  EXPECT_DOUBLE_EQ(t.fetch_ns, 8192 / 512.0);
  EXPECT_DOUBLE_EQ(t.gemm_ns, 16);
  EXPECT_DOUBLE_EQ(t.dma_out_ns, 2048 / 256.0);
  EXPECT_DOUBLE_EQ(t.ns, 32 + 16 + 16 + 4 + 8);  // in, fetch, multiply, store, out
}

TEST(GemmTheory, ManyTilesTakeTheSlowestStage) {
  // Both streamed, K = 512: 8 tiles of 8,192 B are 256 ns from HBM against 128 ns in the unit.
  const GemmTheory both = gemm_theory({.m = 32, .k = 512, .n = 32}, machine());
  EXPECT_EQ(both.limited_by, "dma_in");
  EXPECT_DOUBLE_EQ(both.ns, 256 + 16 + 16 + 4 + 8);
  // A loaded first: 32·512·2 B are 128 ns; then 128 ns of B against 128 ns in the unit, which waits for its first tile:
  // 4,096 B of B from HBM, 16 ns, and its fetch, 16 ns.
  const GemmTheory one = gemm_theory({.m = 32, .k = 512, .n = 32, .a_streamed = false}, machine());
  EXPECT_DOUBLE_EQ(one.load_ns, 128);
  EXPECT_DOUBLE_EQ(one.ns, 128 + 16 + 16 + 128 + 4 + 8);
  EXPECT_EQ(one.limited_by, "gemm");
}

TEST(GemmTheory, ReadsAndWritesShareTheSlice) {
  // K = 8: 128·8 and 8·128 of 2 bytes, each tile of A four times and of B four times; 32,768 B of results.
  const GemmTheory t = gemm_theory({.m = 128, .k = 8, .n = 128}, machine());
  EXPECT_DOUBLE_EQ(t.dma_in_ns + t.dma_out_ns, (4 * 2048 + 4 * 2048 + 32768) / 256.0);
  EXPECT_GE(t.ns, t.dma_in_ns + t.dma_out_ns);
}

TEST(GemmTheory, ConstantsComeFromTheMachineAndChangeWithIt) {
  const GemmShape shape{.m = 32, .k = 512, .n = 32};
  const double before = gemm_theory(shape, machine()).ns;
  for (const char* faster : {"cube.hbm.hbm_to_router_bw_gbs=512", "pe.pe_tcm.read_bw_gbs=1024"})
    EXPECT_LT(gemm_theory(shape, machine({faster})).ns, before) << faster;
  EXPECT_GT(gemm_theory(shape, machine({"pe.pe_gemm.tile_cycles=64"})).ns, before);
  EXPECT_EQ(machine({"pe.clock_ghz=2"}).tile_ns, 8);
  for (const NamedConstant& constant : named(machine()))
    for (const std::string& key : constant.keys) {
      const auto dot = key.rfind('.');
      EXPECT_TRUE(load_machine("default").at(key.substr(0, dot)).has(key.substr(dot + 1))) << key;
    }
}

TEST(GemmTheory, UtilisationCountsMultiplyAddsThatWereWanted) {
  const GemmConstants c = machine();
  EXPECT_DOUBLE_EQ(mac_utilization({.m = 32, .k = 64, .n = 32}, c, 16), 1);
  EXPECT_DOUBLE_EQ(mac_utilization({.m = 8, .k = 64, .n = 32}, c, 16), 0.25);
  EXPECT_TRUE(is_under_a_tile({.m = 8, .k = 128, .n = 128}, c));
  EXPECT_TRUE(is_under_a_tile({.m = 128, .k = 8, .n = 128}, c));
  EXPECT_FALSE(is_under_a_tile({.m = 32, .k = 64, .n = 32}, c));
}

}  // namespace
}  // namespace kernbench::sweep::gemm_theory_test
