#include "sweep/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>

#include "base/file.hpp"
#include "base/json.hpp"
#include "base/parse.hpp"
#include "base/text.hpp"
#include "kernbench/error.hpp"

namespace kernbench::sweep {
namespace {

constexpr const char* kExample = "bytes_per_pe,latency_ns and a line for each point: 2048,1282";

[[noreturn]] void refuse_curve(const std::string& file, int line, const std::string& what) {
  throw InputError({"compare.csv", fmt::format("{}:{}", shown_path(file), line), what, kExample});
}

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c != '\r' && (quoted || c != ' ' || !fields.back().empty())) {
      fields.back() += c;
    }
  }
  return fields;
}

double positive_number(const std::string& text, const std::string& file, int line) {
  const auto value = parse_whole<double>(text);
  if (!value || !(*value > 0)) refuse_curve(file, line, fmt::format("{} is no number above 0", quote(text)));
  return *value;
}

/// Where the columns are, and what a time counts in.
struct CurveColumns {
  std::size_t bytes = 0, time = 0;
  std::size_t name = SIZE_MAX;
  double ns = 1;

  CurveColumns(const std::vector<std::string>& header, const std::string& file, int line) {
    const auto find = [&](std::initializer_list<const char*> names) {
      for (const char* one : names) {
        const auto at = std::ranges::find(header, one);
        if (at != header.end()) return static_cast<std::size_t>(at - header.begin());
      }
      return SIZE_MAX;
    };
    bytes = find({"bytes_per_pe", "size", "bytes"});
    time = find({"latency_ns"});
    if (time == SIZE_MAX) time = find({"latency_us", "time_us"}), ns = 1000;
    name = find({"name", "algorithm"});
    if (bytes == SIZE_MAX || time == SIZE_MAX)
      refuse_curve(file, line, "the first line does not name the columns bytes_per_pe and latency_ns");
  }
};

Curve& curve_named(std::vector<Curve>& curves, const std::string& name) {
  const auto found = std::ranges::find(curves, name, &Curve::name);
  if (found != curves.end()) return *found;
  return curves.emplace_back(Curve{name, {}});
}

}  // namespace

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == text.npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string csv_text(const nlohmann::ordered_json& value) {
  if (value.is_null()) return "";
  return csv_field(value.is_string() ? value.get<std::string>() : dump_json(value));
}

std::vector<Curve> read_curves(const std::string& file) {
  std::istringstream in(read_text_file(file));
  std::optional<CurveColumns> columns;
  std::vector<Curve> curves;
  const std::string fallback = std::filesystem::path(file).stem().string();
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.empty() || line == "\r" || line.starts_with('#')) continue;
    const auto fields = fields_of(line);
    if (!columns) {
      columns.emplace(fields, file, number);
      continue;
    }
    if (fields.size() <= std::max(columns->bytes, columns->time))
      refuse_curve(file, number, fmt::format("this line has {} fields", fields.size()));
    const bool named = columns->name < fields.size() && !fields[columns->name].empty();
    curve_named(curves, named ? fields[columns->name] : fallback)
        .points.emplace_back(positive_number(fields[columns->bytes], file, number),
                             positive_number(fields[columns->time], file, number) * columns->ns);
  }
  if (curves.empty()) refuse_curve(file, std::max(number, 1), "there is no point in this file");
  return curves;
}

}  // namespace kernbench::sweep
