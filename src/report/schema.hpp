// The tables of a saved run (docs/run-files.md explains them), and how their content is written and read: every row
// goes through a hash, and a table that does not give the hash it was written with is refused.
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "report/sqlite.hpp"
#include "trace/hash.hpp"

namespace kernbench::report {

inline constexpr std::int64_t kSchemaVersion = 1;
inline constexpr std::int64_t kApplicationId = 0x4B426E63;  // "KBnc"
/// Counts and times of a run stay below; 2⁶¹ ps are 26 days. Three of them can be added up.
inline constexpr std::int64_t kMostOfAnything = std::int64_t{1} << 61;

/// What no run has written.
struct BadRow {};

struct TableSpec {
  std::string_view name;
  std::string_view sql;    // that creates it
  std::string_view order;  // its key
};
std::span<const TableSpec> table_specs();
const TableSpec& table_spec(std::string_view name);
/// Views and, made last, indices.
std::span<const std::string_view> view_and_index_sql();

/// Everything of a table, as written or read.
struct TableSum {
  std::int64_t rows = 0;
  std::uint64_t hash = 0;
  friend bool operator==(const TableSum&, const TableSum&) = default;
};
using TableSums = std::map<std::string, TableSum, std::less<>>;

class RowHash {
 public:
  void add_null() { hash_.add(kNull); }
  void add(std::int64_t value) { hash_.add(static_cast<std::uint64_t>(value)); }
  void add(double value) { hash_.add(std::bit_cast<std::uint64_t>(value) ^ kReal); }
  void add(std::string_view text) { hash_.add(kText), hash_.add(text); }
  void end_row() { ++rows_; }
  TableSum sum() const { return {rows_, hash_.value()}; }

 private:
  static constexpr std::uint64_t kNull = 0x9E37'79B9'7F4A'7C15, kReal = 0xD1B5'4A32'D192'ED03,
                                 kText = 0x8CB9'2BA7'2F3D'8DD7;
  trace::Hash hash_;
  std::int64_t rows_ = 0;
};

/// Appends rows to a table.
class TableWriter {
 public:
  /// Creates the table. When the writer goes, its sum is in `sums`.
  TableWriter(Database& database, std::string_view name, TableSums& sums);
  ~TableWriter();
  TableWriter(const TableWriter&) = delete;
  TableWriter& operator=(const TableWriter&) = delete;

  /// As many values as the table has columns: integers, doubles, texts, optionals of these, nullptr.
  template <class... Values>
  void row(const Values&... values) {
    int parameter = 0;
    (put(++parameter, values), ...);
    insert();
  }

 private:
  template <class T>
  void put(int parameter, const T& value) {
    if constexpr (std::is_same_v<T, std::nullptr_t>) {
      put_null(parameter);
    } else if constexpr (std::is_integral_v<T>) {
      put_value(parameter, static_cast<std::int64_t>(value));
    } else if constexpr (std::is_floating_point_v<T>) {
      put_value(parameter, static_cast<double>(value));
    } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
      put_value(parameter, std::string_view(value));
    } else if (value) {
      put(parameter, *value);
    } else {
      put_null(parameter);
    }
  }
  /// What a parameter is bound to. It stays so from row to row: what does not change is not bound again. Of a text it
  /// is the place, for SQLite looks there when the row is inserted.
  struct Bound {
    enum class Kind { nothing, null, integer, real, text } kind = Kind::nothing;
    std::uint64_t word = 0;
    std::size_t size = 0;
    friend bool operator==(const Bound&, const Bound&) = default;
  };
  using Kind = Bound::Kind;
  static Bound bound(std::int64_t value) { return {Kind::integer, static_cast<std::uint64_t>(value), 0}; }
  static Bound bound(double value) { return {Kind::real, std::bit_cast<std::uint64_t>(value), 0}; }
  static Bound bound(std::string_view text) {
    return {Kind::text, reinterpret_cast<std::uintptr_t>(text.data()), text.size()};
  }
  bool changes(int parameter, const Bound& now) {
    Bound& last = bound_[static_cast<std::size_t>(parameter - 1)];
    if (last == now) return false;
    last = now;
    return true;
  }
  void put_null(int parameter) {
    hash_.add_null();
    if (changes(parameter, {Kind::null, 0, 0})) insert_.bind_null(parameter);
  }
  template <class T>
  void put_value(int parameter, T value) {
    hash_.add(value);
    if (changes(parameter, bound(value))) insert_.bind(parameter, value);
  }
  void insert() {
    hash_.end_row();
    insert_.step();
    insert_.reset();
  }

  const std::string name_;
  TableSums& sums_;
  Statement insert_;
  std::vector<Bound> bound_;
  RowHash hash_;
};

/// Goes through all rows of a table in the order in which they were written.
class TableReader {
 public:
  TableReader(const Database& database, std::string_view name);

  /// False behind the last row; `sum` is complete then.
  bool next();
  TableSum sum() const { return hash_.sum(); }

  bool is_null(int column) const { return rows_.is_null(column); }
  /// A number, a count or a time. Throws BadRow where it is beyond all measure.
  std::int64_t integer(int column) const {
    const std::int64_t value = rows_.integer(column);
    if (value > kMostOfAnything || value < -kMostOfAnything) throw BadRow();
    return value;
  }
  std::optional<std::int64_t> maybe_integer(int column) const;
  /// 64 bits that count nothing, such as a hash.
  std::int64_t bits(int column) const { return rows_.integer(column); }
  double real(int column) const { return rows_.real(column); }
  std::string_view text(int column) const { return rows_.text(column); }
  Statement::Type type(int column) const { return rows_.type(column); }

 private:
  Statement rows_;
  const int columns_;
  RowHash hash_;
};

}  // namespace kernbench::report
