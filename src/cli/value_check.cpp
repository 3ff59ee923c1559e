#include "cli/value_check.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <span>

#include "base/text.hpp"
#include "kernbench/error.hpp"

namespace kernbench::cli {
namespace {

/// "memory, disk or none"
std::string any_of(std::span<const std::string> words) {
  if (words.size() < 2) return join(words);
  return fmt::format("{} or {}", join(words.first(words.size() - 1)), words.back());
}

bool is_whole_number(const std::string& text, std::int64_t low, std::int64_t high) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && rest == end && low <= value && value <= high;
}

bool take_size(std::string& text) try {
  return !text.starts_with('-') && CLI::AsSizeValue(false)(text).empty() &&
         is_whole_number(text, 0, INT64_MAX);
} catch (const CLI::Error&) {
  return false;
}

}  // namespace

Accepted one_of(std::vector<std::string> words) {
  const std::string must_be = any_of(words);
  return {must_be, [words = std::move(words)](const std::string& text) {
            return std::find(words.begin(), words.end(), text) != words.end();
          }};
}

Accepted whole_number(std::int64_t low, std::int64_t high, const std::string& remark) {
  const std::string range =
      high == INT64_MAX ? fmt::format("of at least {}", low) : fmt::format("from {} to {}", low, high);
  return {fmt::format("a whole number {}{}", range, remark.empty() ? "" : fmt::format(" ({})", remark)),
          [=](const std::string& text) { return is_whole_number(text, low, high); }};
}

Accepted size_in_bytes() { return {"a number of bytes, such as 4096, 32KiB or 1M", take_size}; }

/// An empty name is that of a variable that nobody set: `--save "$OUT"`.
Accepted name_of_a_file() {
  return {"the name of a file", [](const std::string& text) { return !text.empty(); }};
}

/// The sentence becomes the name of CLI11's check: unlike its description, the name is not shown in the help.
CLI::Option* check_value(CLI::Option* option, const Accepted& accepted) {
  const auto check = [name = option->get_name(), accepted](std::string& text) -> std::string {
    const std::string given = text.empty() ? "''" : shown(text);
    if (!accepted.take(text))
      throw InputError({"cli.value", fmt::format("{} {}", name, given), "must be " + accepted.must_be,
                        fmt::format("--help explains {}", name)});
    return "";
  };
  return option->transform(CLI::Validator(check, "", accepted.must_be));
}

std::string accepted_values(CLI::Option& option) try {
  return option.get_validator(0)->get_name();
} catch (const CLI::OptionNotFound&) {  // it has no check
  return option.get_type_name();
}

}  // namespace kernbench::cli
