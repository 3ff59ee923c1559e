// `kernbench run` from outside: output, files, exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/progress.hpp"
#include "cli/run_program.hpp"
#include "cli/run_text.hpp"
#include "forked.hpp"
#include "kernbench/saved_run.hpp"
#include "temp_folder.hpp"

namespace kernbench::run_test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::ordered_json;

class RunCommand : public ::testing::Test, protected testing::TempFolder {
 protected:
  /// In the test's folder, which is empty at first.
  Outcome run(std::vector<std::string> words) const {
    std::vector<std::string> command = {"/usr/bin/env", "-C", path().string(), KERNBENCH_BINARY, "run"};
    command.insert(command.end(), words.begin(), words.end());
    return run_program(command);
  }
  std::string succeeds(const std::vector<std::string>& words) const { return expect_success(run(words)); }
  std::string refused(const std::vector<std::string>& words) const { return expect_refusal(run(words)); }
  Json json_of(const std::string& name) const { return Json::parse(std::ifstream(path() / name)); }
};

TEST_F(RunCommand, WorksInAnEmptyFolderAndSummarises) {
  const std::string said =
      succeeds({"--bench", "matmul-composite", "M=64", "K=128", "N=64", "--verify-data"});
  EXPECT_THAT(said, StartsWith("matmul-composite 64×128×64 f16 ref_ref: "));
  for (const char* part : {": OK\n", "\nmatmul             0 ", "lower bound", "sip0.cube0.hbm_ctrl.pe0",
                           "gemm ", "busiest link", "critical path", "matmul_composite.cpp:",
                           "hazards          none", "hash ", "idealised: HBM access 0 ns"})
    EXPECT_THAT(said, HasSubstr(part));
  EXPECT_EQ(files(), 0u);
}

// The same run, wherever its records are kept. What needs them is unknown without them, not empty.
TEST_F(RunCommand, KeepsItsRecordsInMemoryOnDiskOrNot) {
  const std::vector<std::vector<std::string>> runs = {
      {"--bench", "matmul-composite", "M=64", "K=128", "N=64"},
      {"--bench", "ccl-allreduce", "algorithm=ring_allreduce"},
      {"--bench", "ccl-allreduce", "algorithm=ring_allreduce", "world_size=12"}};
  for (const auto& run : runs) {
    const auto json = [&](const char* log) {
      auto words = run;
      words.insert(words.end(), {"--log", log, "--json", "out.json"});
      succeeds(words);
      EXPECT_EQ(files(), 1u) << log;
      Json found = json_of("out.json");
      found.erase("wall");
      return found;
    };
    const Json memory = json("memory");
    Json none = json("none");
    EXPECT_EQ(json("disk"), memory);
    EXPECT_FALSE(memory["critical_path"].empty());
    EXPECT_TRUE(none["critical_path"].is_null());
    EXPECT_TRUE(none["stages"].is_null());
    for (const char* of_records : {"critical_path", "stages"}) none[of_records] = memory[of_records];
    EXPECT_EQ(none, memory);
  }
}

// Trains of packets are only faster: every record and every figure is the same without them.
TEST_F(RunCommand, IsTheSamePacketByPacket) {
  for (const auto& [bench, machine] :
       {std::pair{"matmul-composite", "small"}, {"ccl-allreduce", "small"}, {"ccl-allreduce", "default"}}) {
    const auto json = [&, on = machine, name = bench](std::vector<std::string> words) {
      words.insert(words.begin(), {"--bench", name, "--topology", on, "--json", "out.json"});
      succeeds(words);
      return json_of("out.json");
    };
    Json trains = json({}), packets = json({"--packets"});
    EXPECT_GT(packets["wall"]["events"], trains["wall"]["events"]) << bench;
    trains.erase("wall"), packets.erase("wall");
    EXPECT_EQ(trains, packets) << bench;
  }
}

TEST_F(RunCommand, WithoutRecordsSaysWhatItCannotTell) {
  EXPECT_THAT(succeeds({"--bench", "va-offset-verify", "n_elem=64", "--log", "none"}),
              HasSubstr("critical path    not known: records were not kept (--log none)"));
  for (const std::vector<std::string>& needs : {std::vector<std::string>{"--verify-data"},
                                                {"--strict"},
                                                {"--hazards"},
                                                {"--save", "run.db"},
                                                {"--trace", "out.json"},
                                                {"--report", "page.html"}}) {
    std::vector<std::string> words = {"--bench", "va-offset-verify", "--log", "none"};
    words.insert(words.end(), needs.begin(), needs.end());
    EXPECT_THAT(refused(words), HasSubstr(needs[0] + " needs the records of the run"));
  }
  EXPECT_EQ(files(), 0u);
}

