// JSON as it is written.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace kernbench::cli {

/// A file's name may be no UTF-8, JSON must be.
inline std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace kernbench::cli
