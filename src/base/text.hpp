// Small text helpers behind our error messages.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kernbench {

/// The candidates a person may have meant by `name`, nearest first: small edit distance, `-` and `_` alike.
std::vector<std::string> nearest(std::string_view name, std::span<const std::string> candidates);

/// "did you mean 'a' or 'b'?"; with nothing near: "known LABEL: a, b, c".
std::string suggest(std::string_view name, std::span<const std::string> candidates, std::string_view label);

/// "a, b, c"
std::string join(std::span<const std::string> items, std::string_view separator = ", ");

}  // namespace kernbench
