// Formatting onto the end of a text.
#pragma once

#include <fmt/format.h>

#include <string>

namespace kernbench {

/// Appends what `fmt::format` would return. The work is done in the library: with `fmt::format_to` every file that
/// appends would compile the whole formatter.
template <typename... Args>
void append(std::string& text, fmt::format_string<Args...> format, Args&&... args) {
  text += fmt::vformat(format, fmt::make_format_args(args...));
}

}  // namespace kernbench
