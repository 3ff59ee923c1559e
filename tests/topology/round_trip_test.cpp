// Printing a machine and loading it again gives the same machine and the same graph.
#include <gtest/gtest.h>

#include <random>

#include "kernbench/error.hpp"
#include "kernbench/graph.hpp"
#include "kernbench/machine.hpp"

namespace kernbench::topology::round_trip_test {
namespace {

bool same(const Node& a, const Node& b) {
  return a.kind == b.kind && a.sip == b.sip && a.cube == b.cube && a.pe == b.pe && a.row == b.row &&
         a.col == b.col && a.side == b.side && a.conn == b.conn && a.overhead == b.overhead &&
         a.at.x == b.at.x && a.at.y == b.at.y;
}

bool same(const Link& a, const Link& b) {
  return a.from == b.from && a.to == b.to && a.bandwidth == b.bandwidth && a.wire == b.wire;
}

void expect_same_graph(const Graph& a, const Graph& b) {
  ASSERT_EQ(a.node_count(), b.node_count());
  ASSERT_EQ(a.link_count(), b.link_count());
  for (std::uint32_t i = 0; i < a.node_count(); ++i)
    ASSERT_TRUE(same(a.node({i}), b.node({i}))) << a.path({i});
  for (std::uint32_t i = 0; i < a.link_count(); ++i)
    ASSERT_TRUE(same(a.link({i}), b.link({i}))) << "link " << i;
}

void expect_round_trip(const Machine& machine) {
  const std::string yaml = to_yaml(machine);
  const Machine again = load_machine_text(yaml, "again.yaml", {}, builtin_registry());
  ASSERT_EQ(again, machine) << yaml;
  ASSERT_EQ(to_yaml(again), yaml);
  expect_same_graph(Graph(machine), Graph(again));
}

class RandomMachine {
 public:
  explicit RandomMachine(unsigned seed) : random_(seed) {}

  /// A `path=value` for a random parameter, anywhere in its range and with whatever digits.
  std::string override_of(const Machine& machine) {
    const Group& group = machine.groups()[pick(machine.groups().size())];
    if (group.params.params().empty()) return "fabric.packet_bytes=512";
    const Param& param = group.params.params()[pick(group.params.params().size())];
    return group.path + "." + param.name + "=" + kernbench::to_yaml(value_of(param));
  }

 private:
  std::size_t pick(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }

  double number_in(Range range) {
    const double most = std::min(range.most, range.least + 1000);  // ends of the scale are elsewhere
    return std::uniform_real_distribution<double>(range.least, most)(random_);
  }

  ParamValue value_of(const Param& param) {
    switch (param.type) {
      case Param::Type::integer:
        return static_cast<std::int64_t>(number_in({param.range.least, std::min(param.range.most, 20.0)}));
      case Param::Type::number:
        return number_in(param.range);
      case Param::Type::numbers: {
        std::vector<double> values(param.length);
        for (double& v : values) v = number_in(param.range);
        return values;
      }
      case Param::Type::choice:
        return param.choices[pick(param.choices.size())];
      case Param::Type::words:
        return std::vector<std::string>{param.choices[pick(param.choices.size())]};
      default:
        return param.fallback;
    }
  }

  std::mt19937 random_;
};

TEST(RoundTrip, ShippedMachinesComeBack) {
  for (const ShippedMachine& shipped : shipped_machines())
    expect_round_trip(load_machine(shipped.name, {}, builtin_registry()));
}

TEST(RoundTrip, AGridOfSipsComesBack) {
  const std::vector<std::string> grid = {"system.sips.count=6", "system.sips.topology=torus_2d",
                                         "system.sips.w=3",     "system.sips.h=2",
                                         "sip.cube_mesh.w=1",   "sip.cube_mesh.h=2"};
  expect_round_trip(load_machine("default", grid, builtin_registry()));
}

TEST(RoundTrip, EveryAcceptedRandomMachineComesBack) {
  const Registry registry = builtin_registry();
  const Machine base = load_machine("small", {}, registry);
  int accepted = 0;
  for (unsigned seed = 0; seed < 600; ++seed) {
    RandomMachine random(seed);
    std::vector<std::string> overrides;
    for (unsigned n = 0; n < 1 + seed % 5; ++n) overrides.push_back(random.override_of(base));
    try {
      expect_round_trip(load_machine("small", overrides, registry));
      ++accepted;
    } catch (const InputError&) {  // parts that do not fit together
    }
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(accepted, 300);
}

}  // namespace
}  // namespace kernbench::topology::round_trip_test
