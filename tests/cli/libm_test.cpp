// The C library's functions differ in their last bit from version to version: no time and no number may depend on them.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/run_program.hpp"
#include "temp_folder.hpp"

namespace kernbench::libm_test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

class Libm : public ::testing::Test, protected testing::TempFolder {
 protected:
  /// What a run with numbers gives, without what depends on the host.
  nlohmann::json result_of(std::vector<std::string> words, bool preloaded) const {
    const std::string file = (path() / (preloaded ? "off.json" : "true.json")).string();
    std::vector<std::string> command = {"/usr/bin/env"};
    if (preloaded) command.emplace_back("LD_PRELOAD=" KERNBENCH_LIBM_ONE_ULP_OFF);
    for (const char* word : {KERNBENCH_BINARY, "run", "--verify-data", "--quiet", "--json"})
      command.emplace_back(word);
    command.push_back(file);
    command.emplace_back("--bench");
    command.insert(command.end(), words.begin(), words.end());
    const Outcome outcome = run_program(command);
    EXPECT_EQ(outcome.exit_code, 0) << words.front() << ": " << outcome.err;
    EXPECT_EQ(outcome.err, "") << words.front();  // ld.so says there what it could not preload
    nlohmann::json json = nlohmann::json::parse(std::ifstream(file), nullptr, false);
    json.erase("wall");
    return json;
  }
};

TEST_F(Libm, PreloadedLibraryIsOffByOneUnit) {
  void* const library = ::dlopen(KERNBENCH_LIBM_ONE_ULP_OFF, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << ::dlerror();
  auto* const off = reinterpret_cast<double (*)(double)>(::dlsym(library, "exp"));
  EXPECT_EQ(off(1.5), std::nextafter(std::exp(1.5), 10.0));
}

TEST_F(Libm, ThatIsOneUnitOffChangesNoNumber) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's own library must be preloaded first";
  const Outcome expected = run_program({KERNBENCH_LIBM_NUMBERS});
  EXPECT_EQ(expected.exit_code, 0) << expected.err;
  const Outcome got =
      run_program({"/usr/bin/env", "LD_PRELOAD=" KERNBENCH_LIBM_ONE_ULP_OFF, KERNBENCH_LIBM_NUMBERS});
  EXPECT_EQ(got.err, "");
  EXPECT_EQ(got.out, expected.out);
}

TEST_F(Libm, ThatIsOneUnitOffChangesNoResultOfABench) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's own library must be preloaded first";
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"llama", "model=custom", "layers=1", "context=16", "hidden=64", "ffn=128", "heads=4",
            "kv_heads=2", "head_dim=16"},
           {"tp-mlp", "hidden=128", "ffn=256", "tokens=16"},
           {"milestone-gqa-llama70b", "scale=validation", "output=", "--topology=small"},
           {"va-offset-verify", "n_elem=64"},
           {"ccl-allreduce", "n_elem=256", "--topology=realistic"},
           {"memory", "pattern=random", "count=100", "--topology=realistic"}}) {
    const nlohmann::json expected = result_of(words, false);
    EXPECT_EQ(expected["sim"]["op_log_hash"].dump().size(), 18U) << words.front();  // 16 digits, quoted
    EXPECT_EQ(result_of(words, true), expected) << words.front();
  }
}

}  // namespace
}  // namespace kernbench::libm_test
