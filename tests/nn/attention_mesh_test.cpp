// Attention over ranks in a line.
#include "kernbench/ccl.hpp"
#include "nn/mesh_world.hpp"

namespace kernbench::nn::attention_mesh_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<std::string> kEightSlots = {"defaults.n_slots=8"};
const std::vector<std::string> kOneSlot = {"defaults.n_slots=1"};

TEST(AttentionMesh, IsRightOverPes) {
  for (const bool prefill : {true, false})
    for (const int ranks : {1, 2, 3, 4, 8, 16})
      expect_right({.prefill = prefill, .line = LineKind::pes, .ranks = ranks});
}

TEST(AttentionMesh, IsRightOverCubes) {
  for (const bool prefill : {true, false})
    for (const int ranks : {1, 2, 3, 4, 8, 16})
      expect_right({.prefill = prefill, .line = LineKind::cubes, .ranks = ranks, .S_q = 1, .S_kv = 31});
}

TEST(AttentionMesh, IsRightOverSips) {
  for (const bool prefill : {true, false})
    for (const int ranks : {1, 2, 3, 4, 8, 16})
      expect_right({.prefill = prefill, .line = LineKind::sips, .ranks = ranks, .ccl = kEightSlots});
}

TEST(AttentionMesh, GoesOnThroughTheCubesOfTheNextSip) {
  for (const bool prefill : {true, false})
    expect_right({.prefill = prefill, .line = LineKind::cubes_of_sips, .ranks = 16});
}

// Query head i uses K/V head i / g.
TEST(AttentionMesh, HasGroupedQueries) {
  for (const bool prefill : {true, false})
    for (const auto& [h_q, h_kv] : {std::pair{2, 1}, {8, 2}, {64, 8}})
      expect_right({.prefill = prefill, .ranks = 3, .h_q = h_q, .h_kv = h_kv, .S_q = 1});
}

TEST(AttentionMesh, WorksWithOneSlot) {
  for (const bool prefill : {true, false}) expect_right({.prefill = prefill, .ranks = 4, .ccl = kOneSlot});
}

// K and V of 128 · 128 f16 are 8 slots each; a result of 8 · 33 queries 33.
TEST(AttentionMesh, CutsTilesThatAreLargerThanASlot) {
  for (const bool prefill : {true, false}) {
    expect_right({.prefill = prefill, .ranks = 3, .h_q = 8, .h_kv = 1, .d = 128, .S_q = 33, .S_kv = 128});
    expect_right({.prefill = prefill,
                  .line = LineKind::cubes,
                  .ranks = 8,
                  .h_q = 2,
                  .d = 128,
                  .S_q = 33,
                  .S_kv = 31,
                  .ccl = kEightSlots});
    expect_right({.prefill = prefill,
                  .line = LineKind::sips,
                  .ranks = 2,
                  .d = 128,
                  .S_q = 33,
                  .S_kv = 128,
                  .ccl = kOneSlot});
  }
}

// ── who sends where ──

/// The directions in which the PE of each rank sends.
std::map<PeCoord, std::set<std::string>> senders(const MeshCase& c) {
  std::map<PeCoord, std::set<std::string>> out;
  for (int i = 0; i < 8 * c.ranks; ++i) {
    const PeCoord pe{0, i / 8, i % 8};
    tl::Context tl({.pe = pe,
                    .num_programs = {8, c.ranks, 1},
                    .shards = {{.tensor = tl::Ptr(1 << 20), .ptr = tl::Ptr(1 << 20)},
                               {.tensor = tl::Ptr(2 << 20), .ptr = tl::Ptr(2 << 20)},
                               {.tensor = tl::Ptr(3 << 20), .ptr = tl::Ptr(3 << 20)},
                               {.tensor = tl::Ptr(4 << 20), .ptr = tl::Ptr(4 << 20)}}});
    const auto kernel = c.prefill ? attention_mesh_kv_kernel : attention_mesh_mlo_kernel;
    run_kernel(kernel, tl, tl::Ptr(1 << 20), tl::Ptr(2 << 20), tl::Ptr(3 << 20), tl::Ptr(4 << 20), c.S_q,
               c.S_kv, c.h_q, c.h_kv, c.d, c.ranks, c.line == LineKind::pes ? 0 : 1, 0);
    if (tl.commands().empty()) continue;
    out[pe];
    for (const auto& command : tl.commands())
      if (command.is<isa::IpcqSend>()) out[pe].insert(command.as<isa::IpcqSend>().direction);
  }
  return out;
}

