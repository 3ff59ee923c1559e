// SQLite with destructors and exceptions: what writing and reading saved runs needs of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace kernbench::report {

/// What SQLite complained about; whoever knows the file turns it into an InputError.
struct SqliteError {
  int code = 0;
  int system_error = 0;  // errno, if it was the operating system's
  std::string message;
};

/// One prepared statement. Parameters count from 1, columns from 0.
class Statement {
 public:
  Statement(sqlite3* database, std::string_view sql);
  ~Statement();
  Statement(Statement&& other) noexcept;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void bind(int parameter, std::int64_t value);
  void bind(int parameter, double value);
  /// The text must live until the statement is reset.
  void bind(int parameter, std::string_view value);
  void bind_null(int parameter);

  /// Whether there is a row.
  bool step();
  void reset();

  int columns() const;
  std::string_view name(int column) const;
  enum class Type { null, integer, real, text };
  /// A blob counts as text.
  Type type(int column) const;
  bool is_null(int column) const { return type(column) == Type::null; }
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string_view text(int column) const;  // until the next step

 private:
  [[noreturn]] void fail() const;
  sqlite3* database_;
  sqlite3_stmt* statement_ = nullptr;
};

class Database {
 public:
  /// An existing file, as it is: nothing is written and nobody is locked out.
  static Database open_to_read(const std::string& path);
  /// The empty file behind a descriptor. Large pages are faster to fill, small ones waste less on small tables.
  static Database open_to_write(int fd, int page_bytes);
  ~Database();
  Database(Database&& other) noexcept;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void run(std::string_view sql);  // statements without rows
  Statement prepare(std::string_view sql) const { return {database_, sql}; }
  std::int64_t integer(std::string_view sql) const;  // the one number that it gives

 private:
  explicit Database(sqlite3* database) : database_(database) {}
  static Database open(const std::string& name, int flags, const char* vfs);
  sqlite3* database_;
};

}  // namespace kernbench::report
