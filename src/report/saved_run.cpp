#include "kernbench/saved_run.hpp"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "base/text.hpp"
#include "kernbench/error.hpp"
#include "report/op_rows.hpp"
#include "report/reading.hpp"
#include "report/schema.hpp"

namespace kernbench::report {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void refuse(const std::string& path, const char* id, std::string what) {
  throw InputError(
      {id, shown_path(path), std::move(what), "save the run again: kernbench run … --save FILE"});
}
[[noreturn]] void refuse_damaged(const std::string& path, std::string_view what) {
  refuse(path, "run-file.damaged", fmt::format("the content is not what was written: {}", what));
}
[[noreturn]] void refuse_foreign(const std::string& path, const char* what) {
  throw InputError(
      {"run-file.foreign", shown_path(path), what, "saved runs are made by 'kernbench run … --save FILE'"});
}

constexpr std::int64_t kMostBuckets = 65536;
constexpr std::string_view kMagic{"SQLite format 3\0", 16};

/// The first look, before SQLite has one: is it a database, and is all of it there?
void check_file(const std::string& path) {
  struct stat about {};
  const bool is_regular = ::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode);
  std::ifstream in;
  if (is_regular) in.open(path, std::ios::binary);  // opening a pipe would wait for its writer
  if (!in.is_open())
    throw InputError({"file.unreadable", shown_path(path), "there is no such file, or it cannot be read",
                      "give the file that 'kernbench run … --save FILE' wrote"});
  std::array<unsigned char, 100> head{};
  in.read(reinterpret_cast<char*>(head.data()), head.size());
  const auto got = static_cast<std::size_t>(in.gcount());
  if (got < kMagic.size() || std::memcmp(head.data(), kMagic.data(), kMagic.size()) != 0)
    refuse_foreign(path, "this is not a saved run of KernBench");
  const auto number = [&](std::size_t at, std::size_t bytes) {
    std::int64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | head[at + i];
    return value;
  };
  if (got < head.size()) refuse(path, "run-file.truncated", "the file ends too early");
  if (number(68, 4) != kApplicationId)
    refuse_foreign(path, "this is a database, but not a saved run of KernBench");
  const std::int64_t version = number(60, 4), page = number(16, 2) == 1 ? 65536 : number(16, 2);
  if (version > kSchemaVersion)
    throw InputError(
        {"run-file.newer", shown_path(path),
         fmt::format("the file is of version {}; this program reads up to {}", version, kSchemaVersion),
         "use a newer KernBench, or save the run again"});
  if (version < 1 || page < 512 || (page & (page - 1)) != 0) refuse_damaged(path, "its head makes no sense");
  if (about.st_size < number(28, 4) * page) refuse(path, "run-file.truncated", "the file ends too early");
}

Json value_json(const TableReader& row, int column) {
  switch (row.type(column)) {
    case Statement::Type::null:
      return nullptr;
    case Statement::Type::integer:
      return row.bits(column);
    case Statement::Type::real:
      return row.real(column);
    case Statement::Type::text:
      break;
  }
  const std::string_view text = row.text(column);
  const bool structured = text.starts_with('{') || text.starts_with('[') || text == "true" || text == "false";
  return structured ? parse_json(text) : Json(text);
}

std::vector<trace::Share> shares_of(const std::map<std::string, Time>& times, Time whole) {
  std::vector<trace::Share> shares;
  for (const auto& [name, time] : times)
    shares.push_back(
        {name, time, whole == Time() ? 0 : static_cast<double>(time.ps()) / static_cast<double>(whole.ps())});
  std::ranges::stable_sort(shares, std::greater(), &trace::Share::time);
  return shares;
}

}  // namespace

std::string SavedLine::place() const { return fmt::format("{}:{}", file, line); }