TEST_F(RunCommand, SaysWhereQueuesWereDeepest) {
  const std::vector<std::string> words = {"--bench", "ccl-allreduce", "n_elem=4096",        "--topology",
                                          "small",   "--set",         "system.sips.count=2"};
  EXPECT_THAT(succeeds(words), HasSubstr("\ndeepest queue "));
  auto json = words;
  json.insert(json.end(), {"--json", "out.json"});
  succeeds(json);
  const Json links = json_of("out.json").at("links");
  ASSERT_FALSE(links.empty());
  double before = links[0]["deepest_wait_ns"];
  for (const Json& link : links) {
    EXPECT_THAT(link["link"].get<std::string>(), HasSubstr(" → "));
    EXPECT_GT(link["deepest_queue_bytes"].get<double>(), 0);
    EXPECT_LE(link["deepest_wait_ns"].get<double>(), before);
    before = link["deepest_wait_ns"];
  }
}

// 3 ns until the load is issued; 128 B there and back: a router of 2.5 ns each way, 8 ns of a burst, 0.5 ns at 256 GB/s,
// 5 ps of wires, twice.
TEST_F(RunCommand, QuietLeavesTheBenchsLine) {
  EXPECT_EQ(succeeds({"--bench", "va_offset_verify", "n_elem=64", "--verify-data", "--quiet", "--topology",
                      "small"}),
            "va-offset-verify 32 PEs × 64 f16: 0.030 us: OK\n");
}

TEST_F(RunCommand, LooksForHazardsOnlyIfAsked) {
  const std::vector<std::string> bench = {"--bench", "va_offset_verify", "n_elem=64", "--topology", "small"};
  const auto with = [&](const char* option) {
    auto words = bench;
    words.emplace_back(option);
    return succeeds(words);
  };
  EXPECT_THAT(succeeds(bench), HasSubstr("hazards          not looked for"));
  for (const char* option : {"--hazards", "--verify-data", "--strict"})
    EXPECT_THAT(with(option), HasSubstr("hazards          none"));
}

// The next word is the file, unless it starts with -- or contains =.
TEST_F(RunCommand, JsonTakesAFileOrStandardOutput) {
  const std::vector<std::string> bench = {"--bench", "va_offset_verify", "--topology", "small"};
  const auto said = [&](std::vector<std::string> words) {
    words.insert(words.begin(), bench.begin(), bench.end());
    return succeeds(words);
  };
  EXPECT_TRUE(Json::parse(said({"--json", "n_elem=64"})).is_object());
  EXPECT_TRUE(Json::parse(said({"n_elem=64", "--json", "--quiet"})).is_object());
  EXPECT_TRUE(Json::parse(said({"n_elem=64", "--json"})).is_object());
  EXPECT_TRUE(Json::parse(said({"n_elem=64", "--json", "-"})).is_object());
  EXPECT_THAT(said({"--json", "out.json", "n_elem=64"}), StartsWith("va-offset-verify"));
  EXPECT_EQ(json_of("out.json")["options"]["n_elem"], 64);
  EXPECT_THAT(said({"--json=a=b.json", "n_elem=64"}), StartsWith("va-offset-verify"));
  EXPECT_EQ(json_of("a=b.json")["options"]["n_elem"], 64);
}

TEST_F(RunCommand, SaysWhichCclFileItUsed) {
  const std::vector<std::string> bench = {"--bench", "ccl-allreduce", "n_elem=8", "--topology", "small"};
  EXPECT_THAT(succeeds(bench), HasSubstr("collectives      default ccl.yaml\n"));
  std::ofstream(path() / "ccl.yaml") << "defaults: {algorithm: ring_allreduce}\n";
  EXPECT_THAT(succeeds(bench),
              AllOf(StartsWith("ring_allreduce (ws=1)"), HasSubstr("collectives      ccl.yaml\n")));
  auto shipped = bench;
  shipped.insert(shipped.end(), {"--ccl", "default"});
  EXPECT_THAT(succeeds(shipped), StartsWith("intercube_allreduce"));
}

