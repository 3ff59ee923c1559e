// Comma-separated values, as spreadsheets write and read them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace kernbench::sweep {

/// In quotes where it must be.
std::string csv_field(const std::string& text);
/// A number, a text; nothing for null.
std::string csv_text(const nlohmann::ordered_json& value);

/// A curve to stand beside ours: a CSV file with the columns `bytes_per_pe` (or `size`, `bytes`) and `latency_ns` (or
/// `latency_us`, `time_us`), and perhaps `name`. Lines that begin with # are comments.
struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;  // bytes, ns
};
/// InputError (`compare.…`) with the place of what is wrong.
std::vector<Curve> read_curves(const std::string& file);

}  // namespace kernbench::sweep