/// The open file. Tables are checked when they have been read.
class SavedRun::Content {
 public:
  explicit Content(const std::string& path) : path_(path), database_(open(path)) {
    guarded([&] {
      check_schema();
      read_sums();
      read_run();
      check_ops();
      check_buckets();
    });
  }

  const std::string& path() const { return path_; }
  const Json& document() const { return document_; }

  /// Calls `fn(row)` for every row of a table, and refuses the table afterwards if it is not what was written.
  template <class Fn>
  void each(std::string_view table, Fn&& fn) const {
    guarded([&] {
      const std::scoped_lock lock(mutex_);
      TableReader rows(database_, table);
      while (rows.next()) fn(rows);
      const auto written = sums_.find(table);
      if (written == sums_.end() || written->second != rows.sum())
        refuse_damaged(path_, fmt::format("table '{}' has another checksum", table));
    });
  }

  std::vector<std::vector<Value>> query(std::string_view sql) const;
  SavedPath critical_path(const SavedRun& run) const;
  std::size_t buckets() const { return static_cast<std::size_t>(document_.at("buckets")); }
  trace::RunLog log() const {
    std::call_once(log_made_, [this] { log_ = read_log(); });
    return *log_;
  }

 private:
  static Database open(const std::string& path) {
    check_file(path);
    try {
      return Database::open_to_read(path);
    } catch (const SqliteError& error) {
      refuse_damaged(path, error.message);
    }
  }

  /// What SQLite finds wrong is damage.
  template <class Fn>
  void guarded(Fn&& fn) const {
    try {
      fn();
    } catch (const SqliteError& error) {
      refuse_damaged(path_, error.message);
    } catch (const BadRow&) {
      refuse_damaged(path_, "a row makes no sense");
    } catch (const Json::exception& error) {
      refuse_damaged(path_, error.what());
    }
  }

  /// Tables must be tables, with the columns we know; others may have been added.
  void check_schema() const {
    std::map<std::string, std::string, std::less<>> found;
    Statement rows = database_.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'table'");
    while (rows.step()) found[std::string(rows.text(0))] = rows.text(1);
    for (const TableSpec& table : table_specs())
      if (const auto at = found.find(table.name); at == found.end() || at->second != table.sql)
        refuse_damaged(path_, fmt::format("table '{}' is missing or another", table.name));
  }

  void read_sums() {
    TableReader rows(database_, "checksums");
    RowHash hash;
    std::optional<TableSum> whole;
    while (rows.next()) {
      const TableSum sum{rows.integer(1), static_cast<std::uint64_t>(rows.bits(2))};
      if (rows.text(0) == "~") {
        whole = sum;
        continue;
      }
      hash.add(rows.text(0)), hash.add(rows.integer(1)), hash.add(rows.bits(2));
      sums_[std::string(rows.text(0))] = sum;
    }
    if (!whole || whole->hash != hash.sum().hash || whole->rows != static_cast<std::int64_t>(sums_.size()))
      refuse_damaged(path_, "its table of checksums");
  }

  /// As many operations are kept as the file has rows.
  void check_ops() const {
    const auto ops = document_.at("ops").get<std::int64_t>(),
               kept = document_.at("ops_kept").get<std::int64_t>();
    const auto rows = sums_.find("ops");
    if (ops < 0 || kept > ops || rows == sums_.end() || rows->second.rows != kept)
      refuse_damaged(path_, fmt::format("{} operations, {} of them kept", ops, kept));
  }

  /// Tables of load over time are as long as the file says.
  void check_buckets() const {
    const auto count = document_.at("buckets").get<std::int64_t>(),
               length = document_.at("bucket_ps").get<std::int64_t>(),
               total = document_.at("total_ps").get<std::int64_t>();
    if (count < 1 || count > kMostBuckets || length < 1 || length > kMostOfAnything / count || total < 0 ||
        (total - 1) / length >= count)
      refuse_damaged(path_, "its buckets of time");
  }

