// Properties that hold for every run.
#include "trace/random_run.hpp"

#include <filesystem>
#include <map>
#include <set>

#include "seeds.hpp"

namespace kernbench::trace::random_run_test {
namespace {

RandomRunOptions options_of(std::uint32_t seed) {
  return {.seed = seed,
          .sips = 1 + static_cast<int>(seed % 5),
          .launches = 1 + static_cast<int>(seed % 7),
          .ops_per_program = static_cast<int>(seed * 7 % 60)};
}

/// Calls `check` with the options of many runs, until one fails.
template <class Check>
void for_many_runs(Check check) {
  const auto [first, end] = testing::seeds(1, 60);
  for (std::uint32_t seed = first; seed < end && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    check(options_of(seed));
  }
}

TEST(RandomRuns, PiecesOfTheCriticalPathTileTheRun) {
  for_many_runs([](const RandomRunOptions& options) {
    RandomRun run(options);
    const auto path = run.finish().critical_path();
    std::int64_t first = INT64_MAX, last = 0;
    for (const auto& p : run.planned())
      first = std::min(first, p.spec.start), last = std::max(last, p.spec.end);
    ASSERT_EQ(path.begin, ps(first));
    ASSERT_EQ(path.end, ps(last));
    Time now = path.begin;
    for (const auto& piece : path.pieces) {
      ASSERT_EQ(piece.begin, now);
      ASSERT_LT(piece.begin, piece.end);
      now = piece.end;
    }
    ASSERT_EQ(now, path.end);
    for (const auto* shares : {&path.by_resource, &path.by_reason, &path.by_line})
      ASSERT_EQ(sum(*shares), path.length());
  });
}

TEST(RandomRuns, WorkOnThePathLiesWithinItsRecord) {
  for_many_runs([](const RandomRunOptions& options) {
    RandomRun run(options);
    const auto log = run.finish();
    for (const auto& piece : log.critical_path().pieces) {
      const auto op = log.op(piece.op);
      if (piece.what.starts_with("wait_") || piece.what == "unfinished") {
        EXPECT_LE(piece.end, op.start);
        continue;
      }
      EXPECT_GE(piece.begin, op.start);
      EXPECT_LE(piece.end, op.end);
    }
  });
}

TEST(RandomRuns, RecordsComeInOrderOfEndPartitionAndId) {
  for_many_runs([](const RandomRunOptions& options) {
    RandomRun run(options);
    const auto ops = run.finish().ops();
    ASSERT_EQ(ops.size(), run.planned().size());
    std::map<std::uint16_t, std::uint32_t> next;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (i > 0) {
        ASSERT_LT(std::tuple(ops[i - 1].end, ops[i - 1].id), std::tuple(ops[i].end, ops[i].id));
      }
      ASSERT_EQ(ops[i].id.id, next[ops[i].id.partition]++);
    }
  });
}

TEST(RandomRuns, CausesAreFoundAlsoWhereAnotherPartitionWroteThem) {
  for_many_runs([](const RandomRunOptions& options) {
    RandomRun run(options);
    const auto log = run.finish();
    std::map<std::pair<int, std::uint32_t>, const RandomRun::Planned*> by_name;
    for (const auto& p : run.planned()) by_name[{p.self.partition, p.self.serial}] = &p;
    for (const auto& p : run.planned()) {
      const auto self = log.recording().causes().find(p.self);
      ASSERT_TRUE(self);
      ASSERT_EQ(self->partition, p.partition);
      const auto op = log.op(*self);
      ASSERT_EQ(op.start, ps(p.spec.start));
      ASSERT_EQ(op.cause.has_value(), p.spec.cause.serial != 0);
      if (!op.cause) continue;
      const auto* cause = by_name.at({p.spec.cause.partition, p.spec.cause.serial});
      ASSERT_EQ(log.op(*op.cause).end, ps(cause->spec.end));
    }
  });
}

/// Length of a union of intervals: between neighbouring end points, is anybody at work?
Time naive_union(const std::vector<std::pair<std::int64_t, std::int64_t>>& intervals) {
  std::set<std::int64_t> points;
  for (const auto& [b, e] : intervals) points.insert({b, e});
  Time length;
  for (auto at = points.begin(); at != points.end() && std::next(at) != points.end(); ++at)
    for (const auto& [b, e] : intervals)
      if (b <= *at && *std::next(at) <= e) {
        length += ps(*std::next(at) - *at);
        break;
      }
  return length;
}

TEST(RandomRuns, TheSummaryAgreesWithANaiveCount) {
  for_many_runs([](const RandomRunOptions& options) {
    RandomRun run(options);
    const auto summary = run.finish().summary();
    std::uint64_t reads = 0, read_bytes = 0, gemms = 0;
    std::map<PeCoord, std::vector<std::pair<std::int64_t, std::int64_t>>> reading, multiplying;
    for (const auto& [s, self, partition] : run.planned()) {
      const auto pe = run.maker().info.origins[s.origin].pe;
      if (s.kind == OpKind::dma_read || s.kind == OpKind::load_scalar || s.kind == OpKind::tile_dma_in)
        ++reads, read_bytes += s.amount, reading[pe].push_back({s.start, s.end});
      if (s.kind == OpKind::gemm ||
          s.kind == OpKind::tile_gemm)  // computes after the unit was free and its fetch
        ++gemms, multiplying[pe].push_back({s.start + s.phases[0] + s.phases[1],
                                            s.start + s.phases[0] + s.phases[1] + s.phases[2]});
    }
    Time read_time, gemm_time;
    for (const auto& [pe, intervals] : reading) read_time += naive_union(intervals);
    for (const auto& [pe, intervals] : multiplying) gemm_time += naive_union(intervals);
    EXPECT_EQ(summary.records, run.planned().size());
    EXPECT_EQ(summary.total.dma_read.count, reads);
    EXPECT_EQ(summary.total.dma_read.amount, read_bytes);
    EXPECT_EQ(summary.total.dma_read.busy, read_time);
    EXPECT_EQ(summary.total.gemm.count, gemms);
    EXPECT_EQ(summary.total.gemm.busy, gemm_time);
  });
}

TEST(RandomRuns, AreTheSameFromDisk) {
  for_many_runs([](const RandomRunOptions& options) {
    auto on_disk = options;
    on_disk.log = {.storage = Storage::disk, .folder = std::filesystem::temp_directory_path().string()};
    RandomRun in_memory(options), streamed(on_disk);
    const auto a = in_memory.finish(), b = streamed.finish();
    EXPECT_EQ(a.hash(), b.hash());
    EXPECT_EQ(to_text(a.critical_path()), to_text(b.critical_path()));
    EXPECT_EQ(to_json(a.summary()), to_json(b.summary()));
    EXPECT_EQ(a.recording().info, b.recording().info);
    EXPECT_EQ(compare(a, b).moved, 0u);
  });
}

}  // namespace
}  // namespace kernbench::trace::random_run_test