// 128 ranks on one SIP and 8 on the next: windows with work for two threads.
TEST_F(RunCommand, ThreadsChangeNothingButTheTimeItTakes) {
  const auto result = [&](const char* threads) {
    Json json =
        Json::parse(succeeds({"--bench", "ccl-allreduce", "algorithm=ring_allreduce_tcm", "world_size=136",
                              "n_elem=8", "--verify-data", "--json", "-", "--threads", threads}));
    json.erase("wall");
    return json;
  };
  const Json alone = result("1");
  EXPECT_TRUE(alone.at("ok"));
  for (const char* threads : {"0", "2"}) EXPECT_EQ(result(threads), alone) << threads;
  EXPECT_THAT(refused({"--bench", "ccl-allreduce", "--threads", "-1"}), HasSubstr("0 to 1024"));
}

TEST_F(RunCommand, WritesJsonToAFileOrToStandardOutputAlone) {
  const std::vector<std::string> words = {"--bench", "matmul-composite", "M=64",
                                          "--set",   "pe.clock_ghz=2",   "--json"};
  auto to_file = words, to_stdout = words;
  to_file.emplace_back("out.json");
  to_stdout.emplace_back("-");
  EXPECT_THAT(succeeds(to_file), HasSubstr("critical path"));
  Json written = json_of("out.json");
  Json printed = Json::parse(succeeds(to_stdout));
  EXPECT_EQ(written["machine"]["machine"]["pe"]["clock_ghz"], 2.0);
  EXPECT_EQ(written["options"]["M"], 64);
  EXPECT_TRUE(written["wall"].is_object());
  written.erase("wall");
  printed.erase("wall");
  EXPECT_EQ(written.dump(), printed.dump());
  EXPECT_EQ(files(), 1u);
}

TEST_F(RunCommand, TwoRunsAreEqualByteForByteApartFromTheWallClock) {
  const std::vector<std::vector<std::string>> benches = {{"gpt3-qkv", "tokens=8", "d_model=256"},
                                                         {"matmul-composite", "M=64"},
                                                         {"va-offset-verify", "n_elem=64"},
                                                         {"ccl-allreduce", "n_elem=64"}};
  for (const auto& words : benches) {
    const auto text = [&] {
      std::vector<std::string> command = {"--verify-data", "--json", "-", "--bench"};
      command.insert(command.end(), words.begin(), words.end());
      const std::string whole = succeeds(command);
      return whole.substr(0, whole.find("\n  \"wall\": {"));  // which comes last
    };
    const std::string once = text();
    EXPECT_THAT(once, HasSubstr("\"op_log_hash\""));
    EXPECT_EQ(once, text()) << words.front();
  }
}

TEST_F(RunCommand, UnknownNamesAreAnsweredWithTheNearest) {
  EXPECT_THAT(refused({"--bench", "matmul-composit"}), HasSubstr("did you mean 'matmul-composite'?"));
  EXPECT_THAT(refused({"--bench", "gpt3-qkv", "token=3"}), HasSubstr("did you mean 'tokens'?"));
  EXPECT_THAT(refused({"--bench", "gpt3-qkv", "tokens=0"}), HasSubstr("from 1 to"));
  EXPECT_THAT(
      refused({"--bench", "milestone-gqa-llama70b", "--beside", "h100"}),
      AllOf(HasSubstr("h100: neither a baseline that ships nor a file"), HasSubstr("those that ship: h200")));
  EXPECT_THAT(refused({"--bench", "ccl-allreduce", "algorithm=hello_send"}),
              HasSubstr("algorithm=hello_send: 'hello_send' is no all-reduce"));
  EXPECT_THAT(refused({"--bench", "ccl-allreduce", "algorithm=ring_allreduce_sr"}),
              AllOf(HasSubstr("kernbench: algorithm=ring_allreduce_sr: "), HasSubstr("'ring_allreduce_rs'")));
  EXPECT_THAT(refused({"--bench", "gpt3-qkv", "--json", ""}), HasSubstr("--json"));
  EXPECT_THAT(refused({"--bench", "matmul-composite", "variant=ref_raf"}),
              HasSubstr("did you mean 'ref_ref'"));
  EXPECT_THAT(refused({"--bench", "gpt3-qkv", "--device", "sip:7"}), HasSubstr("sip:0 to sip:1"));
  EXPECT_THAT(refused({"--bench", "gpt3-qkv", "--device", "gpu"}), HasSubstr("`all`, or `sip:N`"));
  EXPECT_THAT(refused({"--bench", "gpt3-qkv", "--set", "pe.clock_gzh=1"}),
              HasSubstr("did you mean 'clock_ghz'?"));
  EXPECT_THAT(refused({"--bench", "gpt3-qkv", "--jsn", "x"}), HasSubstr("--json"));
  EXPECT_THAT(refused({"--bench", "gpt3-qkv", "--topology", "nowhere.yaml"}), HasSubstr("machine file"));
  EXPECT_THAT(refused({}), HasSubstr("--bench"));
}

