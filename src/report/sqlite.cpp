#include "report/sqlite.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <cstring>
#include <utility>

namespace kernbench::report {
namespace {

[[noreturn]] void fail_of(sqlite3* database, int code) {
  throw SqliteError{code, database ? sqlite3_system_errno(database) : 0,
                    database ? sqlite3_errmsg(database) : sqlite3_errstr(code)};
}

/// A file name as a URI, with what URIs take as signs written as numbers.
std::string uri_of(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    const bool plain = std::strchr("?#%", c) == nullptr && static_cast<unsigned char>(c) > ' ';
    uri += plain ? std::string(1, c) : fmt::format("%{:02x}", static_cast<unsigned char>(c));
  }
  return uri + "?immutable=1";
}

constexpr std::string_view kOpenFiles = "/proc/self/fd/";

/// SQLite opens nothing through links; a file without a name can be opened in no other way.
int open_file(const char* name, int flags, int mode) {
  return ::open(name, std::string_view(name).starts_with(kOpenFiles) ? flags & ~O_NOFOLLOW : flags, mode);
}

/// The file system without locks, that takes names as they are: SQLite's own would follow `/proc/self/fd/7` to a name
/// that a nameless file does not have.
const char* plain_names() {
  static constexpr const char* kName = "kernbench-plain-names";
  static const bool registered = [] {
    static sqlite3_vfs vfs = *sqlite3_vfs_find("unix-none");
    vfs.zName = kName;
    vfs.xFullPathname = [](sqlite3_vfs*, const char* name, int size, char* out) {
      return sqlite3_snprintf(size, out, "%s", name) != nullptr ? SQLITE_OK : SQLITE_CANTOPEN;
    };
    const auto open = reinterpret_cast<sqlite3_syscall_ptr>(open_file);
    return vfs.xSetSystemCall(&vfs, "open", open) == SQLITE_OK && sqlite3_vfs_register(&vfs, 0) == SQLITE_OK;
  }();
  return registered ? kName : nullptr;
}

}  // namespace

Statement::Statement(sqlite3* database, std::string_view sql) : database_(database) {
  const int code =
      sqlite3_prepare_v2(database, sql.data(), static_cast<int>(sql.size()), &statement_, nullptr);
  if (code != SQLITE_OK) fail();
}

Statement::Statement(Statement&& other) noexcept
    : database_(other.database_), statement_(std::exchange(other.statement_, nullptr)) {}

Statement::~Statement() { sqlite3_finalize(statement_); }

void Statement::fail() const { fail_of(database_, sqlite3_extended_errcode(database_)); }

void Statement::bind(int parameter, std::int64_t value) {
  if (sqlite3_bind_int64(statement_, parameter, value) != SQLITE_OK) fail();
}
void Statement::bind(int parameter, double value) {
  if (sqlite3_bind_double(statement_, parameter, value) != SQLITE_OK) fail();
}
void Statement::bind(int parameter, std::string_view value) {
  const char* text = value.data() != nullptr ? value.data() : "";
  if (sqlite3_bind_text(statement_, parameter, text, static_cast<int>(value.size()), SQLITE_STATIC) !=
      SQLITE_OK)
    fail();
}
void Statement::bind_null(int parameter) {
  if (sqlite3_bind_null(statement_, parameter) != SQLITE_OK) fail();
}

bool Statement::step() {
  const int code = sqlite3_step(statement_);
  if (code != SQLITE_ROW && code != SQLITE_DONE) fail();
  return code == SQLITE_ROW;
}

void Statement::reset() {
  if (sqlite3_reset(statement_) != SQLITE_OK) fail();
}

int Statement::columns() const { return sqlite3_column_count(statement_); }
std::string_view Statement::name(int column) const { return sqlite3_column_name(statement_, column); }

Statement::Type Statement::type(int column) const {
  switch (sqlite3_column_type(statement_, column)) {
    case SQLITE_NULL:
      return Type::null;
    case SQLITE_INTEGER:
      return Type::integer;
    case SQLITE_FLOAT:
      return Type::real;
    default:
      return Type::text;
  }
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_, column); }
double Statement::real(int column) const { return sqlite3_column_double(statement_, column); }
std::string_view Statement::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return text ? std::string_view(text, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)))
              : std::string_view();
}

Database Database::open(const std::string& name, int flags, const char* vfs) {
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &opened, flags, vfs);
  Database database(opened);
  if (code != SQLITE_OK) fail_of(opened, code);
  return database;
}

Database Database::open_to_read(const std::string& path) {
  Database database = open(uri_of(path), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
  sqlite3_db_config(database.database_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database.database_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  database.run("PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA cache_size=-65536");
  return database;
}

Database Database::open_to_write(int fd, int page_bytes) {
  Database database =
      open(fmt::format("{}{}", kOpenFiles, fd), SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, plain_names());
  database.run(
      fmt::format("PRAGMA page_size={}; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA "
                  "locking_mode=EXCLUSIVE; PRAGMA cache_size=-65536",
                  page_bytes));
  return database;
}

Database::Database(Database&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
Database::~Database() { sqlite3_close_v2(database_); }

void Database::run(std::string_view sql) {
  const std::string text(sql);
  const int code = sqlite3_exec(database_, text.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail_of(database_, code);
}

std::int64_t Database::integer(std::string_view sql) const {
  Statement statement = prepare(sql);
  return statement.step() ? statement.integer(0) : 0;
}

}  // namespace kernbench::report