TEST(AttentionMesh, InteriorRanksSendBothWaysAndEndsOnlyInward) {
  using Ways = std::set<std::string>;
  for (const bool prefill : {true, false}) {
    const auto sent = senders({.prefill = prefill, .line = LineKind::cubes, .ranks = 4});
    EXPECT_EQ(sent,
              (std::map<PeCoord, Ways>{
                  {{0, 0, 0}, {"E"}}, {{0, 1, 0}, {"E", "W"}}, {{0, 2, 0}, {"E", "W"}}, {{0, 3, 0}, {"W"}}}));
  }
}

// With ranks that are cubes, PEs 1 … 7 are launched too (the grid has 8), and do nothing.
TEST(AttentionMesh, OtherPesIssueNoCommand) {
  const auto run = run_mesh({.line = LineKind::cubes, .ranks = 4});
  std::set<PeCoord> worked, launched;
  for (const auto& op : run.ops) {
    if (op.kind == "program") launched.insert(op.pe);
    if (op.command != trace::Op::kNoCommand) worked.insert(op.pe);
  }
  EXPECT_EQ(launched.size(), 32u);
  EXPECT_EQ(worked, (std::set<PeCoord>{{0, 0, 0}, {0, 1, 0}, {0, 2, 0}, {0, 3, 0}}));
}

// Ranks beyond n_ranks stand by.
TEST(AttentionMesh, PesBeyondTheLineDoNothing) {
  tl::Context tl({.pe = {0, 0, 5}, .num_programs = {8, 1, 1}});
  run_kernel(attention_mesh_kv_kernel, tl, tl::Ptr(1), tl::Ptr(2), tl::Ptr(3), tl::Ptr(4), 1, 1, 1, 1, 64, 5,
             0, 0);
  EXPECT_THAT(tl.commands(), IsEmpty());
}

TEST(AttentionMesh, RefusesSizesThatCannotBe) {
  const auto complaint = [](int S_q, int h_q, int h_kv, int axis) {
    return runtime::complaint([&] {
      tl::Context tl;
      run_kernel(attention_mesh_mlo_kernel, tl, tl::Ptr(1), tl::Ptr(2), tl::Ptr(3), tl::Ptr(4), S_q, 16, h_q,
                 h_kv, 64, 1, axis, 0);
    });
  };
  EXPECT_THAT(complaint(1, 3, 2, 0), HasSubstr("3 query heads for 2 K/V heads"));
  EXPECT_THAT(complaint(0, 1, 1, 0), HasSubstr("an extent of 0"));
  EXPECT_THAT(complaint(1, 1, 1, 3), HasSubstr("rank_axis 3"));
}

// ── hazards ──

// Credits that return on the receive allow a sender to overwrite a slot that a command still has to read. Replay computes
// from values, so the numbers are right all the same.
TEST(AttentionMesh, SlotsOverwrittenBeforeTheirLastReaderAreReported) {
  const MeshCase c{.ranks = 8,
                   .h_q = 8,
                   .S_q = 33,
                   .S_kv = 31,
                   .ccl = {"defaults.credit_policy=on_recv", "defaults.n_slots=1"}};
  const auto run = run_mesh(c);
  EXPECT_THAT(run.hazards, Contains(HasSubstr("slot")));
  EXPECT_LT(run.error, 2e-3);
}

}  // namespace
}  // namespace kernbench::nn::attention_mesh_test
