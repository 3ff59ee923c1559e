// What the log has to say, as JSON values: the parts of `kernbench run --json`.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "kernbench/trace.hpp"

namespace kernbench::trace {

/// `op_log_summary`: counts at the top, then bytes and busy time per engine, in total and per PE.
nlohmann::ordered_json json_of(const Summary& summary);
/// `utilization`, the part of the engines.
nlohmann::ordered_json json_of(const Utilization& utilization);
/// `critical_path`: [{`resource`, `ns`, `share`}].
nlohmann::ordered_json json_of(const CriticalPath& path);
/// The same by reason or by line, with `reason` or `line` for the key.
nlohmann::ordered_json json_of(const std::vector<Share>& shares, const char* key);
nlohmann::ordered_json json_of(const Comparison& comparison, const RunLog& after);

}  // namespace kernbench::trace
