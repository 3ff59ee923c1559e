// Parameters, described once.
//
// A `Param` is a name, a type, a default, a range and one sentence. Loaders, `kernbench describe`, error
// messages and documentation all come from the same list. The unit of a number is the suffix of its name:
// `_ns`, `_gbs` (10⁹ B/s), `_mb` and `_gb` (2²⁰ and 2³⁰ bytes), `_mm`, `_ghz`, `_bytes`, `_cycles`, `_pj`,
// `_pj_per_byte`, `_w`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "kernbench/units.hpp"

namespace kernbench {

struct YamlNode;

/// Numbers by name, in the order in which they were given: `{f32: 0.25, i8: 2}`.
using NumberTable = std::vector<std::pair<std::string, double>>;

/// `monostate`: not given.
using ParamValue = std::variant<std::monostate, std::int64_t, double, bool, std::string, std::vector<double>,
                                std::vector<std::string>, NumberTable>;

/// The numbers a parameter may take, both ends included.
struct Range {
  double least;
  double most;
};

/// Numbers above zero; anything smaller is zero for every purpose here.
inline constexpr double kAboveZero = 1e-9;

struct Param {
  enum class Type { integer, number, flag, text, choice, numbers, words, table };
  /// Whether a text is the name of a file, and what is done with that file. Programs that run benches for others (`kernbench
  /// web`), or run again what others have saved (`kernbench explain --what-if`), decide by this which names they accept.
  enum class File { none, read, written };

  std::string name;
  Type type = Type::text;
  File file = File::none;            // of text
  ParamValue fallback;               // used when a file leaves the parameter out
  bool required = false;             // a file must give it
  Range range = {0, 0};              // of integer, number and each of numbers and table
  std::vector<std::string> choices;  // of choice and words; the names of a table; of text, see input_file
  std::size_t length = 0;            // of numbers: how many
  std::string doc;

  static Param integer(std::string name, std::int64_t fallback, Range range, std::string doc);
  static Param number(std::string name, double fallback, Range range, std::string doc);
  static Param flag(std::string name, bool fallback, std::string doc);
  static Param text(std::string name, std::string fallback, std::string doc);
  /// The name of a file that is read; or one of `built_in`, which are no files; or nothing.
  static Param input_file(std::string name, std::string fallback, std::vector<std::string> built_in,
                          std::string doc);
  /// The name of a file that is written; or nothing, and then none may be written.
  static Param output_file(std::string name, std::string fallback, std::string doc);
  static Param choice(std::string name, std::string fallback, std::vector<std::string> choices,
                      std::string doc);
  static Param numbers(std::string name, std::vector<double> fallback, Range range, std::string doc);
  static Param words(std::string name, std::vector<std::string> fallback, std::vector<std::string> choices,
                     std::string doc);
  /// Any of these names, each with a number; none by default.
  static Param table(std::string name, std::vector<std::string> names, Range range, std::string doc);

  /// May be left out, and then has no value.
  Param optional() &&;
  /// Must be given.
  Param must_be_given() &&;

  /// "integer from 1 to 32", "number of ns from 0 to 1e+06", "one of plain, rows".
  std::string expectation() const;
  /// Reads and checks a value; throws InputError (`param.…`) with the value's place.
  ParamValue read(const YamlNode& node) const;
};

/// The value as it is written in YAML.
std::string to_yaml(const ParamValue& value);

/// Values for a list of parameters, found by name. For building machines, not for running them.
class ParamSet {
 public:
  ParamSet() = default;
  explicit ParamSet(std::vector<Param> params);  // every value at its fallback

  const std::vector<Param>& params() const { return params_; }
  const Param* find(std::string_view name) const;
  const ParamValue& value(std::string_view name) const { return values_[index(name)]; }
  void set(std::string_view name, ParamValue value) { values_[index(name)] = std::move(value); }
  /// No file is to be written: every `output_file` is empty from here on.
  void drop_output_files();
  bool has(std::string_view name) const;  // known and given

  std::int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  bool flag(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  const std::vector<double>& numbers(std::string_view name) const;
  const std::vector<std::string>& words(std::string_view name) const;
  const NumberTable& table(std::string_view name) const;
  Time time(std::string_view name) const;            // `…_ns`
  Bandwidth bandwidth(std::string_view name) const;  // `…_gbs`
  Bytes bytes(std::string_view name) const;          // `…_mb`, `…_gb`, `…_bytes`

  bool operator==(const ParamSet& other) const;

 private:
  std::size_t index(std::string_view name) const;

  std::vector<Param> params_;
  std::vector<ParamValue> values_;
};

}  // namespace kernbench
