// Small text helpers behind our error messages.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kernbench {

/// The candidates a person may have meant by `name`, nearest first: small edit distance, `-` and `_` alike.
std::vector<std::string> nearest(std::string_view name, std::span<const std::string> candidates);

/// "did you mean 'a' or 'b'?"; with nothing near: "known LABEL: a, b, c".
std::string suggest(std::string_view name, std::span<const std::string> candidates, std::string_view label);

/// A user's text as it may stand in a message: control characters and bytes that are no UTF-8 as escapes, and at
/// most `most` characters, with `…` for the rest.
std::string shown(std::string_view text, std::size_t most = 60);
/// A path, of which more is shown.
std::string shown_path(std::string_view path);
/// `shown` in single quotes.
std::string quote(std::string_view text);
/// A whole message: escapes as in `shown`, but lines stay lines and nothing is left out.
std::string printable(std::string_view text);
/// The same as it may stand in SVG and HTML, in attributes too.
std::string as_markup(std::string_view text);

/// Ascending numbers: `0, 1, 5`; of more than eight, three and more in a row as `0-62`, and only the first eight of
/// these, with the count: `0, 2, 4, 6, 8, 10, 12, 14, … (128 in all)`.
std::string numbers(std::span<const int> ascending);

/// "a, b, c"
std::string join(std::span<const std::string> items, std::string_view separator = ", ");
std::string join(std::span<const std::string_view> items, std::string_view separator = ", ");
std::string join(std::span<const int> items, std::string_view separator = ", ");
std::string join(std::span<const std::int64_t> items, std::string_view separator = ", ");

}  // namespace kernbench
