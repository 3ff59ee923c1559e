// Damaged machine files: whatever happens to the text, loading gives a machine or an InputError with a place.
#include <gtest/gtest.h>

#include "damage.hpp"
#include "kernbench/error.hpp"
#include "kernbench/graph.hpp"
#include "kernbench/machine.hpp"

namespace kernbench::topology::fuzz_test {
namespace {

TEST(DamagedFiles, LoadOrAreRefusedWithAPlace) {
  const Registry registry = builtin_registry();
  unsigned refused = 0;
  unsigned loaded = 0;
  for (unsigned seed = 0; seed < fuzz_rounds(); ++seed) {
    const ShippedMachine& shipped = shipped_machines()[seed % shipped_machines().size()];
    const std::string text = Damage(seed).apply(shipped.yaml);
    try {
      const Machine machine = load_machine_text(text, "damaged.yaml", {}, registry);
      ASSERT_GT(Graph(machine).node_count(), 0u);
      ASSERT_EQ(load_machine_text(to_yaml(machine), "again.yaml", {}, registry), machine) << text;
      ++loaded;
    } catch (const InputError& e) {
      ASSERT_EQ(e.where().rfind("damaged.yaml:", 0), 0u) << e.what() << "\nseed " << seed;
      ++refused;
    }
  }
  EXPECT_GT(loaded, fuzz_rounds() / 50);  // some damage hits comments only
  EXPECT_GT(refused, fuzz_rounds() / 2);
}

TEST(DamagedFiles, DamagedOverridesAreRefusedOrTaken) {
  const Registry registry = builtin_registry();
  for (unsigned seed = 0; seed < fuzz_rounds() / 4; ++seed) {
    const std::string text = Damage(seed).apply("cube.hbm.attrs.hbm_total_gb_per_cube=48");
    try {
      load_machine("small", std::vector{text}, registry);
    } catch (const InputError& e) {
      ASSERT_FALSE(e.where().empty()) << text;
    }
  }
}

}  // namespace
}  // namespace kernbench::topology::fuzz_test
