// "Did you mean …?": the known name closest to what somebody typed.
#pragma once

#include <span>
#include <string_view>

namespace kernbench {

/// The candidate with the fewest single-letter edits from `word`, the first of equals; empty if none is
/// closer than half the word's length.
std::string_view nearest_name(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace kernbench
