#include "sweep/harness.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.hpp"
#include "kernbench/error.hpp"
#include "sweep/csv.hpp"
#include "sweep/sweep.hpp"
#include "temp_folder.hpp"

namespace kernbench::sweep::harness_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::json;

class Harnesses : public ::testing::Test {
 protected:
  /// Runs a sweep and returns one of its files.
  std::string file_of(const std::string& plan, const std::string& file) const {
    const Registry registry = builtin_registry();
    run_sweep(read_plan(plan, "s.yaml", registry), folder_, registry, {});
    return read_text_file(folder_ + "/" + file);
  }
  std::string written(const std::string& text) const {
    std::ofstream(folder_ + "/curve.csv") << text;
    return folder_ + "/curve.csv";
  }

  const testing::TempFolder temp_;
  const std::string folder_ = temp_.path().string();
};

constexpr const char* kProducts =
    "bench: matmul-composite\nharness: gemm\nvary: {variant: [ref_ref, load_ref, load_load]}\n"
    "zip: {M: [32, 8, 33], K: [128, 128, 65], N: [128, 128, 40]}\n";

TEST_F(Harnesses, ProductsCountTheTilesOfEachStage) {
  const Json sweep = Json::parse(file_of(kProducts, "gemm_sweep.json"));
  EXPECT_EQ(sweep["tile_sizes"], Json({{"m", 32}, {"k", 64}, {"n", 32}}));
  ASSERT_EQ(sweep["points"].size(), 9u);
  const Json& streamed = sweep["points"][0];  // 32 × 128 × 128: 1 · 2 · 4 tiles
  EXPECT_EQ(streamed["stages"]["gemm"]["count"], 8);
  EXPECT_EQ(streamed["stages"]["fetch"]["count"], 8);
  EXPECT_EQ(streamed["stages"]["dma_in"]["count"], 16);  // A and B
  EXPECT_EQ(streamed["stages"]["dma_out"]["count"], 4);
  EXPECT_EQ(streamed["stages"]["gemm"]["busy_ns"], 8 * 16.0);
  EXPECT_FALSE(streamed["under_a_tile"]);
  EXPECT_TRUE(sweep["points"][1]["under_a_tile"]) << "8 rows of 32";
  EXPECT_EQ(sweep["points"][3]["stages"]["dma_in"]["count"], 8) << "B alone";
  EXPECT_EQ(sweep["points"][6]["stages"]["dma_in"]["count"], 0);
  EXPECT_EQ(sweep["points"][2]["stages"]["gemm"]["count"], 2 * 2 * 2) << "edges are tiles";
}

TEST_F(Harnesses, NoProductBeatsItsTheory) {
  for (const std::string set :
       {"", "set: {pe.pe_scheduler.pipeline_depth: 8}\n", "set: {cube.hbm.hbm_to_router_bw_gbs: 1024}\n",
        "set: {dtype: f32}\n", "set: {pe.pe_tcm.read_bw_gbs: 128}\n", "machine: realistic\n"}) {
    const Json sweep = Json::parse(file_of(kProducts + set, "gemm_sweep.json"));
    for (const Json& p : sweep["points"]) {
      EXPECT_TRUE(p["within_theory"]) << set << p.dump();
      EXPECT_LE(p["mac_utilization"], p["theory"]["mac_utilization"]);
      EXPECT_LE(p["composite_window_ns"], p["pe_window_ns"]);
      for (const char* stage : {"dma_in", "fetch", "gemm", "dma_out"})
        EXPECT_LE(p["stages"][stage]["occupancy"].get<double>(), 1 + 1e-9);
    }
  }
}

TEST_F(Harnesses, ConstantsOfAPointThatVariesTheMachineStandBesideIt) {
  const Json sweep =
      Json::parse(file_of("bench: matmul-composite\nharness: gemm\nset: {M: 32, K: 64, N: 32}\nvary: "
                          "{pe.pe_gemm.tile_cycles: [16, 32]}\n",
                          "gemm_sweep.json"));
  EXPECT_FALSE(sweep["points"][0].contains("constants"));
  EXPECT_EQ(sweep["points"][1]["constants"][3]["value"], 32);
  EXPECT_EQ(sweep["points"][1]["constants"][3]["keys"][0], "pe.pe_gemm.tile_cycles");
}

