#include "kernbench/param.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

#include "base/text.hpp"
#include "base/yaml.hpp"
#include "kernbench/error.hpp"

namespace kernbench {
namespace {

[[noreturn]] void refuse(const char* id, const Param& param, const YamlNode& node, std::string what) {
  const std::string doc = param.doc.empty() ? "" : fmt::format(" ({})", param.doc);
  throw InputError({fmt::format("param.{}", id), node.place.text(), std::move(what),
                    fmt::format("{}: {}{}", param.name, param.expectation(), doc)});
}

[[noreturn]] void refuse_type(const Param& param, const YamlNode& node) {
  refuse("type", param, node,
         fmt::format("'{}' must be {}, not {}", param.name, param.expectation(), node.describe()));
}

/// The unit that a name's suffix tells, "" if none.
std::string_view unit_of(std::string_view name) {
  struct Suffix {
    std::string_view suffix, unit;
  };
  static constexpr Suffix kSuffixes[] = {{"_per_mm", "ns per mm"},
                                         {"_ns", "ns"},
                                         {"_gbs", "GB/s"},
                                         {"_mb", "MiB"},
                                         {"_gb", "GiB"},
                                         {"_gb_per_cube", "GiB"},
                                         {"_mm", "mm"},
                                         {"_ghz", "GHz"},
                                         {"_bytes", "bytes"},
                                         {"_cycles", "cycles"},
                                         {"_pj_per_byte", "pJ per byte"},
                                         {"_pj", "pJ"},
                                         {"_w", "W"}};
  for (const auto& [suffix, unit] : kSuffixes)
    if (name.ends_with(suffix)) return unit;
  return "";
}

/// A whole text as one decimal number. `010`, `0x10`, `1_000` and `.5e` are not numbers here.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.size() > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9') return std::nullopt;
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range && std::is_floating_point_v<Number>)
    return std::numeric_limits<Number>::infinity();  // 1e999: a number, but none we can hold
  if (error != std::errc{}) return std::nullopt;
  return value;
}

void check_range(const Param& param, const YamlNode& node, double value) {
  if (value >= param.range.least && value <= param.range.most) return;
  refuse("range", param, node,
         fmt::format("'{}' must be {}, not {}", param.name, param.expectation(), shown(node.scalar)));
}

double read_number(const Param& param, const YamlNode& node) {
  if (node.kind != YamlNode::Kind::scalar || node.quoted) refuse_type(param, node);
  const auto value = parse_number<double>(node.scalar);
  const std::size_t sign = node.scalar.starts_with('-') || node.scalar.starts_with('+') ? 1 : 0;
  const bool yaml_special = !value && node.scalar.compare(sign, 1, ".") == 0;  // .nan, -.inf
  if (!value && !yaml_special) refuse_type(param, node);
  if (!value || !std::isfinite(*value))
    refuse("range", param, node,
           fmt::format("'{}' must be a finite number, not {}", param.name, shown(node.scalar)));
  check_range(param, node, *value);
  return *value;
}

std::int64_t read_integer(const Param& param, const YamlNode& node) {
  if (node.kind != YamlNode::Kind::scalar || node.quoted) refuse_type(param, node);
  const auto value = parse_number<std::int64_t>(node.scalar);
  if (value) {
    check_range(param, node, static_cast<double>(*value));
    return *value;
  }
  const double real = read_number(param, node);  // 1e3 and 4.0 are whole numbers, too
  if (real != std::floor(real)) refuse_type(param, node);
  return static_cast<std::int64_t>(real);
}

std::string read_word(const Param& param, const YamlNode& node) {
  if (node.kind != YamlNode::Kind::scalar) refuse_type(param, node);
  const auto& known = param.choices;
  if (param.type == Param::Type::text || known.empty() ||
      std::find(known.begin(), known.end(), node.scalar) != known.end())
    return node.scalar;
  throw InputError(
      {"param.choice", node.place.text(),
       fmt::format("'{}' must be {}, not {}", param.name, param.expectation(), quote(node.scalar)),
       suggest(node.scalar, known, "values")});
}

bool read_flag(const Param& param, const YamlNode& node) {
  if (node.kind == YamlNode::Kind::scalar && node.scalar == "true") return true;
  if (node.kind == YamlNode::Kind::scalar && node.scalar == "false") return false;
  refuse_type(param, node);
}

std::vector<double> read_numbers(const Param& param, const YamlNode& node) {
  if (node.kind != YamlNode::Kind::list || node.items.size() != param.length) refuse_type(param, node);
  std::vector<double> values;
  for (const YamlNode& item : node.items) values.push_back(read_number(param, item));
  return values;
}

std::vector<std::string> read_words(const Param& param, const YamlNode& node) {
  if (node.kind != YamlNode::Kind::list || node.items.empty()) refuse_type(param, node);
  std::vector<std::string> values;
  for (const YamlNode& item : node.items) {
    std::string word = read_word(param, item);
    if (std::find(values.begin(), values.end(), word) != values.end())
      refuse("twice", param, item, fmt::format("'{}' names {} twice", param.name, quote(word)));
    values.push_back(std::move(word));
  }
  return values;
}