// One rank per SIP cannot be one SIP's, and PEs are no cubes: said before anything is simulated, in the user's words.
TEST_F(RunCommand, AnAllReduceThatCannotBeIsRefusedWithWhatCan) {
  EXPECT_THAT(refused({"--bench", "ccl-allreduce", "--device", "sip:1"}),
              AllOf(HasSubstr("all 2 SIPs"), HasSubstr("sip:1 alone"), HasSubstr("system.sips.count=1")));
  EXPECT_THAT(refused({"--bench", "ccl-allreduce", "world_size=4"}),
              AllOf(HasSubstr("kernbench: world_size=4: "), HasSubstr("intercube_allreduce does not"),
                    HasSubstr("algorithm=ring_allreduce, "), HasSubstr("tree_allreduce"),
                    Not(HasSubstr("intersip_allreduce")), HasSubstr("system.sips.count=4")));
  EXPECT_THAT(
      refused({"--bench", "ccl-allreduce", "--set", "ccl.algorithms.intercube_allreduce.world_size=4"}),
      HasSubstr("pes are served by ring_allreduce, "));
  EXPECT_THAT(
      succeeds({"--bench", "ccl-allreduce", "--quiet", "--verify-data", "--set", "system.sips.count=1"}),
      StartsWith("intercube_allreduce (ws=1): 16 OK\n"));
}

TEST_F(RunCommand, WhatDoesNotFitTheMachineIsRefusedWithWhatWould) {
  EXPECT_THAT(refused({"--bench", "gpt3-qkv", "d_model=100"}), AllOf(HasSubstr("w_q"), HasSubstr("16")));
}

// The matrices do not fit in a slice, which is found when the bench makes them: exit code 1.
TEST_F(RunCommand, AnUnwritableOutputIsRefusedBeforeSimulating) {
  const std::vector<std::string> words = {"--bench", "matmul-composite", "M=65536", "K=65536", "N=65536"};
  EXPECT_EQ(run(words).exit_code, 1);
  auto with_output = words;
  with_output.insert(with_output.end(), {"--json", "nowhere/out.json"});
  EXPECT_THAT(refused(with_output), HasSubstr("nowhere/out.json"));
  with_output.back() = ".";
  EXPECT_THAT(refused(with_output), HasSubstr("directory"));
  EXPECT_EQ(files(), 0u);
}

/// Whether a process has a handler for the signal.
bool catches(pid_t process, int signal) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string word; status >> word;)
    if (word == "SigCgt:" && status >> word) return (std::stoull(word, nullptr, 16) >> (signal - 1) & 1) != 0;
  return false;
}