  void read_run() {
    each("run", [&](const TableReader& row) { document_[std::string(row.text(0))] = value_json(row, 1); });
  }

  trace::RunInfo read_info() const;
  trace::RunLog read_log() const;

  const std::string path_;
  const Database database_;
  TableSums sums_;
  Json document_ = Json::object();
  mutable std::recursive_mutex mutex_;
  mutable std::once_flag log_made_;
  mutable std::optional<trace::RunLog> log_;
};

trace::RunInfo SavedRun::Content::read_info() const {
  trace::RunInfo info;
  each("machine", [&](const TableReader& row) { info.machine = row.text(0); });
  each("lines", [&](const TableReader& row) {
    info.lines.push_back({std::string(row.text(1)), static_cast<std::uint32_t>(row.integer(2))});
  });
  each("programs", [&](const TableReader& row) {
    const auto place = [&](int column) { return static_cast<int>(row.integer(column)); };
    if (row.integer(1) < 0 || row.integer(1) > INT32_MAX || place(2) < -1 || place(2) >= UINT16_MAX)
      throw BadRow();
    info.origins.push_back({{place(2), place(3), place(4)},
                            static_cast<std::uint32_t>(row.integer(1)),
                            std::string(row.text(5)),
                            static_cast<std::uint64_t>(row.bits(6)),
                            {}});
  });
  each("commands", [&](const TableReader& row) {
    const auto program = static_cast<std::size_t>(row.integer(0));
    if (program >= info.origins.size() || row.integer(2) < 0 ||
        row.integer(2) >= static_cast<std::int64_t>(info.lines.size()))
      throw BadRow();
    info.origins[program].lines.push_back(static_cast<std::uint32_t>(row.integer(2)));
  });
  return info;
}

trace::RunLog SavedRun::Content::read_log() const {
  std::optional<trace::RunLog> log;
  guarded([&] {
    trace::RunInfo info = read_info();
    const auto partitions = document_.at("partitions").get<std::int64_t>(),
               ops = document_.at("ops").get<std::int64_t>();
    if (partitions < 0 || partitions > UINT16_MAX || ops < 0 || ops > UINT32_MAX) throw BadRow();
    OpRowReader reader(static_cast<int>(partitions), ops);
    each("ops", [&](const TableReader& row) { reader.add(row); });
    trace::Records records = reader.finish(info);
    if (const auto fault = trace::find_fault(records, info)) refuse_damaged(path_, *fault);
    log.emplace(std::make_shared<const trace::Recording>(std::move(records), std::move(info)));
    const bool whole = document_.at("ops") == document_.at("ops_kept");
    if (whole && fmt::format("{:016x}", log->hash()) != document_.at("hash").get<std::string>())
      refuse_damaged(path_, "the op log has another hash than the run");
  });
  return *log;
}

std::vector<std::vector<SavedRun::Value>> SavedRun::Content::query(std::string_view sql) const try {
  const std::scoped_lock lock(mutex_);
  Statement rows = database_.prepare(sql);
  std::vector<std::vector<Value>> result;
  while (rows.step()) {
    auto& row = result.emplace_back();
    for (int i = 0; i < rows.columns(); ++i) switch (rows.type(i)) {
        case Statement::Type::null:
          row.emplace_back();
          break;
        case Statement::Type::integer:
          row.emplace_back(rows.integer(i));
          break;
        case Statement::Type::real:
          row.emplace_back(rows.real(i));
          break;
        case Statement::Type::text:
          row.emplace_back(std::string(rows.text(i)));
          break;
      }
  }
  return result;
} catch (const SqliteError& error) {
  throw InputError(
      {"run-file.query", shown_path(path_), error.message, "docs/run-files.md lists the tables"});
}

SavedRun SavedRun::open(const std::string& path) { return SavedRun(std::make_shared<Content>(path)); }

const std::string& SavedRun::path() const { return content_->path(); }
std::string SavedRun::json() const { return dump_json(content_->document(), 2); }

