// JSON as text, and back. The parser and the serializer are templates that take seconds to compile: only json.cpp does.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace kernbench {

/// In one line, or with this many spaces per level. What is no UTF-8 (names of files) is replaced: JSON must be.
std::string dump_json(const nlohmann::ordered_json& json, int indent = -1);

/// Throws nlohmann::json::parse_error.
nlohmann::ordered_json parse_json(std::string_view text);
/// The discarded value (`is_discarded`) where the text is no JSON.
nlohmann::ordered_json parse_json_or_discard(std::string_view text);

}  // namespace kernbench
