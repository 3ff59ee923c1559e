#include "report/source_text.hpp"

#include <filesystem>
#include <fstream>

namespace kernbench::report {
namespace {

namespace fs = std::filesystem;

/// The file itself, or the longest end of its name that is a file below the working folder.
std::optional<fs::path> find_source(const fs::path& name) {
  std::error_code ignored;
  if (fs::is_regular_file(name, ignored)) return name;
  for (auto part = name.begin(); part != name.end(); ++part) {
    fs::path end;
    for (auto rest = part; rest != name.end(); ++rest)
      if (*rest != "/") end /= *rest;
    if (end.has_parent_path() && fs::is_regular_file(end, ignored)) return end;
  }
  return std::nullopt;
}

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::vector<std::string> read_lines(std::string_view name) {
  constexpr std::size_t kLongest = 200;
  std::vector<std::string> lines;
  const auto path = find_source(fs::path(name));
  if (!path) return lines;
  std::ifstream in(*path);
  for (std::string line; std::getline(in, line);) lines.push_back(trimmed(line).substr(0, kLongest));
  return lines;
}

}  // namespace

std::optional<std::string> SourceTexts::line(std::string_view file, std::uint32_t line) {
  auto found = files_.find(file);
  if (found == files_.end()) found = files_.emplace(std::string(file), read_lines(file)).first;
  if (line == 0 || line > found->second.size()) return std::nullopt;
  return found->second[line - 1];
}

}  // namespace kernbench::report