std::string SavedRun::value(std::string_view key) const {
  const Json& all = content_->document();
  const auto found = all.find(std::string(key));
  if (found == all.end() || found->is_null()) return {};
  return found->is_string() ? found->get<std::string>() : found->dump();
}

std::string SavedRun::machine() const {
  std::string yaml;
  content_->each("machine", [&](const TableReader& row) { yaml = row.text(0); });
  return yaml;
}

std::uint64_t SavedRun::hash() const { return std::strtoull(value("hash").c_str(), nullptr, 16); }
Time SavedRun::total() const { return Time::from_ps(std::strtoll(value("total_ps").c_str(), nullptr, 10)); }
std::uint64_t SavedRun::op_count() const { return std::strtoull(value("ops").c_str(), nullptr, 10); }
bool SavedRun::complete() const { return value("ops") == value("ops_kept"); }
Time SavedRun::bucket() const { return Time::from_ps(std::strtoll(value("bucket_ps").c_str(), nullptr, 10)); }

namespace {
/// No instant is before the start of the run, and no length is negative.
Time time_at(const TableReader& row, int column) {
  if (row.integer(column) < 0) throw BadRow();
  return Time::from_ps(row.integer(column));
}
}  // namespace

std::vector<SavedLaunch> SavedRun::launches() const {
  std::vector<SavedLaunch> all;
  content_->each("launches", [&](const TableReader& row) {
    all.push_back({.id = row.integer(0),
                   .phase = std::string(row.text(1)),
                   .name = std::string(row.text(2)),
                   .sip = static_cast<int>(row.integer(3)),
                   .done = !row.is_null(4),
                   .submitted = time_at(row, 4),
                   .queued = time_at(row, 5),
                   .total = time_at(row, 6),
                   .pe_exec = time_at(row, 7),
                   .network = time_at(row, 8),
                   .late_starts = static_cast<int>(row.integer(9)),
                   .lower_bound = time_at(row, 10),
                   .bound_by = std::string(row.text(11)),
                   .bytes = row.integer(12),
                   .macs = row.integer(13),
                   .ops = row.integer(14),
                   .ops_kept = row.integer(15)});
  });
  return all;
}

std::vector<SavedProgram> SavedRun::programs() const {
  std::vector<SavedProgram> all;
  content_->each("programs", [&](const TableReader& row) {
    all.push_back({row.integer(0), row.integer(1),
                   PeCoord{static_cast<int>(row.integer(2)), static_cast<int>(row.integer(3)),
                           static_cast<int>(row.integer(4))},
                   std::string(row.text(5)), row.integer(7)});
  });
  return all;
}

std::vector<SavedLine> SavedRun::lines() const {
  std::vector<SavedLine> all;
  content_->each("lines", [&](const TableReader& row) {
    all.push_back({std::string(row.text(1)), static_cast<std::uint32_t>(row.integer(2)),
                   row.is_null(3) ? std::nullopt : std::optional(std::string(row.text(3)))});
  });
  return all;
}

void SavedRun::for_each_command(const std::function<void(const SavedCommand&)>& fn) const {
  content_->each("commands", [&](const TableReader& row) {
    fn({row.integer(0), row.integer(1), row.integer(2), std::string(row.text(3)), std::string(row.text(4)),
        std::string(row.text(5))});
  });
}

