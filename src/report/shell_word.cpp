#include "report/shell_word.hpp"

namespace kernbench::report {

std::string shell_word(const std::string& word) {
  const bool plain = !word.empty() && word.find_first_of(" \t\n'\"\\$`*?[]{}()<>|&;#~!") == word.npos;
  if (plain) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace kernbench::report
