// Damaged configurations: whatever happens to the text, loading gives a configuration or an InputError with a place.
#include <gtest/gtest.h>

#include "base/file.hpp"
#include "ccl/config.hpp"
#include "damage.hpp"
#include "kernbench/error.hpp"

namespace kernbench::ccl::fuzz_test {
namespace {

TEST(DamagedConfigs, LoadOrAreRefusedWithAPlace) {
  const Registry registry = builtin_registry();
  const std::string shipped = read_text_file(KERNBENCH_CCL_YAML);
  unsigned refused = 0, loaded = 0;
  for (unsigned seed = 0; seed < fuzz_rounds(); ++seed) {
    const std::string text = Damage(seed).apply(shipped);
    try {
      const Config config = load_config_text(text, "damaged.yaml", {}, registry);
      for (const auto& name : config.names()) ASSERT_GE(config.settings(name).rules.slots, 1);
      ASSERT_EQ(load_config_text(to_yaml(config), "again.yaml", {}, registry), config) << text;
      ++loaded;
    } catch (const InputError& e) {
      ASSERT_EQ(e.where().rfind("damaged.yaml:", 0), 0u) << e.what() << "\nseed " << seed;
      ++refused;
    }
  }
  EXPECT_GT(loaded, fuzz_rounds() / 50);  // some damage hits comments only
  EXPECT_GT(refused, fuzz_rounds() / 4);
}

TEST(DamagedConfigs, DamagedOverridesAreRefusedOrTaken) {
  const Registry registry = builtin_registry();
  for (unsigned seed = 0; seed < fuzz_rounds() / 4; ++seed) {
    const std::string text = Damage(seed).apply("ccl.algorithms.ring_allreduce.world_size=16");
    try {
      load_config("default", std::vector{text}, registry);
    } catch (const InputError& e) {
      ASSERT_FALSE(e.where().empty()) << text;
    }
  }
}

}  // namespace
}  // namespace kernbench::ccl::fuzz_test