void SavedRun::for_each_op(const std::function<void(const SavedOp&)>& fn) const {
  content_->each("ops", [&](const TableReader& row) {
    const auto place = [&](int column) {
      return row.is_null(column) ? -1 : static_cast<int>(row.integer(column));
    };
    SavedOp op{.id = row.integer(kId),
               .launch = row.integer(kLaunch),
               .program = row.integer(kProgram),
               .pe = {place(kSip), place(kCube), place(kPe)},
               .component = row.text(kComponent),
               .kind = row.text(kKind),
               .reason = row.text(kReason),
               .start = time_at(row, kStart),
               .end = time_at(row, kEnd),
               .bytes = row.integer(kBytes),
               .macs = row.integer(kMacs),
               .elements = row.integer(kElements),
               .line = row.maybe_integer(kLine),
               .command = row.maybe_integer(kCommand),
               .cause = row.maybe_integer(kCauseOp),
               .cause_instant = time_at(row, kCausePs),
               .phases = {},
               .queue = row.maybe_integer(kQueue),
               .message = row.maybe_integer(kMessage)};
    for (int i = 0; i < 4; ++i) op.phases[static_cast<std::size_t>(i)] = time_at(row, kPhase1 + i);
    if (op.start > op.end) throw BadRow();
    fn(op);
  });
}

std::vector<SavedLink> SavedRun::links() const {
  std::vector<SavedLink> all;
  content_->each("links", [&](const TableReader& row) {
    all.push_back({row.integer(0), std::string(row.text(1)), std::string(row.text(2)),
                   std::string(row.text(3)), row.integer(4), time_at(row, 5), time_at(row, 6), row.real(7)});
  });
  return all;
}

std::vector<SavedMemory> SavedRun::memories() const {
  std::vector<SavedMemory> all;
  content_->each("memories", [&](const TableReader& row) {
    all.push_back({std::string(row.text(0)), std::string(row.text(1)), row.integer(2), row.integer(3),
                   time_at(row, 4), row.real(5)});
  });
  return all;
}

std::vector<SavedHazard> SavedRun::hazards() const {
  std::vector<SavedHazard> all;
  content_->each("hazards", [&](const TableReader& row) {
    all.push_back({std::string(row.text(1)), std::string(row.text(2)), row.integer(3)});
  });
  return all;
}

SavedPath SavedRun::critical_path() const {
  return reading(path(), [&] { return content_->critical_path(*this); });
}

SavedPath SavedRun::Content::critical_path(const SavedRun& run) const {
  SavedPath path;
  each("critical_path", [&](const TableReader& row) {
    path.pieces.push_back({time_at(row, 1), time_at(row, 2), std::string(row.text(3)),
                           std::string(row.text(4)), row.integer(5), row.integer(7), row.maybe_integer(6)});
  });
  const std::vector<SavedLine> source = run.lines();
  const std::vector<SavedProgram> owners = run.programs();
  std::map<std::string, Time> resources, reasons, places;
  Time last;
  for (const SavedPiece& piece : path.pieces) {
    if (piece.begin < last || piece.end < piece.begin)
      refuse_damaged(path_, "its critical path goes back in time");
    const Time time = piece.end - piece.begin;
    last = piece.end;
    resources[piece.what] += time, reasons[piece.reason] += time;
    const std::string place = piece.line ? source.at(static_cast<std::size_t>(*piece.line)).place()
                                         : owners.at(static_cast<std::size_t>(piece.program)).name;
    places[place] += time;
  }
  path.by_resource = shares_of(resources, path.length());
  path.by_reason = shares_of(reasons, path.length());
  path.by_line = shares_of(places, path.length());
  return path;
}

std::vector<SavedLoad> SavedRun::loads() const {
  std::vector<SavedLoad> all;
  const std::size_t buckets = content_->buckets();
  content_->each("links_over_time", [&](const TableReader& row) {
    if (all.empty() || all.back().link != row.integer(0))
      all.push_back({row.integer(0), std::vector<double>(buckets)});
    const auto bucket = static_cast<std::size_t>(row.integer(1));
    if (bucket >= buckets) throw BadRow();
    all.back().utilization[bucket] = row.real(2);
  });
  return all;
}

trace::RunLog SavedRun::log() const { return content_->log(); }
std::vector<std::vector<SavedRun::Value>> SavedRun::query(std::string_view sql) const {
  return content_->query(sql);
}

}  // namespace kernbench::report
