// Traffic over a mesh of 6 × 6 routers, with buffers that are unbounded and finite; and the bench that makes it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <atomic>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/run_json.hpp"
#include "bench/traffic.hpp"
#include "kernbench/torch.hpp"

namespace kernbench::bench::traffic_test {
namespace {

using Json = nlohmann::ordered_json;

topology::Machine mesh(std::vector<std::string> overrides = {}) {
  return topology::load_machine(KERNBENCH_MACHINES "/validation/mesh-6x6.yaml", overrides,
                                topology::builtin_components());
}

std::vector<std::string> finite(int buffer, int channels) {
  return {"cube.routers.flow=credits", fmt::format("cube.routers.buffer_packets={}", buffer),
          fmt::format("cube.routers.channels={}", channels)};
}

TrafficPoint measure(const topology::Machine& machine, double load, Pattern pattern = Pattern::uniform,
                     std::int64_t messages = 200) {
  device::Device device(machine);
  Traffic traffic(device, {.pattern = pattern, .message = 256_B, .messages = messages, .seed = 1});
  const TrafficPoint point = traffic.run(load);
  EXPECT_EQ(traffic.lost(), 0);
  EXPECT_EQ(traffic.too_fast(), 0);
  return point;
}

TEST(TrafficOnAMesh, StopsBetweenTwoEvents) {
  const std::atomic<bool> stop = true;
  device::Device device(mesh());
  Traffic traffic(device, {.message = 256_B, .messages = 1'000'000, .seed = 1, .interrupt = &stop});
  EXPECT_THROW(traffic.run(0.1), runtime::Interrupted);
  EXPECT_TRUE(device.simulation().idle());
}

// Neighbours in a row: 5 hops of 6 are one link of 1 ps and a router of 5 ns, the last goes back over 5 of them. A packet of 256 B takes
// 500 ps. With one message in a thousand slots nobody meets.
TEST(TrafficOnAMesh, TakesWiresAndRoutersAtNoLoad) {
  const TrafficPoint point = measure(mesh(), 0.001, Pattern::neighbour, 20);
  EXPECT_NEAR(point.mean_ns, (5 * 5.001 + 25.005) / 6 + 0.5, 0.6);
  EXPECT_NEAR(point.most_ns, 25.505, 0.001);
}

TEST(TrafficOnAMesh, TakesTheSameTimeAtNoLoadWithFiniteBuffers) {
  const double unbounded = measure(mesh({"cube.routers.eject=port"}), 0.001, Pattern::uniform, 20).mean_ns;
  for (const int buffer : {1, 4, 16}) {
    EXPECT_NEAR(measure(mesh(finite(buffer, 1)), 0.001, Pattern::uniform, 20).mean_ns, unbounded,
                0.005 * unbounded);
  }
}

// The middle of the grid lies between four routers; the first of them, r2c2, is the hot spot. 35 routers send everything to it, at a quarter
// of a link each: 8.75 times what its port takes. It sends at a quarter of a link itself, which arrives elsewhere.
TEST(TrafficOnAMesh, AHotSpotInTheMiddleAcceptsWhatOnePortTakes) {
  const auto into_spot = [](const char* eject) {
    auto overrides = finite(4, 2);
    overrides.push_back(std::string("cube.routers.eject=") + eject);
    const topology::Machine machine = mesh(overrides);
    device::Device device(machine);
    Traffic traffic(
        device, {.pattern = Pattern::hotspot, .message = 256_B, .hot_share = 1, .messages = 100, .seed = 1});
    EXPECT_EQ(traffic.nodes()[static_cast<std::size_t>(traffic.hot_spot())].x, 2);
    EXPECT_EQ(traffic.nodes()[static_cast<std::size_t>(traffic.hot_spot())].y, 2);
    return (traffic.run(0.25).accepted_gbs * 36 - 0.25 * 512) / 512;  // of a link
  };
  EXPECT_NEAR(into_spot("port"), 1, 0.05);
  EXPECT_GT(into_spot("unbounded"), 2.5);
}

// Without finite buffers all that is made waits before the port, many thousands of messages in the end: a choice among them that compared
// each with each would take minutes. 35 routers at a load of 1 make 35 times what the port takes.
TEST(TrafficOnAMesh, AnOverloadedPortAcceptsOneLinkWhileThousandsOfMessagesWait) {
  device::Device device(mesh({"cube.routers.eject=port"}));
  Traffic traffic(
      device, {.pattern = Pattern::hotspot, .message = 256_B, .hot_share = 1, .messages = 100, .seed = 1});
  const TrafficPoint point = traffic.run(1);
  EXPECT_FALSE(point.stable);
  EXPECT_GT(point.messages, 3'000);
  EXPECT_NEAR((point.accepted_gbs * 36 - 512) / 512, 1, 0.05);
  EXPECT_EQ(traffic.lost(), 0);
}

// Far below saturation the mean comes to rest; beyond it, it grows as long as messages are made.
TEST(TrafficOnAMesh, IsStableBelowSaturationAlone) {
  const TrafficPoint low = measure(mesh(finite(4, 1)), 0.1);
  EXPECT_TRUE(low.stable);
  EXPECT_GE(low.messages, 36 * 150);  // two intervals of 100 messages at least
  EXPECT_FALSE(measure(mesh(finite(4, 1)), 1).stable);
}

/// What arrives when every router always wants to send.
double saturated(const std::vector<std::string>& overrides) {
  return measure(mesh(overrides), 1).accepted_gbs;
}

TEST(TrafficOnAMesh, SaturatesBelowUnboundedBuffersAndNeverFallsAsBuffersOrChannelsAreAdded) {
  const double unbounded = saturated({});
  const int buffers[] = {1, 2, 4, 8, 16, 32}, channels[] = {1, 2, 4};
  double accepted[6][3];
  for (int b = 0; b < 6; ++b)
    for (int c = 0; c < 3; ++c) {
      accepted[b][c] = saturated(finite(buffers[b], channels[c]));
      EXPECT_LT(accepted[b][c], unbounded) << buffers[b] << " places, " << channels[c] << " channels";
      if (b > 0) {
        EXPECT_GE(accepted[b][c], 0.98 * accepted[b - 1][c])
            << buffers[b] << " places, " << channels[c] << " channels";
      }
      if (c > 0) {
        EXPECT_GE(accepted[b][c], 0.98 * accepted[b][c - 1])
            << buffers[b] << " places, " << channels[c] << " channels";
      }
    }
  RecordProperty("unbounded_gbs", fmt::format("{:.1f}", unbounded));
}

Json run_traffic(const std::vector<std::string>& words, const topology::Machine& machine,
                 bool verify = true) {
  const Registry registry = builtin_registry();
  const Bench& bench = registry.benches.at("traffic");
  return to_json(run(bench, bench.read_options(words), machine, {.verify = verify, .threads = 1}));
}

TEST(TrafficBench, EveryPatternArrivesOverRoutersAndCubes) {
  for (const std::string& pattern : kPatterns)
    for (const char* over : {"routers", "cubes"}) {
      const Json result =
          run_traffic({"pattern=" + pattern, fmt::format("over={}", over), "load=0.05,0.3", "messages=20"},
                      topology::load_machine("default", {}, topology::builtin_components()));
      EXPECT_EQ(result["verified"], true) << pattern << " over " << over;
      EXPECT_EQ(result["results"]["load"], Json({0.05, 0.3}));
      EXPECT_EQ(result["results"]["mean_ns"].size(), 2u);
      EXPECT_GT(result["results"]["mean_ns"][0], 0) << pattern << " over " << over;
    }
}

// A hot spot of finite buffers backs up: links far from it stood idle for want of room.
TEST(TrafficBench, SaysWhereAHotSpotBacksUp) {
  const Json result =
      run_traffic({"pattern=hotspot", "hot_share=0.5", "load=0.5", "messages=100"}, mesh(finite(4, 1)));
  EXPECT_EQ(result["push_back"]["flow"], "credits");
  EXPECT_GT(result["push_back"]["links"], 20);
  EXPECT_GT(result["push_back"]["stalled_ns"], 0);
  double listed = 0;
  for (const Json& link : result["links"]) listed += link["stalled_ns"].get<double>();
  EXPECT_NEAR(listed, result["push_back"]["stalled_ns"].get<double>(), 1e-6 * listed);
}

// A message of 1 B takes 17 B of a link with a header of 16 B. Neighbours: the last of a row goes back over 5 links, so that each link
// carries the messages of one router in each direction: at a load of 1 it is asked for 17 times what it carries.
TEST(TrafficOnAMesh, DemandCountsHeadersOnTheBusiestLink) {
  device::Device device(mesh({"fabric.header_bytes=16"}));
  const Traffic traffic(device, {.pattern = Pattern::neighbour, .message = 1_B, .messages = 1, .seed = 1});
  const double slot =
      traffic.full_rate().time_for(1_B).ns() * traffic.full_rate().gbs();  // in bytes; a slot is whole ps
  EXPECT_NEAR(traffic.demand(), 17 / slot, 1e-9);
  const Traffic large(device, {.pattern = Pattern::neighbour, .message = 256_B, .messages = 1, .seed = 1});
  EXPECT_NEAR(large.demand(), 272.0 / 256, 1e-9);
}

TEST(TrafficBench, LoadsThatHeadersAloneOversaturateAreNamedAndNotSimulated) {
  const auto machine = mesh({"fabric.header_bytes=16"});
  const Registry registry = builtin_registry();
  const Bench& bench = registry.benches.at("traffic");
  const std::vector<std::string> words = {"bytes=1", "pattern=neighbour", "load=0.01,0.5,0.8", "messages=20"};
  const RunResult result = run(bench, bench.read_options(words), machine, {.verify = true, .threads = 1});
  EXPECT_EQ(to_json(result)["results"]["load"], Json({0.01}));
  EXPECT_THAT(result.report.text(), ::testing::HasSubstr("oversaturated and not simulated: load 0.5, 0.8"));
  EXPECT_LT(result.wall.events, 1'000'000u);
}

TEST(TrafficBench, RefusesWhatDoesNotFit) {
  EXPECT_THROW(run_traffic({"load=2"}, mesh()), InputError);
  EXPECT_THROW(run_traffic({"load="}, mesh()), InputError);
  EXPECT_THROW(run_traffic({"over=cubes"}, mesh()), InputError);  // of one
  EXPECT_THROW(run_traffic({"pattern=transpose"}, mesh({"cube.routers.rows=7"})), InputError);
}

/// A bench of the golden file, on a machine with finite buffers, with its numbers compared.
class FiniteBuffers : public ::testing::TestWithParam<Json> {};

TEST_P(FiniteBuffers, ABenchOfTheGoldenFilePasses) {
  const Registry registry = builtin_registry();
  const Bench& bench = registry.benches.at(GetParam()["bench"].get<std::string>());
  const auto machine =
      topology::load_machine(GetParam()["machine"].get<std::string>(), finite(4, 2), registry.components);
  const auto words = GetParam()["options"].get<std::vector<std::string>>();
  const RunResult result = run(bench, bench.read_options(words), machine, {.verify = true});
  EXPECT_TRUE(result.ok());
  EXPECT_TRUE(result.beaten_bounds().empty());
}

/// All but the largest product, which is there with a smaller model too.
std::vector<Json> golden_benches() {
  std::vector<Json> benches = Json::parse(std::ifstream(KERNBENCH_GOLDEN));
  std::erase_if(benches, [](const Json& b) { return b["bench"] == "gpt3-qkv" && b["options"].empty(); });
  return benches;
}

/// The bench, the machine and the options, of letters and digits alone.
std::string name_of(const ::testing::TestParamInfo<Json>& info) {
  std::string name = info.param["bench"].get<std::string>() + " " + info.param["machine"].get<std::string>();
  for (const Json& word : info.param["options"]) name += " " + word.get<std::string>();
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Golden, FiniteBuffers, ::testing::ValuesIn(golden_benches()), name_of);

}  // namespace
}  // namespace kernbench::bench::traffic_test
