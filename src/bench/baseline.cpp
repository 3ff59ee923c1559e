#include "bench/baseline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <vector>

#include "base/file.hpp"
#include "base/parse.hpp"
#include "base/text.hpp"
#include "kernbench/error.hpp"

namespace kernbench::bench {
namespace {

[[noreturn]] void refuse_baseline(const char* id, const std::string& where, std::string what,
                                  std::string hint) {
  throw InputError({fmt::format("baseline.{}", id), where, std::move(what), std::move(hint)});
}

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream in(line);
  for (std::string field; std::getline(in, field, ',');) {
    if (!field.empty() && field.back() == '\r') field.pop_back();
    fields.push_back(field);
  }
  return fields;
}

std::vector<std::string> shipped_names() {
  std::vector<std::string> names;
  for (const auto* text = kEmbeddedTexts; text->name != nullptr; ++text) names.emplace_back(text->name);
  return names;
}

std::string text_of(const std::string& name) {
  for (const auto* text = kEmbeddedTexts; text->name != nullptr; ++text)
    if (name == text->name) return text->text;
  if (!std::filesystem::exists(name))
    refuse_baseline(
        "unknown", name, "neither a baseline that ships nor a file",
        fmt::format("those that ship: {}; a file of your own is CSV with the columns op, dims and us_median",
                    join(shipped_names())));
  return read_text_file(name);
}

std::size_t column(const std::vector<std::string>& header, const char* name, const std::string& where) {
  const auto found = std::ranges::find(header, name);
  if (found == header.end())
    refuse_baseline("column", where, fmt::format("no column '{}'", name),
                    "a baseline has op, dims and us_median");
  return static_cast<std::size_t>(found - header.begin());
}

double number_of(const std::string& field, const std::string& where) {
  const auto value = parse_whole<double>(field);
  if (!value || *value <= 0)
    refuse_baseline("number", where, fmt::format("'{}' is no time", field),
                    "us_median is in microseconds, above 0");
  return *value;
}

}  // namespace

Param Baseline::option(std::string doc) {
  return Param::input_file("beside", "", shipped_names(), std::move(doc));
}

Baseline Baseline::load(const std::string& name_or_file) {
  Baseline baseline;
  baseline.name_ = std::filesystem::path(name_or_file).stem().string();
  std::istringstream in(text_of(name_or_file));
  std::vector<std::string> header;
  std::size_t op = 0, dims = 0, us = 0, number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const auto where = fmt::format("{}:{}", name_or_file, number);
    if (line.empty() || line.front() == '#') continue;
    const auto fields = fields_of(line);
    if (header.empty()) {
      header = fields;
      op = column(header, "op", where), dims = column(header, "dims", where),
      us = column(header, "us_median", where);
      continue;
    }
    if (fields.size() < header.size())
      refuse_baseline("row", where, fmt::format("{} fields", fields.size()),
                      fmt::format("the header has {}", header.size()));
    const double median = number_of(fields[us], where);
    if (fields[op] == "empty_add") baseline.launch_us_ = median;
    baseline.times_.emplace(std::pair{fields[op], fields[dims]}, median);
  }
  if (header.empty())
    refuse_baseline("empty", name_or_file, "no header", "a baseline has op, dims and us_median");
  return baseline;
}

std::optional<double> Baseline::median_us(std::string_view op, std::string_view dims) const {
  const auto found = times_.find({std::string(op), std::string(dims)});
  return found == times_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<double> Baseline::work_us(std::string_view op, std::string_view dims) const {
  const auto all = median_us(op, dims);
  return all && *all > launch_us_ ? std::optional(*all - launch_us_) : std::nullopt;
}

std::string Baseline::legend() const {
  const std::string less = launch_us_ > 0
                               ? fmt::format("measured, less the {:.3f} us of an empty launch", launch_us_)
                               : "as measured, with what its file includes";
  return fmt::format("{} us: {}; faster: that divided by the time on the PEs, without our launch", name_,
                     less);
}

}  // namespace kernbench::bench
