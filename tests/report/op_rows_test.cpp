// Records make the way through rows of a table and back, bit for bit.
#include "report/op_rows.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "report/database_file.hpp"
#include "temp_folder.hpp"
#include "trace/random_run.hpp"

namespace kernbench::report::op_rows_test {
namespace {

void write(const trace::RunLog& log, const std::string& path) {
  DatabaseFile file(path);
  Database database = Database::open_to_write(file.fd(), 4096);
  TableSums sums;
  {
    TableWriter table(database, "ops", sums);
    const OpNumbers numbers(log.recording().records);
    OpRowWriter writer(table, log.recording(), numbers);
    trace::in_total_order(log.recording().records,
                          [&](trace::OpId id, const device::OpRecord& r) { writer.write(id, r, {}); });
  }
  file.commit();
}

trace::RunLog read(const trace::RunLog& like, const std::string& path) {
  const Database database = Database::open_to_read(path);
  TableReader rows(database, "ops");
  OpRowReader reader(static_cast<int>(like.recording().records.size()),
                     static_cast<std::int64_t>(like.size()));
  while (rows.next()) reader.add(rows);
  trace::RunInfo info = like.recording().info;
  trace::Records records = reader.finish(info);
  return trace::RunLog(std::make_shared<const trace::Recording>(std::move(records), std::move(info)));
}

TEST(OpRows, RandomRunsComeBackBitForBit) {
  const testing::TempFolder folder;
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    const auto run = trace::RandomRun({.seed = seed}).finish();
    const std::string path = folder.file("ops");
    write(run, path);
    const auto again = read(run, path);
    ASSERT_EQ(again.hash(), run.hash()) << seed;
    EXPECT_EQ(to_text(again.critical_path()), to_text(run.critical_path()));
    EXPECT_EQ(to_json(again.summary()), to_json(run.summary()));
    EXPECT_EQ(trace::compare(run, again).moved, 0u);
  }
}

TEST(OpRows, AnEmptyRunHasNone) {
  const testing::TempFolder folder;
  const auto run = trace::RunMaker(3).finish();
  write(run, folder.file("ops"));
  EXPECT_EQ(read(run, folder.file("ops")).hash(), run.hash());
}

}  // namespace
}  // namespace kernbench::report::op_rows_test
