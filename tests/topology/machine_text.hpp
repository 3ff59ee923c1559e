// Machine files as text, and small surgery on them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "kernbench/machine.hpp"

namespace kernbench::topology {

inline const std::string& default_text() { return shipped_machines().front().yaml; }

/// Replaces the one occurrence of `from`.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << "the text has no '" << from << "'";
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

/// The line, counted from 1, where `part` first stands.
inline int line_of(const std::string& text, const std::string& part) {
  const std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << "the text has no '" << part << "'";
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

/// A file in block style without the group at `path` (`sip.io`): its key and everything indented below it.
inline std::string without_group(const std::string& text, const std::string& path) {
  std::istringstream lines(text);
  std::string out, line, rest = path;
  std::size_t depth = 0, skipped_depth = std::string::npos;
  while (std::getline(lines, line)) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    if (skipped_depth != std::string::npos && (indent > skipped_depth || indent == line.size())) continue;
    skipped_depth = std::string::npos;
    const std::string key = rest.substr(0, rest.find('.'));
    if (!rest.empty() && indent == depth && line.compare(indent, key.size() + 1, key + ":") == 0) {
      const bool last = rest.find('.') == std::string::npos;
      rest = last ? "" : rest.substr(key.size() + 1);
      depth += 2;
      if (last) {
        skipped_depth = indent;
        continue;
      }
    }
    out += line + "\n";
  }
  EXPECT_TRUE(rest.empty()) << "the text has no '" << path << "'";
  return out;
}

}  // namespace kernbench::topology
