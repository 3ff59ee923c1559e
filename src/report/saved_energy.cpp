#include "report/saved_energy.hpp"

#include <nlohmann/json.hpp>

#include "base/json.hpp"

namespace kernbench::report {

nlohmann::ordered_json saved_energy(const SavedRun& run) {
  const std::string text = run.value("energy");
  return text.empty() ? nlohmann::ordered_json() : parse_json(text);
}

}  // namespace kernbench::report
