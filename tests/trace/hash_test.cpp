#include "trace/hash.hpp"

#include <cstring>

#include "kernbench/tl.hpp"
#include "trace/random_run.hpp"

namespace kernbench::trace::hash_test {
namespace {

/// A small run, with one thing changed in it.
std::uint64_t hash_with(const std::function<void(RunInfo&, RecordSpec&)>& change) {
  RunMaker run(3);
  const auto k = run.program({0, 0, 0}), other = run.program({1, 0, 0});
  const auto first = run.add({.kind = OpKind::dma_read, .end = 100, .origin = k, .command = 1, .amount = 64});
  run.add({.end = 100, .origin = k});
  RecordSpec spec{.kind = OpKind::ipcq_send,
                  .start = 150,
                  .end = 200,
                  .origin = k,
                  .command = 2,
                  .amount = 32,
                  .cause = first,
                  .cause_instant = 100,
                  .reason = Reason::operand,
                  .phases = {10, 20, 0}};
  (void)other;
  change(run.info, spec);
  run.add(spec);
  return run.finish().hash();
}

TEST(RunHash, EveryFieldOfARecordChangesItButSerials) {
  const std::vector<std::function<void(RunInfo&, RecordSpec&)>> changes = {
      [](RunInfo&, RecordSpec&) {},  // what the others are compared with
      [](RunInfo&, RecordSpec& s) { s.start += 1; },
      [](RunInfo&, RecordSpec& s) { s.end += 1; },
      [](RunInfo&, RecordSpec& s) { s.cause_instant -= 1; },
      [](RunInfo&, RecordSpec& s) { s.amount += 1; },
      [](RunInfo&, RecordSpec& s) { s.origin = 1; },
      [](RunInfo&, RecordSpec& s) { s.command = 3; },
      [](RunInfo&, RecordSpec& s) {
        s.cause = {0, 1};
      },
      [](RunInfo&, RecordSpec& s) { s.kind = OpKind::ipcq_recv; },
      [](RunInfo&, RecordSpec& s) { s.reason = Reason::engine; },
      [](RunInfo&, RecordSpec& s) { s.phases[0] += 1; },
      [](RunInfo&, RecordSpec& s) { s.phases[1] += 1; },
      [](RunInfo&, RecordSpec& s) { s.phases[2] += 1; },
      [](RunInfo&, RecordSpec& s) { s.written_by = 2; },
      [](RunInfo& i, RecordSpec&) { i.machine += "x"; },
      [](RunInfo& i, RecordSpec&) { i.origins[0].pe.pe = 1; },
      [](RunInfo& i, RecordSpec&) { i.origins[0].pe.cube = 1; },
      [](RunInfo& i, RecordSpec&) { i.origins[1].launch = 1; },
      [](RunInfo& i, RecordSpec&) { i.origins[1].name = "kernem"; },
      [](RunInfo& i, RecordSpec&) { i.origins[1].fingerprint ^= 1; },
  };
  std::vector<std::uint64_t> hashes;
  for (const auto& change : changes) hashes.push_back(hash_with(change));
  for (std::size_t i = 0; i < hashes.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(hashes[i], hashes[j]) << "changes " << i << " and " << j;
}

TEST(RunHash, IsTheSameForTheSameRun) {
  const auto nothing = [](RunInfo&, RecordSpec&) {};
  EXPECT_EQ(hash_with(nothing), hash_with(nothing));
}

// Two that end at 10, in either order, then one that ends at 20. That each is there once matters, and so does when.
TEST(RunHash, DoesNotDependOnTheOrderOfRecordsThatEndAtOneInstant) {
  const auto hash = [](const std::vector<std::pair<std::uint32_t, int>>& ends) {  // serial, end
    OpLog log(1);
    for (const auto& [serial, end] : ends)
      log.append(0, RunMaker::record_of({.kind = OpKind::host_map, .end = end}, serial));
    RunMaker names(1);
    names.request("map");
    return log.finish(names.info).hash();
  };
  const auto usual = hash({{1, 10}, {2, 10}, {3, 20}});
  EXPECT_EQ(hash({{2, 10}, {1, 10}, {3, 20}}), usual);
  EXPECT_EQ(hash({{1, 10}, {3, 10}, {2, 20}}), usual) << "serials are no result";
  EXPECT_NE(hash({{1, 10}, {2, 20}, {3, 20}}), usual);
  EXPECT_NE(hash({{1, 10}, {2, 10}}), usual);
}

TEST(RunHash, DoesNotDependOnTheOrderInWhichPartitionsWrote) {
  const auto hash = [](bool host_first) {
    RunMaker run;
    const auto host = run.request("map"), k = run.program({0, 0, 0});
    const auto write = [&](bool is_host) {
      for (int i = 0; i < 3; ++i)
        run.add(
            {.kind = is_host ? OpKind::host_map : OpKind::math, .end = 10 * i, .origin = is_host ? host : k});
    };
    write(host_first), write(!host_first);
    return run.finish().hash();
  };
  EXPECT_EQ(hash(true), hash(false));
}

TEST(RunHash, AFileCountsByNameNotByFolder) {
  const auto hash = [](const char* file, std::uint32_t line) {
    tl::Context tl({.kernel = "k", .pe = {0, 0, 0}});
    run_kernel([&](tl::Context& c) { c.set_line(file, line), c.fence(); }, tl);
    const device::Origins origins = {{&tl.program(), {0, 0, 0}, 0}};
    return OpLog(1).finish(describe_run("m", origins, std::vector<std::string>{"k"})).hash();
  };
  EXPECT_EQ(hash("/home/a/ring.py", 12), hash("b/ring.py", 12));
  EXPECT_NE(hash("ring.py", 12), hash("ring.py", 13));
  EXPECT_NE(hash("ring.py", 12), hash("rung.py", 12));
}

// The algorithm is fixed: a log of years ago still compares. The value is MurmurHash3's step written out by
// hand in Python over the words 1, 2 and the finaliser.
TEST(RunHash, TheAlgorithmIsFixed) {
  Hash hash;
  hash.add(1), hash.add(2);
  EXPECT_EQ(hash.value(), 0x2b6e8e9f850ef4ddu);
}

TEST(RunHash, TextsThatMeetElsewhereDiffer) {
  const auto hash = [](std::string_view a, std::string_view b) {
    Hash h;
    h.add(a), h.add(b);
    return h.value();
  };
  EXPECT_NE(hash("ab", "c"), hash("a", "bc"));
  EXPECT_NE(hash("", "a"), hash("a", ""));
  EXPECT_NE(hash("a", std::string_view("b\0", 2)), hash("a", "b"));
}

}  // namespace
}  // namespace kernbench::trace::hash_test