/// Interrupts the run as soon as it listens; its exit code.
int interrupted(const fs::path& folder, std::vector<const char*> words) {
  testing::Forked child([&] {
    if (::chdir(folder.c_str()) != 0) ::_exit(127);
    ::close(STDERR_FILENO);
    words.insert(words.begin(), {"kernbench", "run", "--json", "out.json", "--quiet", "--bench"});
    words.push_back(nullptr);
    ::execv(KERNBENCH_BINARY, const_cast<char**>(words.data()));
    ::_exit(127);
  });
  while (!catches(child.pid(), SIGINT) && !child.has_ended()) ::sched_yield();
  child.kill(SIGINT);
  const int status = child.wait();
  EXPECT_TRUE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

TEST_F(RunCommand, CtrlCStopsItWithoutAPartialFile) {
  EXPECT_EQ(interrupted(path(), {"matmul-composite", "M=16384", "K=16384", "N=16384"}), 130);
  EXPECT_EQ(interrupted(path(), {"ccl-allreduce", "n_elem=1000000", "--verify-data"}), 130);
  EXPECT_EQ(interrupted(path(), {"traffic", "messages=1000000"}), 130);
  EXPECT_EQ(files(), 0u);
}

TEST_F(RunCommand, AFileThatWasThereSurvivesAnInterrupt) {
  std::ofstream(path() / "out.json") << "old";
  EXPECT_EQ(interrupted(path(), {"matmul-composite", "M=16384", "K=16384", "N=16384"}), 130);
  std::string text;
  std::ifstream(path() / "out.json") >> text;
  EXPECT_EQ(text, "old");
  EXPECT_EQ(files(), 1u);
}

// Found when the result is written, and after that no part of it is left.
TEST_F(RunCommand, AFullDiskIsReported) {
  EXPECT_THAT(refused({"--bench", "va-offset-verify", "n_elem=64", "--json", "/dev/full"}),
              HasSubstr("No space left on device"));
  std::vector<std::string> command = {KERNBENCH_BINARY,
                                      "run",
                                      "--bench",
                                      "va-offset-verify",
                                      "n_elem=64",
                                      "--json",
                                      (path() / "out.json").string()};
  const Outcome outcome = run_program(command, {.largest_file = 4096});
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  EXPECT_EQ(files(), 0u);
}

bench::RunResult with_launch(Time pe_exec, Time bound) {
  bench::RunResult result;
  result.bench = "mine";
  result.launches.push_back({{.name = "k", .pe_exec = pe_exec}, {bound, "sip0.cube0.pe0.pe_gemm"}});
  return result;
}

TEST(RunText, ALaunchThatBeatsItsBoundIsAnErrorOfTheModel) {
  EXPECT_TRUE(with_launch(10_ns, 10_ns).ok());
  const bench::RunResult result = with_launch(9_ns, 10_ns);
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(cli::run_headline(result),
            "mine\n[FAIL] launch 'k' took 9 ns, less than the 10 ns that sip0.cube0.pe0.pe_gemm needs: an "
            "error of the "
            "model\n");
}

// Each column of a table ends where its title ends, however long a name is.
TEST(RunText, LongNamesOfLaunchesDoNotShiftTheColumns) {
  for (const std::size_t length : {1u, 16u, 17u, 40u, 41u, 100u}) {
    bench::RunResult result = with_launch(10_ns, 10_ns);
    result.machine = topology::load_machine("small", {}, topology::builtin_registry());
    result.launches.push_back(result.launches.front());
    result.launches.back().trace.name = std::string(length, 'n');
    const std::string text = cli::run_summary(result);
    std::istringstream lines(text);
    std::string title, first, second;
    std::getline(lines, title), std::getline(lines, first), std::getline(lines, second);
    EXPECT_EQ(title.find("sip") + 2, first.find(" 0 ") + 1) << text;
    EXPECT_EQ(first.size(), title.size()) << text;
    EXPECT_EQ(second.size() - (length > 40 ? std::string("…").size() - 1 : 0), title.size()) << text;
    EXPECT_THAT(second,
                StartsWith(length > 40 ? std::string(39, 'n') + "… " : std::string(length, 'n') + " "));
  }
}

TEST(RunText, HazardsAreFailuresIfStrict) {
  bench::RunResult result = with_launch(10_ns, 10_ns);
  result.hazards = std::vector<runtime::HazardReport>{{"write-write", "two writes", 3}};
  EXPECT_THAT(cli::run_headline(result), Not(HasSubstr("FAIL")));
  result.strict = true;
  EXPECT_THAT(cli::run_headline(result), HasSubstr("[FAIL] hazards: 1 (--strict); the first: two writes"));
}

TEST(Progress, IsABarOfRequests) {
  const bench::RunProgress progress{
      .done = 6, .submitted = 8, .current = "launch q", .now = 1500_ns, .events = 2'500'000};
  EXPECT_EQ(cli::progress_line(progress, 2),
            "[###############-----] 6/8, 1.500 us simulated, 2.5 M events, 1.2 M/s, launch q");
  // 6 of 8 took 30 s: the other two take 10.
  EXPECT_THAT(cli::progress_line(progress, 30), StartsWith("[###############-----] about 10 s left, 6/8, "));
}

TEST_F(RunCommand, WritesNoTwoOutputsToOneFile) {
  const auto said = [&](const std::vector<std::string>& outputs) {
    std::vector<std::string> words = {"--bench", "va-offset-verify", "n_elem=64"};
    words.insert(words.end(), outputs.begin(), outputs.end());
    return refused(words);
  };
  EXPECT_THAT(said({"--json", "a.x", "--save", "a.x"}), HasSubstr("--json and --save name the same file"));
  EXPECT_THAT(said({"--trace", "a.x", "--json", "./a.x"}),
              HasSubstr("--json and --trace name the same file"));
  EXPECT_THAT(said({"--report", file("a.x"), "--save", "a.x"}),
              HasSubstr("--save and --report name the same file"));
  EXPECT_EQ(files(), 0u);
  succeeds({"--bench", "va-offset-verify", "n_elem=64", "--json", "/dev/null", "--save", "run.db"});
  EXPECT_EQ(files(), 1u);
}

TEST_F(RunCommand, SavesARunThatHoldsItsJson) {
  succeeds({"--bench", "matmul-composite", "M=64", "--topology", "small", "--set", "pe.clock_ghz=2", "--save",
            "run.db", "--json", "run.json"});
  const SavedRun saved = SavedRun::open(file("run.db"));
  const Json run = json_of("run.json"), in_file = Json::parse(saved.json());
  for (const auto& [key, value] : run.items()) EXPECT_EQ(in_file.at(key), value) << key;
  EXPECT_EQ(saved.value("command"),
            "kernbench run --bench matmul-composite M=64 --topology small --set pe.clock_ghz=2");
  EXPECT_EQ(fmt::format("{:016x}", saved.log().hash()), run["sim"]["op_log_hash"]);
  EXPECT_EQ(files(), 2u);
}

TEST_F(RunCommand, APlaceWhereNothingCanBeSavedIsRefusedBeforeTheRun) {
  EXPECT_THAT(refused({"--bench", "matmul-composite", "--save", "none/run.db"}), HasSubstr("none/run.db"));
  EXPECT_THAT(refused({"--bench", "matmul-composite", "--save", ""}), HasSubstr("--save"));
  EXPECT_THAT(refused({"--bench", "matmul-composite", "--save", "run.db", "--save-ops", "0"}),
              HasSubstr("--save-ops"));
  EXPECT_EQ(files(), 0u);
}

TEST_F(RunCommand, ADiskThatIsFullWhileSavingIsBadInputAndLeavesNothing) {
  const Outcome full =
      run_program({KERNBENCH_BINARY, "run", "--bench", "matmul-composite", "--save", file("run.db")},
                  {.largest_file = 65536});
  EXPECT_EQ(full.exit_code, 2);
  EXPECT_THAT(full.err, AllOf(HasSubstr("run.db"), HasSubstr("cannot be written")));
  EXPECT_EQ(files(), 0u);
}

TEST_F(RunCommand, ShowsEnergyAndPowerOfAMachineWithPrices) {
  const std::vector<std::string> words = {"--bench", "matmul-composite", "M=32", "K=64", "N=32"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return succeeds(more);
  };
  EXPECT_THAT(with({"--topology", "realistic"}),
              AllOf(HasSubstr("\nenergy           "), HasSubstr("static "),
                    HasSubstr("priced: TCM of 16 MiB as banks of 32 KiB, SRAM of 32 MiB as banks of 1 MiB\n"),
                    HasSubstr("\npower            "), HasSubstr(" on average, "), HasSubstr(" pJ per FLOP")));
  EXPECT_THAT(with({"--topology", "small"}), Not(HasSubstr("\nenergy ")));
  EXPECT_THAT(with({"--topology", "small", "--set", "energy.mac.f16_pj=0.5"}),
              AllOf(HasSubstr("energy           32.768 nJ: matrix 100.0 %\n"),
                    HasSubstr("without a price: energy.hbm_read")));
  EXPECT_THAT(with({"--topology", "small", "--log", "none", "--set", "energy.mac.f16_pj=0.5"}),
              HasSubstr("32.768 nJ"));
  EXPECT_THAT(kernbench::succeeds({"describe", "energy"}),
              AllOf(HasSubstr("hbm_read_pj_per_byte"), HasSubstr("holds: mac, vector, static")));
  EXPECT_THAT(kernbench::succeeds({"describe", "energy.static"}), HasSubstr("number of W"));
}

}  // namespace
}  // namespace kernbench::run_test
