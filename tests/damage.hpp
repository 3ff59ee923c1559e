// Damage to text files, and how often tests do it. Deterministic. KERNBENCH_FUZZ_ROUNDS raises the number of files.
#pragma once

#include <cstdlib>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace kernbench {

class Damage {
 public:
  explicit Damage(unsigned seed) : random_(seed) {}

  std::string apply(std::string text) {
    for (std::size_t n = 1 + pick(4); n > 0; --n) text = once(std::move(text));
    return text;
  }

 private:
  std::size_t pick(std::size_t n) {
    return n == 0 ? 0 : std::uniform_int_distribution<std::size_t>(0, n - 1)(random_);
  }

  std::string once(std::string text) {
    switch (pick(7)) {
      case 0:  // a byte becomes another
        if (!text.empty()) text[pick(text.size())] = static_cast<char>(pick(256));
        return text;
      case 1:  // a character of YAML's own comes in
        return text.insert(pick(text.size()), 1, kSigns[pick(kSigns.size())]);
      case 2:  // the end is lost
        return text.substr(0, pick(text.size()));
      case 3:  // a piece is lost
        return text.erase(pick(text.size()), pick(80));
      case 4:  // a piece stands elsewhere as well
        return text.insert(pick(text.size()), text.substr(pick(text.size()), pick(200)));
      case 5:
        return edit_lines(text);
      default:  // a number becomes absurd
        return text.insert(pick(text.size()), kNumbers[pick(std::size(kNumbers))]);
    }
  }

  std::string edit_lines(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    if (lines.empty()) return text;
    const auto at = lines.begin() + static_cast<std::ptrdiff_t>(pick(lines.size()));
    const std::string copy = *at;
    if (pick(2) == 0)
      lines.erase(at);
    else
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(pick(lines.size())), copy);
    std::string out;
    for (const std::string& line : lines) out += line + "\n";
    return out;
  }

  static constexpr std::string_view kSigns = "{}[]:,#&*!|>'\"%@`?-\n\t ~<=.\\";
  static constexpr const char* kNumbers[] = {"-",  "0",   "1e999", ".nan", "99999999999999999999",
                                             "-1", "&a ", "*a ",   "<<: "};
  std::mt19937 random_;
};

inline unsigned fuzz_rounds() {
  const char* more = std::getenv("KERNBENCH_FUZZ_ROUNDS");
  return more ? static_cast<unsigned>(std::strtoul(more, nullptr, 10)) : 2500;
}

}  // namespace kernbench
