#include "report/saved_dram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/json.hpp"

namespace kernbench::report {

using Json = nlohmann::ordered_json;

const SavedDram::Part* SavedDram::most_lost() const {
  const auto most = std::max_element(parts.begin() + 1, parts.end(),
                                     [](const Part& a, const Part& b) { return a.share < b.share; });
  return most->share > 0 ? &*most : nullptr;
}

std::string SavedDram::text() const {
  std::string out;
  for (const Part& part : parts)
    if (part.share > 0)
      out += fmt::format("{}{} {:.1f} %", out.empty() ? "" : ", ", part.name, 100 * part.share);
  return fmt::format(
      "{}; of {} bursts {:.1f} % hit an open row, {:.1f} % found none open, {:.1f} % another one", out,
      bursts, 100 * hits, 100 * closed, 100 * conflicts);
}

std::optional<SavedDram> saved_dram(const SavedRun& run) {
  const std::string text = run.value("dram");
  if (text.empty()) return std::nullopt;
  const Json all = parse_json(text);
  if (all.is_null()) return std::nullopt;
  const Json& most = all.at("busiest");
  const auto number = [&](const char* key) { return most.at(key).get<double>(); };
  const double wanted =
      number("data_ns") + number("rows_ns") + number("groups_ns") + number("turns_ns") + number("refresh_ns");
  const double bursts = number("reads") + number("writes");
  if (wanted <= 0 || bursts <= 0 || number("channels") <= 0) return std::nullopt;
  const auto part = [&](const char* name, const char* key) {
    return SavedDram::Part{name, number(key) / wanted};
  };
  return SavedDram{
      .slice = most.at("slice").get<std::string>(),
      .slices = all.at("slices").get<std::int64_t>(),
      .wanted = wanted / number("channels") / std::max(run.total().ns(), 1e-3),
      .parts = {part("data", "data_ns"), part("rows", "rows_ns"), part("bank groups", "groups_ns"),
                part("turns of the bus", "turns_ns"), part("refresh", "refresh_ns")},
      .bursts = static_cast<std::int64_t>(bursts),
      .hits = number("row_hits") / bursts,
      .closed = number("row_closed") / bursts,
      .conflicts = number("row_conflicts") / bursts};
}

std::string_view dram_advice(std::string_view part) {
  static const std::map<std::string_view, std::string_view> kAdvice = {
      {"rows",
       "rows are opened for few bytes each: access longer pieces one after the other, or let strides fall on "
       "more banks (cube.hbm.hash, cube.hbm.banks)"},
      {"bank groups",
       "bursts fall on few bank groups: access neighbouring bytes, or set cube.hbm.hash to xor"},
      {"turns of the bus",
       "reads and writes alternate: write back less often, or let larger batches of writes wait "
       "(cube.hbm.write_high, queue_bursts)"},
      {"refresh",
       "refresh banks one by one (cube.hbm.refresh=per_bank), or spread the data over more slices"},
  };
  return kAdvice.at(part);
}

}  // namespace kernbench::report
