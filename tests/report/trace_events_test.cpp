// Trace events keep the rules of their format, and show what the run did.
#include "report/trace_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>

#include "report/saved.hpp"
#include "report/trace_validator.hpp"
#include "temp_folder.hpp"

namespace kernbench::report::trace_events_test {
namespace {

using ::testing::_;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using Json = nlohmann::json;

class TraceEvents : public ::testing::Test, protected testing::TempFolder {
 protected:
  Json trace_of(const std::string& name, const std::vector<std::string>& words,
                const TraceOptions& options = {}) {
    save_shipped(name, words, file("run.db"), machine("small", {"system.sips.count=2"}));
    size_ = write_trace(SavedRun::open(file("run.db")), file("trace.json"), options);
    return Json::parse(std::ifstream(file("trace.json")));
  }
  std::size_t ops_of(const std::string& kind) {
    std::size_t n = 0;
    SavedRun::open(file("run.db")).for_each_op([&](const SavedOp& op) { n += op.kind == kind; });
    return n;
  }
  TraceSize size_;
};

TEST_F(TraceEvents, OfEveryShippedBenchKeepTheRules) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> benches = {
      {"matmul-composite", {"M=70", "K=150", "N=50"}},
      {"matmul-composite", {"M=64", "variant=load_load"}},
      {"gpt3-qkv", {"tokens=5", "d_model=320"}},
      {"va-offset-verify", {"n_elem=17"}},
      {"ccl-allreduce", {"n_elem=64"}},
      {"tp-mlp", {"hidden=256", "ffn=512", "tokens=16"}},
      {"milestone-gqa-llama70b", {"scale=validation", "output="}},
      {"llama", {"model=custom", "context=16"}},
      {"traffic", {"load=0.5", "messages=5"}},
      {"ccl-neighbour", {"rounds=2"}},
      {"memory", {"count=50", "writes=30"}}};
  const Registry registry = builtin_registry();
  for (const Bench& bench : registry.benches.all())
    EXPECT_THAT(benches, Contains(Pair(bench.name, _))) << "give it options that make it small";
  for (const auto& [name, words] : benches) {
    const TraceValidator found(trace_of(name, words));
    EXPECT_THAT(found.faults(), IsEmpty()) << name;
    EXPECT_EQ(size_.shown, size_.ops);
    EXPECT_GE(found.slices(), static_cast<std::size_t>(size_.ops));
    EXPECT_GT(found.flows("critical path"), 0u) << name;
    EXPECT_THAT(found.processes, Contains("host"));
    if (name == "traffic") continue;  // no PE does anything
    EXPECT_THAT(found.processes, Contains("sip0.cube0"));
  }
}

TEST_F(TraceEvents, ConnectEverySendToItsReceive) {
  const TraceValidator found(trace_of("ccl-allreduce", {"n_elem=64"}));
  EXPECT_GT(ops_of("ipcq_send"), 0u);
  EXPECT_EQ(found.flows("message"), ops_of("ipcq_send"));
  EXPECT_THAT(found.threads, Contains("sip0 collectives"));
  EXPECT_THAT(found.counters, Contains(HasSubstr("queue depth")));
}

TEST_F(TraceEvents, SayWhatAnOperationWas) {
  const Json trace = trace_of("matmul-composite", {"M=64", "K=64", "N=64", "variant=load_load"});
  const TraceValidator found(trace);
  EXPECT_THAT(found.counters, Contains("HBM pe0 read"));
  const Json* load = nullptr;
  for (const auto& event : trace.at("traceEvents"))
    if (event.at("ph") == "X" && event.at("name") == "dma_read" && load == nullptr) load = &event;
  ASSERT_NE(load, nullptr);
  const Json& args = load->at("args");
  EXPECT_EQ(args.at("bytes"), 64 * 64 * 2);
  EXPECT_EQ(args.at("shapes"), "f16[64, 64]");
  EXPECT_THAT(args.at("line").get<std::string>(), HasSubstr("matmul_composite.cpp:"));
  EXPECT_THAT(args.at("cause").get<std::string>(), HasSubstr("op "));
  EXPECT_EQ(args.at("launch"), "matmul");
}

TEST_F(TraceEvents, BeyondALimitKeepTheCriticalPathAndSaySo) {
  const TraceValidator all(trace_of("gpt3-qkv", {"tokens=5", "d_model=320"}));
  const std::size_t on_path = all.flows("critical path");
  const Json trace = trace_of("gpt3-qkv", {"tokens=5", "d_model=320"}, {.most_ops = 300});
  const TraceValidator some(trace);
  EXPECT_THAT(some.faults(), IsEmpty());
  EXPECT_EQ(size_.shown, 300);
  EXPECT_GT(size_.ops, 300);
  EXPECT_EQ(trace.at("otherData").at("ops_shown"), 300);
  EXPECT_EQ(some.flows("critical path"), on_path);
}

TEST_F(TraceEvents, AreCompressedWhereTheNameAsksForIt) {
  save_shipped("va-offset-verify", {"n_elem=17"}, file("run.db"));
  const SavedRun run = SavedRun::open(file("run.db"));
  write_trace(run, file("plain.json"));
  write_trace(run, file("packed.json.gz"));
  const gzFile packed = gzopen(file("packed.json.gz").c_str(), "rb");
  std::string text(1 << 24, '\0');
  text.resize(static_cast<std::size_t>(gzread(packed, text.data(), static_cast<unsigned>(text.size()))));
  gzclose(packed);
  std::ifstream plain(file("plain.json"));
  EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(plain), {}));
}

}  // namespace
}  // namespace kernbench::report::trace_events_test