NumberTable read_table(const Param& param, const YamlNode& node) {
  if (node.kind != YamlNode::Kind::map) refuse_type(param, node);
  NumberTable values;
  for (const YamlNode::Entry& entry : node.entries) {
    if (std::find(param.choices.begin(), param.choices.end(), entry.key) == param.choices.end())
      throw InputError({"param.choice", entry.place.text(),
                        fmt::format("'{}' has no {}", param.name, quote(entry.key)),
                        suggest(entry.key, param.choices, "names")});
    values.emplace_back(entry.key, read_number(param, entry.value));
  }
  return values;
}

Param make(std::string name, Param::Type type, ParamValue fallback, std::string doc) {
  Param param;
  param.name = std::move(name);
  param.type = type;
  param.fallback = std::move(fallback);
  param.doc = std::move(doc);
  return param;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

std::string text_expectation(const Param& param) {
  switch (param.file) {
    case Param::File::none:
      return "a word";
    case Param::File::read:
      return param.choices.empty()
                 ? "the name of a file to read"
                 : fmt::format("one of {}, or the name of a file to read", join(param.choices));
    case Param::File::written:
      return "the name of a file to write";
  }
  return {};
}

/// In double quotes, where YAML knows escapes.
std::string escaped_word(const std::string& word) {
  std::string out = "\"";
  for (const char c : word) {
    if (is_control(c))
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      out += c == '"' || c == '\\' ? fmt::format("\\{}", c) : std::string(1, c);
  }
  return out + "\"";
}

/// Quotes a word that YAML would read as something else.
std::string yaml_word(const std::string& word) {
  if (std::any_of(word.begin(), word.end(), is_control)) return escaped_word(word);
  const bool plain = !word.empty() && word.find_first_of(":#{}[],&*!|>'\"%@` ") == std::string::npos &&
                     !parse_number<double>(word) && word != "true" && word != "false" && word != "null" &&
                     word != "~" && word[0] != '-' && word[0] != '?';
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "''" : std::string(1, c);
  return quoted + "'";
}

}  // namespace

Param Param::integer(std::string name, std::int64_t fallback, Range range, std::string doc) {
  Param param = make(std::move(name), Type::integer, fallback, std::move(doc));
  param.range = range;
  return param;
}

Param Param::number(std::string name, double fallback, Range range, std::string doc) {
  Param param = make(std::move(name), Type::number, fallback, std::move(doc));
  param.range = range;
  return param;
}

Param Param::flag(std::string name, bool fallback, std::string doc) {
  return make(std::move(name), Type::flag, fallback, std::move(doc));
}

Param Param::text(std::string name, std::string fallback, std::string doc) {
  return make(std::move(name), Type::text, std::move(fallback), std::move(doc));
}

Param Param::input_file(std::string name, std::string fallback, std::vector<std::string> built_in,
                        std::string doc) {
  Param param = text(std::move(name), std::move(fallback), std::move(doc));
  param.file = File::read;
  param.choices = std::move(built_in);
  return param;
}

Param Param::output_file(std::string name, std::string fallback, std::string doc) {
  Param param = text(std::move(name), std::move(fallback), std::move(doc));
  param.file = File::written;
  return param;
}

Param Param::choice(std::string name, std::string fallback, std::vector<std::string> choices,
                    std::string doc) {
  Param param = make(std::move(name), Type::choice, std::move(fallback), std::move(doc));
  param.choices = std::move(choices);
  return param;
}

Param Param::numbers(std::string name, std::vector<double> fallback, Range range, std::string doc) {
  Param param = make(std::move(name), Type::numbers, std::move(fallback), std::move(doc));
  param.range = range;
  param.length = std::get<std::vector<double>>(param.fallback).size();
  return param;
}

Param Param::words(std::string name, std::vector<std::string> fallback, std::vector<std::string> choices,
                   std::string doc) {
  Param param = make(std::move(name), Type::words, std::move(fallback), std::move(doc));
  param.choices = std::move(choices);
  return param;
}

Param Param::table(std::string name, std::vector<std::string> names, Range range, std::string doc) {
  Param param = make(std::move(name), Type::table, NumberTable(), std::move(doc));
  param.range = range;
  param.choices = std::move(names);
  return param;
}

Param Param::optional() && {
  fallback = std::monostate{};
  return std::move(*this);
}

Param Param::must_be_given() && {
  fallback = std::monostate{};
  required = true;
  return std::move(*this);
}

