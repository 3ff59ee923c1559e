#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <type_traits>
#include <utility>

namespace kernbench {
namespace {

char folded(char c) {
  return c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

/// Fewest insertions, deletions, replacements and swaps of neighbours; case and `-`/`_` ignored.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    before_last = std::exchange(last, row);
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const bool same = folded(a[i]) == folded(b[j]);
      row[j + 1] = std::min({last[j] + (same ? 0 : 1), row[j] + 1, last[j + 1] + 1});
      const bool swapped =
          i > 0 && j > 0 && folded(a[i]) == folded(b[j - 1]) && folded(a[i - 1]) == folded(b[j]);
      if (swapped) row[j + 1] = std::min(row[j + 1], before_last[j - 1] + 1);
    }
  }
  return row[b.size()];
}

/// How many bytes the UTF-8 character at the front takes; 0 if there is none.
std::size_t character_size(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t size = byte(0) < 0x80   ? 1
                           : byte(0) < 0xC2 ? 0
                           : byte(0) < 0xE0 ? 2
                           : byte(0) < 0xF0 ? 3
                                            : 4;
  if (size == 0 || byte(0) > 0xF4 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  return size;
}

bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (first == 0xC2) return static_cast<unsigned char>(character[1]) < 0xA0;  // U+0080 … U+009F
  return first < 0x20 || first == 0x7F;
}

std::string escape_of(char c) {
  if (c == '\n') return "\\n";
  if (c == '\t') return "\\t";
  return fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
}

std::string escaped(std::string_view text, std::size_t most, bool keep_lines) {
  std::string out;
  for (std::size_t characters = 0; !text.empty(); ++characters) {
    if (characters == most) return out + "…";
    const std::size_t size = character_size(text);
    const std::string_view next = text.substr(0, std::max<std::size_t>(size, 1));
    if ((size > 0 && !is_control(next)) || (keep_lines && next == "\n")) {
      out += next;
    } else {
      for (const char c : next) out += escape_of(c);
    }
    text.remove_prefix(next.size());
  }
  return out;
}

}  // namespace

std::string shown(std::string_view text, std::size_t most) { return escaped(text, most, false); }
std::string shown_path(std::string_view path) { return shown(path, 300); }
std::string quote(std::string_view text) { return fmt::format("'{}'", shown(text)); }
std::string printable(std::string_view text) { return escaped(text, std::string_view::npos, true); }

std::string as_markup(std::string_view text) {
  std::string out;
  for (const char c : printable(text))
    out += c == '&'   ? "&amp;"
           : c == '<' ? "&lt;"
           : c == '>' ? "&gt;"
           : c == '"' ? "&quot;"
                      : std::string_view(&c, 1);
  return out;
}

std::vector<std::string> nearest(std::string_view name, std::span<const std::string> candidates) {
  constexpr std::size_t kLongestName = 200;
  if (name.size() > kLongestName) return {};
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    const bool contained = name.size() >= 3 && candidate.find(name) != std::string::npos;
    if (distance <= std::max<std::size_t>(1, std::min(name.size(), candidate.size()) / 3) || contained)
      near.emplace_back(contained ? std::min<std::size_t>(distance, 1) : distance, candidate);
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  if (!near.empty() && near.front().first == 0)
    std::erase_if(near, [](const auto& one) { return one.first > 0; });
  constexpr std::size_t kMost = 3;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(kMost, near.size()); ++i) names.push_back(near[i].second);
  return names;
}

std::string suggest(std::string_view name, std::span<const std::string> candidates, std::string_view label) {
  const std::vector<std::string> near = nearest(name, candidates);
  if (near.empty()) return fmt::format("known {}: {}", label, join(candidates));
  return fmt::format("did you mean '{}'?", join(near, "' or '"));
}

std::string numbers(std::span<const int> ascending) {
  constexpr std::size_t kListedNumbers = 8;
  const bool many = ascending.size() > kListedNumbers;
  std::vector<std::string> items;
  for (std::size_t i = 0, run = 1; i < ascending.size(); i += run, run = 1) {
    while (many && i + run < ascending.size() && ascending[i + run] == ascending[i] + static_cast<int>(run))
      ++run;
    if (run < 3) run = 1;
    items.push_back(run == 1 ? fmt::format("{}", ascending[i])
                             : fmt::format("{}-{}", ascending[i], ascending[i + run - 1]));
  }
  if (items.size() <= kListedNumbers) return join(items);
  items.resize(kListedNumbers);
  return fmt::format("{}, … ({} in all)", join(items), ascending.size());
}

namespace {
template <typename Item>
std::string joined(std::span<const Item> items, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text += separator;
    if constexpr (std::is_integral_v<Item>)
      text += std::to_string(items[i]);
    else
      text += items[i];
  }
  return text;
}
}  // namespace

std::string join(std::span<const std::string> items, std::string_view separator) {
  return joined(items, separator);
}
std::string join(std::span<const std::string_view> items, std::string_view separator) {
  return joined(items, separator);
}
std::string join(std::span<const int> items, std::string_view separator) { return joined(items, separator); }
std::string join(std::span<const std::int64_t> items, std::string_view separator) {
  return joined(items, separator);
}

}  // namespace kernbench
