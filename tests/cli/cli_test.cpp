// The built program from outside: exit code, standard output, standard error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "cli/run_program.hpp"
#include "kernbench/machine.hpp"
#include "temp_folder.hpp"
#include "topology/machine_text.hpp"

namespace kernbench::cli_test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using topology::default_text;
using topology::replaced;

class CliTest : public ::testing::Test, protected testing::TempFolder {
 protected:
  std::string file_with(const std::string& text) const {
    std::ofstream(file("m.yaml"), std::ios::binary) << text;
    return file("m.yaml");
  }
};

TEST_F(CliTest, CheckAcceptsTheShippedMachines) {
  for (const auto& shipped : topology::shipped_machines()) {
    EXPECT_THAT(succeeds({"topology", "check", shipped.name}), StartsWith(shipped.name + ": ok: "));
    const std::string path = file_with(shipped.yaml);
    EXPECT_THAT(succeeds({"topology", "check", path}), StartsWith(path + ": ok: "));
  }
}

TEST_F(CliTest, CheckRefusesBadFilesWithPlaceAndHint) {
  const std::string& text = default_text();
  std::string bomb = "a0: &a0 [0, 0, 0, 0, 0, 0, 0, 0, 0]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int k = 0; k < 8; ++k) bomb += ", " + before;
    bomb += "]\n";
  }
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"unknown key", replaced(text, "clock_ghz", "clock_gzh")},
      {"duplicate key", replaced(text, "    w: 4\n", "    w: 4\n    w: 4\n")},
      {"wrong type", replaced(text, "    w: 4", "    w: four")},
      {"octal", replaced(text, "    w: 4", "    w: 010")},
      {"missing section", topology::without_group(text, "sip.cube_mesh")},
      {"zero", replaced(text, "    w: 4", "    w: 0")},
      {"negative", replaced(text, "access_ns: 0", "access_ns: -1")},
      {"not a number", replaced(text, "ns_per_mm: 0.01", "ns_per_mm: .nan")},
      {"absurd", replaced(text, "    w: 4", "    w: 1e999")},
      {"cubes beyond five bits", replaced(text, "    w: 4", "    w: 9")},
      {"impl nobody registered", replaced(text, "builtin.pe_gemm", "acme.gemm")},
      {"six SIPs without a shape",
       replaced(replaced(text, "count: 2", "count: 6"), "topology: ring_1d", "topology: torus_2d")},
      {"empty", ""},
      {"truncated", text.substr(0, text.find("overhead_ns: 5"))},
      {"binary", std::string("\x7f"
                             "ELF\x02\x01\0\0",
                             8)},
      {"very deep", std::string(200'000, '[')},
      {"unterminated quote", replaced(text, "ring_1d ", "'ring_1d ")},
      {"alias bomb", bomb},
      {"cyclic alias", "system: &a {sips: *a}\n"},
      {"second document", text + "\n---\nsystem: {}\n"},
      {"merge key", "system: &s {ns_per_mm: 1}\nsip:\n  <<: *s\n"},
      {"tag", replaced(text, "    w: 4", "    w: !!int 4")},
  };
  for (const auto& [what, bad] : cases) {
    SCOPED_TRACE(what);
    const std::string path = file_with(bad);
    EXPECT_THAT(refused({"topology", "check", path}),
                ContainsRegex("^kernbench: " + path + ":[0-9]+:[0-9]+: "));
  }
}

TEST_F(CliTest, CheckRefusesWhatIsNoFile) {
  EXPECT_THAT(refused({"topology", "check", path().string()}), HasSubstr("folder"));
  EXPECT_THAT(refused({"topology", "check", file("none.yaml")}), HasSubstr("default, realistic, small"));
  EXPECT_THAT(refused({"topology", "check", ""}), HasSubstr("no such file"));
}

TEST_F(CliTest, SixSipsWithAShapeAreAccepted) {
  const std::string six = replaced(replaced(default_text(), "count: 2", "count: 6\n    w: 3\n    h: 2"),
                                   "topology: ring_1d", "topology: torus_2d");
  EXPECT_THAT(succeeds({"topology", "check", file_with(six)}), HasSubstr("6 SIPs"));
}

TEST_F(CliTest, ShowYamlLoadsToTheSameYaml) {
  const std::string yaml =
      succeeds({"topology", "show", "realistic", "--set", "sip.cube_mesh.w=3", "--yaml"});
  EXPECT_EQ(succeeds({"topology", "show", file_with(yaml), "--yaml"}), yaml);
  EXPECT_THAT(yaml, HasSubstr("w: 3"));
}

TEST_F(CliTest, ShowSaysWhatTheMachineIs) {
  const std::string text = succeeds({"topology", "show"});
  for (const char* part :
       {"2 SIPs × 16 cubes × 8 PEs = 256 PEs", "48 GiB", "8.19 TFLOP/s", "2.10 PFLOP/s", "32 routers",
        "idealised: HBM access 0 ns, PCIe 5 ns", "launch cost 0 ns", "DMA window unbounded",
        "matrix unit alike in all dtypes", "matrix unit filled in 0 cycles"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(succeeds({"topology", "show", "realistic"}),
              AllOf(HasSubstr("idealised: no figure of this file\n"), HasSubstr("carry 0 bytes"),
                    HasSubstr("buffers"), HasSubstr("host code"), HasSubstr("window 64 KiB"),
                    HasSubstr("f8e5m2 16.4 TFLOP/s; f32 2.05 TFLOP/s"), HasSubstr("2000 ns to submit"),
                    Not(HasSubstr("drivers")), Not(HasSubstr("strided"))));  // realistic gathers
}

TEST_F(CliTest, ShowBuildsTheLargestMachine) {
  EXPECT_THAT(succeeds({"topology", "show", "--set", "system.sips.count=256", "--set", "sip.cube_mesh.w=8",
                        "--set", "cube.pe_layout.pe_per_corner=4"}),
              HasSubstr("131,072 PEs"));
}

TEST_F(CliTest, ShowJsonHasAllGroupsAndDerivedPeaks) {
  const auto json = nlohmann::json::parse(succeeds({"topology", "show", "small", "--json"}));
  EXPECT_EQ(json["source"], "small");
  EXPECT_EQ(json["machine"]["cube"]["hbm"]["attrs"]["num_pcs"], 8);
  EXPECT_EQ(json["machine"]["cube"]["hbm"]["kind"], "hbm");
  EXPECT_EQ(json["derived"]["total_pes"], 32);
  EXPECT_DOUBLE_EQ(json["derived"]["per_pe"]["gemm_tflops"].get<double>(), 8.192);
  EXPECT_DOUBLE_EQ(json["derived"]["total"]["hbm_gbs"].get<double>(), 4 * 8 * 256);
  EXPECT_EQ(json["derived"]["per_sip"]["hbm_bytes"].get<std::int64_t>(), 4ll * 48 << 30);
  EXPECT_THAT(json["idealised"].dump(), HasSubstr("HBM access 0 ns"));
}

TEST_F(CliTest, NamesThatAreNoUtf8DoNotBreakJson) {
  std::ofstream(file("\xff.yaml")) << default_text();
  const auto json = nlohmann::json::parse(succeeds({"topology", "show", file("\xff.yaml"), "--json"}));
  EXPECT_EQ(json["derived"]["total_pes"], 256);
}

TEST_F(CliTest, DrawWritesAWholeFileOrNone) {
  const std::string svg = file("m.svg");
  EXPECT_THAT(succeeds({"topology", "draw", "small", "-o", svg}), HasSubstr("m.svg"));
  std::ifstream in(svg);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  EXPECT_THAT(text, StartsWith("<svg "));
  EXPECT_EQ(succeeds({"topology", "draw", "small", "-o", "-"}), text);
  succeeds({"topology", "draw", "small", "-o", file("M.SVG")});
  succeeds({"topology", "draw", "small", "-o", file("plan")});
  EXPECT_THAT(refused({"topology", "draw", "small", "-o", file("no/such/m.svg")}),
              HasSubstr("No such file or directory"));
  EXPECT_THAT(refused({"topology", "draw", "small", "-o", path().string()}), HasSubstr("Is a directory"));
  EXPECT_THAT(refused({"topology", "draw", "small", "-o", "/dev/full"}), HasSubstr("No space left"));
  EXPECT_THAT(refused({"topology", "draw", "small"}), HasSubstr("--output"));
  EXPECT_THAT(refused({"topology", "draw", "small", "-o", file("m.png")}), HasSubstr("hint: write " + svg));
  EXPECT_EQ(files(), 3u);
}

TEST_F(CliTest, AFailedWriteKeepsTheOldFile) {
  std::ofstream(file("m.svg")) << "old";
  const Outcome outcome =
      kernbench_with({"topology", "draw", "small", "-o", file("m.svg")}, {.largest_file = 10'000});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("File too large"));
  std::string left;
  std::ifstream(file("m.svg")) >> left;
  EXPECT_EQ(left, "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(CliTest, AStdoutThatFailsIsReported) {
  for (const char* bad : {"/dev/full", "closed"}) {
    const Outcome outcome = kernbench_with({"topology", "show"}, {.stdout_to = bad});
    EXPECT_EQ(outcome.exit_code, 2) << bad;
    EXPECT_THAT(outcome.err, StartsWith("kernbench: standard output: cannot be written: ")) << bad;
  }
}

TEST_F(CliTest, TheExitCodeIsTheSameIfNobodyHearsTheComplaint) {
  for (const char* bad : {"/dev/full", "closed"}) {
    EXPECT_EQ(kernbench_with({"topology", "check", "missing"}, {.stderr_to = bad}).exit_code, 2) << bad;
    EXPECT_EQ(kernbench_with({"topology", "show"}, {.stdout_to = bad, .stderr_to = bad}).exit_code, 2) << bad;
    EXPECT_EQ(kernbench_with({"topology", "check", "small"}, {.stderr_to = bad}).exit_code, 0) << bad;
  }
}

TEST_F(CliTest, AnOptionBeforeItsCommandIsSentBehindIt) {
  EXPECT_THAT(
      refused({"--topology", "small", "probe"}),
      AllOf(HasSubstr("'kernbench' has no option '--topology'"), HasSubstr("kernbench probe --topology")));
  EXPECT_THAT(
      refused({"topology", "--set=sip.cube_mesh.w=8", "show"}),
      AllOf(HasSubstr("'kernbench topology' has no option"), HasSubstr("kernbench topology show --set=")));
  EXPECT_THAT(refused({"probe", "--topologie", "small"}), HasSubstr("did you mean '--topology'?"));
}

TEST_F(CliTest, TextOfTheUserIsShownWithoutItsControlCharacters) {
  const std::string evil = "x\x1b[2J\ny";
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"topology", "check", evil},
                                             {"describe", evil},
                                             {"list", evil},
                                             {evil},
                                             {"--" + evil},
                                             {"topology", "show", "--set", evil},
                                             {"topology", "show", "--set", "system." + evil + "=1"},
                                             {"topology", "draw", "small", "-o", "no/such/" + evil},
                                             {"probe", "latency", evil, "host"},
                                             {"probe", "latency", "host", "sip0.cube0.sram", "--op", evil}}) {
    const std::string text = refused(words);
    EXPECT_THAT(text, ::testing::Not(HasSubstr("\x1b"))) << words.back();
    EXPECT_THAT(text, ::testing::Not(HasSubstr("\ny"))) << words.back();
    EXPECT_THAT(text, HasSubstr("\\x1b[2J\\ny")) << words.back();
  }
}

TEST_F(CliTest, LongTextOfTheUserIsShownInPart) {
  const std::string huge(100'000, 'x');
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"topology", "check", huge},
           {"describe", huge},
           {huge},
           {"--" + huge},
           {"topology", "show", "--set", huge},
           {"topology", "draw", "small", "-o", huge},
           {"probe", "latency", huge, "host"},
           {"probe", "latency", "host", "sip0.cube0.sram", "--bytes", huge}})
    EXPECT_LE(refused(words).size(), 1000u) << words.front();
}

TEST_F(CliTest, AReaderThatWentAwayIsNoError) {
  const Outcome outcome = kernbench_with({"topology", "show"}, {.stdout_to = "gone"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST_F(CliTest, ListShowsWhatThereIs) {
  EXPECT_THAT(succeeds({"list", "topologies"}), HasSubstr("realistic"));
  EXPECT_THAT(succeeds({"list", "components"}), HasSubstr("builtin.pe_gemm"));
  EXPECT_EQ(succeeds({"list"}), succeeds({"list", "benches"}) + "\n" + succeeds({"list", "algorithms"}) +
                                    "\n" + succeeds({"list", "operations"}) + "\n" +
                                    succeeds({"list", "topologies"}) + "\n" +
                                    succeeds({"list", "components"}));
  EXPECT_THAT(refused({"list", "component"}), HasSubstr("'components'"));
}

// However long a name is, what the thing is begins in the same column of every line.
TEST_F(CliTest, ListsAreTwoColumns) {
  for (const char* list : {"benches", "algorithms", "operations", "topologies"}) {
    std::istringstream lines(succeeds({"list", list}));
    std::string line;
    std::getline(lines, line);  // the heading
    std::set<std::size_t> columns;
    while (std::getline(lines, line)) {
      const std::size_t end_of_name = line.find(' ', 2);
      columns.insert(line.find_first_not_of(' ', end_of_name));
    }
    EXPECT_EQ(columns.size(), 1u) << list;
  }
}

TEST_F(CliTest, DescribeExplainsKindsImplsAndSections) {
  const std::string kind = succeeds({"describe", "hbm"});
  for (const char* part :
       {"cube.hbm", "builtin.hbm", "num_pcs", "default 256", "a number of GB/s from 0.001 to 1000000",
        "refresh_interval_ns", "builtin.hbm_rows"})
    EXPECT_THAT(kind, HasSubstr(part));
  EXPECT_EQ(succeeds({"describe", "cube.hbm"}), kind);
  EXPECT_THAT(succeeds({"describe", "builtin.hbm"}), HasSubstr("impl of kind hbm"));
  EXPECT_THAT(succeeds({"describe", "system.sips"}), HasSubstr("count: packages in the system"));
  EXPECT_THAT(refused({"describe", "hmb"}), HasSubstr("did you mean 'hbm'"));
  EXPECT_THAT(refused({"describe", "nothing_like_it"}), HasSubstr("kernbench list"));
}

TEST_F(CliTest, EveryKindAndSectionCanBeDescribed) {
  const topology::Registry registry = topology::builtin_registry();
  for (const topology::Kind& kind : registry.kinds()) {
    const std::string text = succeeds({"describe", kind.name});
    for (const Param& param : kind.params) EXPECT_THAT(text, HasSubstr(param.name + ": " + param.doc));
  }
}

TEST_F(CliTest, WrongWordsNameTheNearest) {
  EXPECT_THAT(refused({"topologi", "show"}), HasSubstr("did you mean 'topology'"));
  EXPECT_THAT(refused({"topology", "shw"}), HasSubstr("did you mean 'show'"));
  EXPECT_THAT(refused({"topology", "show", "--jsn"}), HasSubstr("did you mean '--json'"));
  EXPECT_THAT(refused({"topology", "show", "--ste", "a=1"}), HasSubstr("did you mean '--set'"));
  EXPECT_THAT(refused({"topology", "show", "small", "more"}), HasSubstr("'more'"));
  EXPECT_THAT(refused({"topology", "show", "--yaml", "--json"}), HasSubstr("exclude each other"));
  EXPECT_THAT(refused({"topology", "show", "--set"}), HasSubstr("--set"));
  EXPECT_THAT(refused({"topology"}), HasSubstr("show, check, draw"));
  EXPECT_THAT(refused({"describe"}), HasSubstr("name"));
  EXPECT_THAT(refused({"describe", "hbn"}),
              AllOf(HasSubstr("did you mean 'hbm'"), HasSubstr("'kernbench list' shows all names")));
  EXPECT_THAT(refused({"describe", "xyzzy"}),
              AllOf(HasSubstr("'kernbench list' shows all names"), Not(HasSubstr("did you mean"))));
  EXPECT_THAT(refused({}), HasSubstr("kernbench --help"));
}

// What newcomers type first.
TEST_F(CliTest, FirstMistakesAreAnsweredWithWhatToType) {
  EXPECT_THAT(refused({"run"}),
              AllOf(HasSubstr("needs a bench"), HasSubstr("--bench NAME, one of ccl-allreduce, ")));
  EXPECT_THAT(refused({"run", "matmul-composite"}), HasSubstr("kernbench run --bench matmul-composite"));
  EXPECT_THAT(refused({"run", "--bench", "matmul-composite", "m=5"}), HasSubstr("did you mean 'M'?"));
  EXPECT_THAT(refused({"topology", "show", "realstic"}), HasSubstr("did you mean 'realistic'?"));
  EXPECT_THAT(refused({"topology", "show", "--set", "clock_ghz=2"}),
              HasSubstr("give it with its part: pe.clock_ghz"));
  EXPECT_THAT(refused({"probe", "latency", "sip0.cube0.pe0", "sip0.cube1.hbm"}),
              HasSubstr("did you mean 'sip0.cube1.hbm_ctrl.pe0'"));
  EXPECT_THAT(refused({"sweep"}), HasSubstr("sweep is required"));
}

// A wrong or missing value is answered with what the option takes, and the help shows nothing of the checks.
TEST_F(CliTest, ValuesOfOptionsAreCheckedInTheWordsOfTheirUser) {
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"run", "--bench", "va-offset-verify"});
    return refused(words);
  };
  EXPECT_THAT(run({"--threads", "two"}),
              HasSubstr("--threads two: must be a whole number from 0 to 1024 (0: one per core)"));
  EXPECT_THAT(run({"--threads", "1025"}), HasSubstr("--threads 1025: must be a whole number"));
  EXPECT_THAT(run({"--threads", "-1"}), HasSubstr("--threads -1: must be a whole number"));
  EXPECT_THAT(run({"--log"}), HasSubstr("--log needs a value: memory, disk or none"));
  EXPECT_THAT(run({"--log", "nothing"}), HasSubstr("--log nothing: must be memory, disk or none"));
  EXPECT_THAT(run({"--log", "disk", "--log", "none"}), HasSubstr("--log is given 2 times"));
  EXPECT_THAT(run({"--save"}), HasSubstr("--save needs a value: the name of a file"));
  EXPECT_THAT(run({"--save", ""}), HasSubstr("--save '': must be the name of a file"));
  EXPECT_THAT(run({"--json="}), HasSubstr("--json"));
  EXPECT_THAT(run({"--save-ops", "0"}), HasSubstr("--save-ops 0: must be a whole number of at least 1"));
  EXPECT_THAT(run({"--set"}), HasSubstr("--set needs a value: KEY=VALUE"));
  EXPECT_THAT(refused({"web", "--port", "65536"}), HasSubstr("must be a whole number from 0 to 65535"));
  EXPECT_THAT(succeeds({"run", "--help"}),
              AllOf(HasSubstr("  --log memory|disk|none\n"), HasSubstr("  --threads N  ")));
}

TEST_F(CliTest, HintsSayWhatToTypeInstead) {
  EXPECT_THAT(refused({"run", "--bench", "va-offset-verify", "--set", "n_elem=4"}),
              HasSubstr("n_elem is an option of the bench: write n_elem=4 without --set"));
  EXPECT_THAT(refused({"run", "--bench", "ccl-allreduce", "--set", "ccl.default.n_slots=4"}),
              HasSubstr("did you mean 'ccl.defaults'?"));
}

TEST_F(CliTest, SetTakesOneValueAndLeavesTheFileAlone) {
  EXPECT_THAT(succeeds({"topology", "show", "--set", "sip.cube_mesh.w=1", "small"}),
              StartsWith("small: 1 SIP × 2 cubes"));
  EXPECT_THAT(succeeds({"topology", "show", "--set=cube.size_mm=[20, 14]", "small"}),
              HasSubstr("20 × 14 mm"));
}

TEST_F(CliTest, HelpAndVersionGoToStdout) {
  EXPECT_THAT(succeeds({"--help"}), HasSubstr("describe"));
  EXPECT_THAT(succeeds({"topology", "show", "--help"}), HasSubstr("--set KEY=VALUE"));
  EXPECT_THAT(succeeds({"version"}), ContainsRegex("^kernbench [0-9]+\\.[0-9]+\\.[0-9]+\n$"));
  EXPECT_EQ(succeeds({"--version"}), succeeds({"version"}));
}

}  // namespace
}  // namespace kernbench::cli_test