std::string Param::expectation() const {
  const std::string_view unit = unit_of(name);
  const std::string of_unit = unit.empty() ? "" : fmt::format(" of {}", unit);
  const std::string bounds = range.least == kAboveZero
                                 ? fmt::format("above 0, at most {:.15g}", range.most)
                                 : fmt::format("from {:.15g} to {:.15g}", range.least, range.most);
  switch (type) {
    case Type::integer:
      return fmt::format("a whole number{} {}", of_unit, bounds);
    case Type::number:
      return fmt::format("a number{} {}", of_unit, bounds);
    case Type::flag:
      return "true or false";
    case Type::text:
      return text_expectation(*this);
    case Type::choice:
      return fmt::format("one of {}", join(choices));
    case Type::numbers:
      return fmt::format("a list of {} numbers{} {}", length, of_unit, bounds);
    case Type::words:
      return fmt::format("a list of {}", join(choices));
    case Type::table:
      return fmt::format("a map of any of {} to numbers {}", join(choices), bounds);
  }
  return {};
}

ParamValue Param::read(const YamlNode& node) const {
  switch (type) {
    case Type::integer:
      return read_integer(*this, node);
    case Type::number:
      return read_number(*this, node);
    case Type::flag:
      return read_flag(*this, node);
    case Type::text:
    case Type::choice:
      return read_word(*this, node);
    case Type::numbers:
      return read_numbers(*this, node);
    case Type::words:
      return read_words(*this, node);
    case Type::table:
      return read_table(*this, node);
  }
  return {};
}

std::string to_yaml(const ParamValue& value) {
  struct Writer {
    std::string operator()(std::monostate) const { return "null"; }
    std::string operator()(std::int64_t v) const { return fmt::format("{}", v); }
    std::string operator()(double v) const {
      return v == std::floor(v) && std::abs(v) < 1e15 ? fmt::format("{:.0f}", v) : fmt::format("{}", v);
    }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(const std::string& v) const { return yaml_word(v); }
    std::string operator()(const std::vector<double>& v) const {
      std::vector<std::string> items;
      for (const double item : v) items.push_back((*this)(item));
      return fmt::format("[{}]", join(items));
    }
    std::string operator()(const std::vector<std::string>& v) const { return fmt::format("[{}]", join(v)); }
    std::string operator()(const NumberTable& v) const {
      std::vector<std::string> items;
      for (const auto& [name, number] : v) items.push_back(fmt::format("{}: {}", name, (*this)(number)));
      return fmt::format("{{{}}}", join(items));
    }
  };
  return std::visit(Writer{}, value);
}

ParamSet::ParamSet(std::vector<Param> params) : params_(std::move(params)) {
  for (const Param& param : params_) values_.push_back(param.fallback);
}

std::size_t ParamSet::index(std::string_view name) const {
  const auto found =
      std::find_if(params_.begin(), params_.end(), [&](const Param& p) { return p.name == name; });
  KB_ASSERT(found != params_.end(), "no parameter is called '{}'", name);
  return static_cast<std::size_t>(found - params_.begin());
}

const Param* ParamSet::find(std::string_view name) const {
  const auto found =
      std::find_if(params_.begin(), params_.end(), [&](const Param& p) { return p.name == name; });
  return found == params_.end() ? nullptr : &*found;
}

bool ParamSet::has(std::string_view name) const {
  return find(name) && !std::holds_alternative<std::monostate>(value(name));
}

void ParamSet::drop_output_files() {
  for (std::size_t i = 0; i < params_.size(); ++i)
    if (params_[i].file == Param::File::written) values_[i] = std::string();
}

std::int64_t ParamSet::integer(std::string_view name) const { return std::get<std::int64_t>(value(name)); }
double ParamSet::number(std::string_view name) const { return std::get<double>(value(name)); }
bool ParamSet::flag(std::string_view name) const { return std::get<bool>(value(name)); }
const std::string& ParamSet::text(std::string_view name) const { return std::get<std::string>(value(name)); }
const std::vector<double>& ParamSet::numbers(std::string_view name) const {
  return std::get<std::vector<double>>(value(name));
}
const std::vector<std::string>& ParamSet::words(std::string_view name) const {
  return std::get<std::vector<std::string>>(value(name));
}

const NumberTable& ParamSet::table(std::string_view name) const { return std::get<NumberTable>(value(name)); }

Time ParamSet::time(std::string_view name) const { return Time::from_ns(number(name)); }
Bandwidth ParamSet::bandwidth(std::string_view name) const { return Bandwidth::from_gbs(number(name)); }

Bytes ParamSet::bytes(std::string_view name) const {
  if (name.ends_with("_bytes")) return Bytes(integer(name));
  const double scale = name.ends_with("_mb") ? 0x1p20 : 0x1p30;
  return Bytes(std::llround(number(name) * scale));
}

bool ParamSet::operator==(const ParamSet& other) const {
  const auto same_name = [](const Param& a, const Param& b) { return a.name == b.name; };
  return values_ == other.values_ &&
         std::equal(params_.begin(), params_.end(), other.params_.begin(), other.params_.end(), same_name);
}

}  // namespace kernbench
