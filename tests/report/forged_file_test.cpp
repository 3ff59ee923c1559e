// Files whose checksums are right and whose content somebody made up: everything that reads them says what is wrong, or
// answers with what stands there. Nothing else may happen. A forged file is made from its seed alone.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "damage.hpp"
#include "kernbench/error.hpp"
#include "report/diff.hpp"
#include "report/explain.hpp"
#include "report/html.hpp"
#include "report/rerun.hpp"
#include "report/saved.hpp"
#include "report/schema.hpp"
#include "report/trace_events.hpp"
#include "seeds.hpp"
#include "temp_folder.hpp"

namespace kernbench::report::forged_file_test {
namespace {

/// A saved run that can be changed. When it goes, its checksums fit again.
class Forgery {
 public:
  explicit Forgery(const std::string& path) : path_(path) { sqlite3_open(path.c_str(), &database_); }
  ~Forgery() {
    sign();
    sqlite3_close(database_);
  }
  Forgery(const Forgery&) = delete;
  Forgery& operator=(const Forgery&) = delete;

  void run(const std::string& sql) { sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr); }
  /// Whether anything was changed: a statement may find no row, or a value that may not stand there.
  bool is_other() const { return sqlite3_total_changes(database_) > 0; }

 private:
  void sign() {
    RowHash all;
    TableSums sums;
    {
      const Database database = Database::open_to_read(path_);
      for (const TableSpec& table : table_specs()) {
        if (table.name == "checksums") continue;
        TableReader rows(database, table.name);
        while (rows.next()) continue;
        sums[std::string(table.name)] = rows.sum();
      }
    }
    for (const auto& [name, sum] : sums) {
      const auto hash = static_cast<std::int64_t>(sum.hash);
      all.add(std::string_view(name)), all.add(sum.rows), all.add(hash);
      run(fmt::format("UPDATE checksums SET rows = {}, hash = {} WHERE name = '{}'", sum.rows, hash, name));
    }
    run(fmt::format("UPDATE checksums SET hash = {} WHERE name = '~'",
                    static_cast<std::int64_t>(all.sum().hash)));
  }

  const std::string path_;
  sqlite3* database_ = nullptr;
};

class ForgedFile : public ::testing::Test, protected testing::TempFolder {
 protected:
  ForgedFile() {
    save_shipped("ccl-allreduce", {"n_elem=16"}, file("queues"), machine("small", {"sip.cube_mesh.h=1"}));
    save_shipped("matmul-composite", {"M=32", "K=64", "N=32"}, file("tiles"));
  }

  std::size_t pick(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }

  /// A value that means nothing where it comes to stand, or nearly something.
  std::string value(const std::string& column) {
    static const std::vector<std::string> kValues = {"NULL",
                                                     "0",
                                                     "-1",
                                                     "1",
                                                     "2",
                                                     "9223372036854775807",
                                                     "-9223372036854775808",
                                                     "4294967296",
                                                     "2147483648",
                                                     "1e999",
                                                     "-0.5",
                                                     "'nan'",
                                                     "''",
                                                     "'x'",
                                                     "'{'",
                                                     "'[1, 2'",
                                                     "'{\"a\": {}}'",
                                                     "'\xff\xfe'",
                                                     "x'00ff'",
                                                     "'tile_gemm'",
                                                     "'ipcq_send'",
                                                     "'host_launch'",
                                                     "'program'",
                                                     "'operand'",
                                                     "'true'"};
    const std::size_t n = pick(kValues.size() + 6);
    if (n < kValues.size()) return kValues[n];
    const char* ways[] = {"{0} + 1", "{0} - 1", "{0} * 2", "-{0}", "{0} / 2", "{0} + 1000000000000"};
    return fmt::format(fmt::runtime(ways[n - kValues.size()]), column);
  }

  /// A row at random of a table at random.
  std::string statement(sqlite3* database) {
    const auto tables = table_specs();
    const std::string table(tables[pick(tables.size())].name);
    std::vector<std::string> columns;
    sqlite3_stmt* info = nullptr;
    sqlite3_prepare_v2(database, fmt::format("PRAGMA table_info({})", table).c_str(), -1, &info, nullptr);
    while (sqlite3_step(info) == SQLITE_ROW)
      columns.push_back(fmt::format("\"{}\"", reinterpret_cast<const char*>(sqlite3_column_text(info, 1))));
    sqlite3_finalize(info);
    const std::string key = columns.front(), column = columns[pick(columns.size())];
    const std::string row = fmt::format(
        "(SELECT {0} FROM {1} LIMIT 1 OFFSET {2} % (SELECT count(*) FROM {1}))", key, table, pick(1000));
    if (pick(12) == 0) return fmt::format("DELETE FROM {} WHERE {} = {}", table, key, row);
    return fmt::format("UPDATE OR IGNORE {} SET {} = {} WHERE {} = {}", table, column, value(column), key,
                       row);
  }

  void forge(std::uint32_t seed, const std::string& to) {
    const std::string whole = file(seed % 2 == 0 ? "queues" : "tiles");
    random_.seed(seed);
    std::filesystem::copy_file(whole, to, std::filesystem::copy_options::overwrite_existing);
    Forgery forgery(to);
    sqlite3* read = nullptr;
    sqlite3_open(to.c_str(), &read);
    const std::size_t wanted = 1 + pick(3);
    for (std::size_t n = 0; n < wanted || !forgery.is_other(); ++n) forgery.run(statement(read));
    sqlite3_close(read);
  }

