#include "base/json.hpp"

#include <nlohmann/json.hpp>

namespace kernbench {

using nlohmann::ordered_json;

std::string dump_json(const ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, ordered_json::error_handler_t::replace);
}

ordered_json parse_json(std::string_view text) { return ordered_json::parse(text); }

ordered_json parse_json_or_discard(std::string_view text) {
  return ordered_json::parse(text, nullptr, false);
}

}  // namespace kernbench
