// Numbers from text.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace kernbench {

/// All of the text as one decimal number; nothing if it is none, or none that a `Number` can hold.
template <class Number>
std::optional<Number> parse_whole(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace kernbench