  /// Asks everything.
  void look_at(const std::string& path) {
    const SavedRun run = SavedRun::open(path);
    explanation(run);
    explanation_json(run);
    run.log().summary();
    to_text(run.log().critical_path());
    write_trace(run, file("trace.json"));
    to_text(find_difference(run, SavedRun::open(file("queues")), registry_));
    html_page({run}, registry_.components, {});
  }

  std::mt19937 random_;
  const Registry registry_ = builtin_registry();
};

TEST_F(ForgedFile, WithAReasonThatDoesNotExistIsRefused) {
  Forgery(file("tiles")).run("UPDATE ops SET reason = 'boredom' WHERE id = 12");
  const SavedRun run = SavedRun::open(file("tiles"));
  try {
    write_trace(run, file("trace.json"));
    FAIL() << "it was written";
  } catch (const InputError& error) {
    EXPECT_EQ(error.id(), "run-file.damaged");
  }
}

// Adding such times up would overflow.
TEST_F(ForgedFile, WithTimesThatNoRunReachesIsRefused) {
  for (const char* change :
       {"launches SET total_ps = 9223372036854775807 WHERE submitted_ps > 0",
        "critical_path SET begin_ps = -9223372036854775808 WHERE id = 1",
        "critical_path SET end_ps = begin_ps - 1 WHERE id = 1", "ops SET start_ps = end_ps + 1 WHERE id = 3",
        "ops SET end_ps = start_ps - 1 WHERE id = 3", "launches SET total_ps = -1 WHERE submitted_ps > 0",
        "run SET value = value - 1 WHERE key = 'ops_kept'", "links SET busy_ps = 1e999",
        "phase_names SET phase = -9223372036854775808 WHERE phase = 1",
        "run SET value = 9223372036854775807 WHERE key = 'bucket_ps'"}) {
    std::filesystem::copy_file(file("tiles"), file("forged"),
                               std::filesystem::copy_options::overwrite_existing);
    Forgery(file("forged")).run(fmt::format("UPDATE {}", change));
    try {
      look_at(file("forged"));
      ADD_FAILURE() << "it was read after UPDATE " << change;
    } catch (const InputError& error) {
      EXPECT_EQ(error.id(), "run-file.damaged") << change;
    }
  }
}

// Memory follows what the file has: a vector with an entry for each of 10^12 operations would be 931 GiB.
TEST_F(ForgedFile, ThatClaimsMoreOperationsThanItKeepsIsShownInTheMemoryOfThoseItHas) {
  Forgery(file("tiles")).run("UPDATE run SET value = 1000000000000 WHERE key = 'ops'");
  const SavedRun run = SavedRun::open(file("tiles"));
  EXPECT_EQ(run.op_count(), 1'000'000'000'000u);
  EXPECT_EQ(write_trace(run, file("trace.json"), {.most_ops = 10}).shown, 10);
}

TEST_F(ForgedFile, WithAPeThatTheMachineDoesNotHaveIsRefused) {
  Forgery(file("tiles")).run("UPDATE ops SET cube = 2147483647 WHERE kind = 'tile_gemm'");
  try {
    html_page({SavedRun::open(file("tiles"))}, registry_.components, {});
    FAIL() << "it was shown";
  } catch (const InputError& error) {
    EXPECT_EQ(error.id(), "topology.unknown-node");
  }
}

// Nobody writes to the pipe: whoever opens it to read waits for ever.
TEST_F(ForgedFile, WhoseRecipeReadsAPipeIsRefusedBeforeThePipeIsOpened) {
  ASSERT_EQ(::mkfifo(file("pipe").c_str(), 0600), 0);
  save_shipped("milestone-gqa-llama70b", {"scale=validation", "output="}, file("attention"));
  const auto set = [&](const char* forged, const char* key, const char* path) {
    Forgery(file(forged))
        .run(fmt::format("UPDATE run SET value = json_set(json_remove(value, '$.ccl_text'), '$.{}', '{}') "
                         "WHERE key = '{}'",
                         path, file("pipe"), key));
  };
  Forgery(file("attention")).run(R"(UPDATE run SET value = '{"scale":"headline"}' WHERE key = 'options')");
  set("attention", "options", "beside");
  set("queues", "recipe", "ccl");
  for (const char* forged : {"attention", "queues"}) try {
      const Rerun rerun(SavedRun::open(file(forged)), registry_);
      ADD_FAILURE() << forged << " can be run again";
    } catch (const InputError& error) {
      EXPECT_EQ(error.id(), "explain.file") << forged << ": " << error.what();
    }
}

TEST_F(ForgedFile, ThatIsAPipeIsRefusedBeforeItIsOpened) {
  ASSERT_EQ(::mkfifo(file("pipe").c_str(), 0600), 0);
  EXPECT_THROW(SavedRun::open(file("pipe")), InputError);
}

TEST_F(ForgedFile, IsReadOrRefused) {
  look_at(file("queues"));
  look_at(file("tiles"));
  const auto [first, end] = testing::seeds(0, fuzz_rounds() / 25);
  unsigned refused = 0;
  for (std::uint32_t seed = first; seed < end; ++seed) {
    forge(seed, file("forged"));
    try {
      look_at(file("forged"));
    } catch (const InputError&) {
      ++refused;
    } catch (const std::exception& error) {
      ADD_FAILURE() << "seed " << seed << ": " << error.what();
    }
  }
  EXPECT_GE(refused, (end - first) / 8);
}

}  // namespace
}  // namespace kernbench::report::forged_file_test
