#include "ccl/wiring_drawing.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "kernbench/error.hpp"
#include "runtime/memory_layout.hpp"

namespace kernbench::ccl::wiring_drawing_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using topology::NodeKind;

/// A ring of two PEs of `small`: both send to E, and W is wired and not used.
struct TwoPes {
  Registry registry = builtin_registry();
  topology::Machine machine = topology::load_machine("small", {}, topology::builtin_registry());
  topology::Graph graph{machine};
  address::MemoryPools pools{runtime::memory_layout(machine)};

  Plan plan(const std::string& buffer_kind) {
    const std::string entry = "algorithms.ring_allreduce.";
    const auto config = load_config(
        "default", std::vector<std::string>{entry + "world_size=2", entry + "buffer_kind=" + buffer_kind},
        registry);
    return make_plan(registry, config.settings("ring_allreduce"), machine, pools, {.group = Group::pe});
  }
  std::vector<int> by_hand(topology::NodeId first_slot, topology::NodeId second_slot) const {
    std::vector<int> queues(graph.link_count());
    for (const auto link : graph.route(graph.pe({0, 0, 0}, NodeKind::pe_tcm), second_slot))
      ++queues[link.index];
    for (const auto link : graph.route(graph.pe({0, 0, 1}, NodeKind::pe_tcm), first_slot))
      ++queues[link.index];
    return queues;
  }
};

TEST(WiringDrawing, CountsTheQueuesThatSendOverALink) {
  TwoPes world;
  const auto& graph = world.graph;
  EXPECT_EQ(queues_on_links(world.plan("tcm"), graph),
            world.by_hand(graph.pe({0, 0, 0}, NodeKind::pe_tcm), graph.pe({0, 0, 1}, NodeKind::pe_tcm)));
  EXPECT_EQ(queues_on_links(world.plan("hbm"), graph),
            world.by_hand(graph.hbm_ctrl({0, 0, 0}), graph.hbm_ctrl({0, 0, 1})));
}

TEST(WiringDrawing, ShowsLinksThatAreUsedAndPesThatTakePart) {
  TwoPes world;
  const std::string svg = draw_wiring(world.plan("tcm"), world.machine, world.graph);
  EXPECT_THAT(svg,
              AllOf(HasSubstr("small · wiring of ring_allreduce"), HasSubstr("1 queue sending over a link"),
                    HasSubstr("class=\"bold\""), Not(HasSubstr("2 queues"))));
}

}  // namespace
}  // namespace kernbench::ccl::wiring_drawing_test
