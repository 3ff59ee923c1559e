#include "report/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kernbench/error.hpp"

namespace kernbench::report {
namespace {

constexpr std::array kTables = {
    TableSpec{"run", "CREATE TABLE run(key TEXT PRIMARY KEY, value) WITHOUT ROWID", "key"},
    TableSpec{"machine", "CREATE TABLE machine(yaml TEXT)", "rowid"},
    TableSpec{
        "launches",
        "CREATE TABLE launches(id INTEGER PRIMARY KEY, phase TEXT, name TEXT, sip INTEGER, submitted_ps "
        "INTEGER, "
        "queued_ps INTEGER, total_ps INTEGER, pe_exec_ps INTEGER, network_ps INTEGER, late_starts INTEGER, "
        "lower_bound_ps INTEGER, bound_by TEXT, bytes INTEGER, macs INTEGER, ops INTEGER, ops_kept INTEGER)",
        "id"},
    TableSpec{"programs",
              "CREATE TABLE programs(id INTEGER PRIMARY KEY, launch INTEGER, sip INTEGER, cube INTEGER, pe "
              "INTEGER, "
              "name TEXT, fingerprint INTEGER, commands INTEGER)",
              "id"},
    TableSpec{
        "commands",
        "CREATE TABLE commands(program INTEGER, \"index\" INTEGER, line INTEGER, text TEXT, operands TEXT, "
        "shapes TEXT, PRIMARY KEY(program, \"index\")) WITHOUT ROWID",
        "program, \"index\""},
    TableSpec{"lines", "CREATE TABLE lines(id INTEGER PRIMARY KEY, file TEXT, line INTEGER, text TEXT)",
              "id"},
    TableSpec{
        "ops",
        "CREATE TABLE ops(id INTEGER PRIMARY KEY, launch INTEGER, sip INTEGER, cube INTEGER, pe INTEGER, "
        "component TEXT, kind TEXT, start_ps INTEGER, end_ps INTEGER, bytes INTEGER, macs INTEGER, "
        "elements INTEGER, line INTEGER, command INTEGER, cause_op INTEGER, cause_ps INTEGER, reason TEXT, "
        "phase1_ps INTEGER, phase2_ps INTEGER, phase3_ps INTEGER, phase4_ps INTEGER, queue INTEGER, "
        "message INTEGER, program INTEGER, written_by INTEGER, serial INTEGER, cause_unfinished INTEGER)",
        "id"},
    TableSpec{"phase_names",
              "CREATE TABLE phase_names(kind TEXT, phase INTEGER, resource TEXT, PRIMARY KEY(kind, phase)) "
              "WITHOUT ROWID",
              "kind, phase"},
    TableSpec{
        "links",
        "CREATE TABLE links(id INTEGER PRIMARY KEY, name TEXT, source TEXT, target TEXT, bytes INTEGER, "
        "busy_ps INTEGER, deepest_wait_ps INTEGER, bandwidth_gbs REAL)",
        "id"},
    TableSpec{
        "memories",
        "CREATE TABLE memories(name TEXT PRIMARY KEY, kind TEXT, read_bytes INTEGER, written_bytes INTEGER, "
        "busy_ps INTEGER, bandwidth_gbs REAL) WITHOUT ROWID",
        "name"},
    TableSpec{"hazards",
              "CREATE TABLE hazards(id INTEGER PRIMARY KEY, kind TEXT, text TEXT, occurrences INTEGER)",
              "id"},
    TableSpec{
        "critical_path",
        "CREATE TABLE critical_path(id INTEGER PRIMARY KEY, begin_ps INTEGER, end_ps INTEGER, what TEXT, "
        "reason TEXT, op INTEGER, line INTEGER, program INTEGER)",
        "id"},
    TableSpec{"links_over_time",
              "CREATE TABLE links_over_time(link INTEGER, bucket INTEGER, utilization REAL, "
              "PRIMARY KEY(link, bucket)) WITHOUT ROWID",
              "link, bucket"},
    TableSpec{"checksums",
              "CREATE TABLE checksums(name TEXT PRIMARY KEY, rows INTEGER, hash INTEGER) WITHOUT ROWID",
              "name"},
};

constexpr std::array<std::string_view, 3> kViewsAndIndices = {
    "CREATE VIEW phases AS SELECT ops.id AS op, phase_names.phase AS phase, phase_names.resource AS "
    "resource, "
    "CASE phase_names.phase WHEN 1 THEN phase1_ps WHEN 2 THEN phase2_ps WHEN 3 THEN phase3_ps ELSE phase4_ps "
    "END AS ps "
    "FROM ops JOIN phase_names ON phase_names.kind = ops.kind",
    "CREATE INDEX ops_by_program ON ops(program)",
    "CREATE INDEX ops_by_launch ON ops(launch)",
};

std::size_t columns_of(const Database& database, std::string_view table) {
  return static_cast<std::size_t>(database.prepare(fmt::format("SELECT * FROM {}", table)).columns());
}

std::string insert_into(Database& database, std::string_view name) {
  database.run(table_spec(name).sql);
  std::string marks;
  for (std::size_t i = columns_of(database, name); i > 0; --i) marks += i > 1 ? "?," : "?";
  return fmt::format("INSERT INTO {} VALUES({})", name, marks);
}

}  // namespace

std::span<const TableSpec> table_specs() { return kTables; }

const TableSpec& table_spec(std::string_view name) {
  const auto found = std::ranges::find(kTables, name, &TableSpec::name);
  KB_ASSERT(found != kTables.end(), "there is no table '{}'", name);
  return *found;
}

std::span<const std::string_view> view_and_index_sql() { return kViewsAndIndices; }

TableWriter::TableWriter(Database& database, std::string_view name, TableSums& sums)
    : name_(name),
      sums_(sums),
      insert_(database.prepare(insert_into(database, name))),
      bound_(columns_of(database, name)) {}

TableWriter::~TableWriter() { sums_[name_] = hash_.sum(); }

TableReader::TableReader(const Database& database, std::string_view name)
    : rows_(database.prepare(fmt::format("SELECT * FROM {} ORDER BY {}", name, table_spec(name).order))),
      columns_(rows_.columns()) {}

bool TableReader::next() {
  if (!rows_.step()) return false;
  for (int column = 0; column < columns_; ++column) switch (rows_.type(column)) {
      case Statement::Type::null:
        hash_.add_null();
        break;
      case Statement::Type::integer:
        hash_.add(rows_.integer(column));
        break;
      case Statement::Type::real:
        hash_.add(rows_.real(column));
        break;
      case Statement::Type::text:
        hash_.add(rows_.text(column));
        break;
    }
  hash_.end_row();
  return true;
}

std::optional<std::int64_t> TableReader::maybe_integer(int column) const {
  if (is_null(column)) return std::nullopt;
  return integer(column);
}

}  // namespace kernbench::report
