// Damaged machine files: whatever happens to the text, loading gives a machine or an InputError with a place.
// Deterministic and bounded. KERNBENCH_FUZZ_ROUNDS raises the number of damaged files.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <sstream>

#include "kernbench/error.hpp"
#include "kernbench/graph.hpp"
#include "kernbench/machine.hpp"

namespace kernbench::topology {
namespace {

class Damage {
 public:
  explicit Damage(unsigned seed) : random_(seed) {}

  std::string apply(std::string text) {
    for (std::size_t n = 1 + pick(4); n > 0; --n) text = once(std::move(text));
    return text;
  }

 private:
  std::size_t pick(std::size_t n) {
    return n == 0 ? 0 : std::uniform_int_distribution<std::size_t>(0, n - 1)(random_);
  }

  std::string once(std::string text) {
    switch (pick(7)) {
      case 0:  // a byte becomes another
        if (!text.empty()) text[pick(text.size())] = static_cast<char>(pick(256));
        return text;
      case 1:  // a character of YAML's own comes in
        return text.insert(pick(text.size()), 1, kSigns[pick(kSigns.size())]);
      case 2:  // the end is lost
        return text.substr(0, pick(text.size()));
      case 3:  // a piece is lost
        return text.erase(pick(text.size()), pick(80));
      case 4:  // a piece stands elsewhere as well
        return text.insert(pick(text.size()), text.substr(pick(text.size()), pick(200)));
      case 5:
        return edit_lines(text);
      default:  // a number becomes absurd
        return text.insert(pick(text.size()), kNumbers[pick(std::size(kNumbers))]);
    }
  }

  std::string edit_lines(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    if (lines.empty()) return text;
    const auto at = lines.begin() + static_cast<std::ptrdiff_t>(pick(lines.size()));
    const std::string copy = *at;
    if (pick(2) == 0)
      lines.erase(at);
    else
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(pick(lines.size())), copy);
    std::string out;
    for (const std::string& line : lines) out += line + "\n";
    return out;
  }

  static constexpr std::string_view kSigns = "{}[]:,#&*!|>'\"%@`?-\n\t ~<=.\\";
  static constexpr const char* kNumbers[] = {"-",  "0",   "1e999", ".nan", "99999999999999999999",
                                             "-1", "&a ", "*a ",   "<<: "};
  std::mt19937 random_;
};

unsigned rounds() {
  const char* more = std::getenv("KERNBENCH_FUZZ_ROUNDS");
  return more ? static_cast<unsigned>(std::strtoul(more, nullptr, 10)) : 2500;
}

TEST(DamagedFiles, LoadOrAreRefusedWithAPlace) {
  const Registry registry = builtin_registry();
  unsigned refused = 0;
  unsigned loaded = 0;
  for (unsigned seed = 0; seed < rounds(); ++seed) {
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
  EXPECT_GT(loaded, rounds() / 50);  // some damage hits comments only
  EXPECT_GT(refused, rounds() / 2);
}

TEST(DamagedFiles, DamagedOverridesAreRefusedOrTaken) {
  const Registry registry = builtin_registry();
  for (unsigned seed = 0; seed < rounds() / 4; ++seed) {
    const std::string text = Damage(seed).apply("cube.hbm.attrs.hbm_total_gb_per_cube=48");
    try {
      load_machine("small", std::vector{text}, registry);
    } catch (const InputError& e) {
      ASSERT_FALSE(e.where().empty()) << text;
    }
  }
}

}  // namespace
}  // namespace kernbench::topology