TEST_F(Harnesses, AllReducesHaveTheColumnsThatOthersKnow) {
  const std::string csv = file_of(
      "bench: ccl-allreduce\nharness: allreduce\nmachine: small\nverify: true\n"
      "vary: {algorithm: [intercube_allreduce], buffer_kind: [tcm], n_elem: [8]}\n"
      "zip: {system.sips.count: [2, 6], system.sips.topology: [ring_1d, torus_2d], system.sips.w: [2, 3], "
      "system.sips.h: [1, 2]}\n",
      "allreduce.csv");
  std::istringstream rows(csv);
  std::string row;
  std::getline(rows, row);
  EXPECT_THAT(row, StartsWith("algorithm,sip_topology,n_sips,n_elem,bytes_per_pe,bytes_per_sip,latency_ns,"));
  std::getline(rows, row);  // 8 elements of 2 bytes in each of 4 cubes
  EXPECT_THAT(row, StartsWith("intercube_allreduce,ring_1d,2,8,16,64,"));
  EXPECT_THAT(row, HasSubstr(",tcm,true"));
  std::getline(rows, row);
  EXPECT_THAT(row, StartsWith("intercube_allreduce,torus_2d_3x2,6,8,16,64,"));
}

TEST_F(Harnesses, AllReducesDrawTheWiringOfEachAlgorithmOnEachArrangement) {
  const std::string json = file_of(
      "bench: ccl-allreduce\nharness: allreduce\nmachine: small\n"
      "vary: {algorithm: [intercube_allreduce, ring_allreduce], buffer_kind: [tcm, hbm], n_elem: [8]}\n"
      "zip: {system.sips.count: [2, 6], system.sips.topology: [ring_1d, torus_2d], system.sips.w: [2, 3], "
      "system.sips.h: [1, 2]}\n",
      "sweep.json");
  EXPECT_EQ(nlohmann::json::parse(json).at("wiring"),
            (nlohmann::json{
                "wiring/intercube_allreduce-ring_1d-2.svg", "wiring/intercube_allreduce-torus_2d_3x2-6.svg",
                "wiring/ring_allreduce-ring_1d-2.svg", "wiring/ring_allreduce-torus_2d_3x2-6.svg"}));
}

TEST_F(Harnesses, CurvesOfOthersAreReadOrRefusedWithTheirLine) {
  const auto curves =
      read_curves(written("# measured\nname,size,latency_us\nx,2048,1.5\ny,2048,2\nx,4096,3\n"));
  ASSERT_EQ(curves.size(), 2u);
  EXPECT_EQ(curves[0].name, "x");
  EXPECT_EQ(curves[0].points, (std::vector<std::pair<double, double>>{{2048, 1500}, {4096, 3000}}));
  EXPECT_EQ(read_curves(written("bytes_per_pe,latency_ns\n16,7\n"))[0].name, "curve");
  struct Bad {
    const char *text, *where, *says;
  };
  for (const Bad& bad : {Bad{"a,b\n1,2\n", "curve.csv:1", "does not name the columns"},
                         Bad{"size,latency_ns\n16\n", "curve.csv:2", "has 1 fields"},
                         Bad{"size,latency_ns\n16,fast\n", "curve.csv:2", "'fast' is no number"},
                         Bad{"size,latency_ns\n", "curve.csv:1", "no point"}})
    try {
      read_curves(written(bad.text));
      ADD_FAILURE() << bad.text;
    } catch (const InputError& e) {
      EXPECT_THAT(e.where(), HasSubstr(bad.where));
      EXPECT_THAT(e.what(), HasSubstr(bad.says));
    }
}

}  // namespace
}  // namespace kernbench::sweep::harness_test
