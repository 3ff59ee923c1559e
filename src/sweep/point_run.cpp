#include "sweep/point_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "base/json.hpp"
#include "base/text.hpp"
#include "bench/run.hpp"
#include "bench/run_json.hpp"
#include "kernbench/error.hpp"
#include "kernbench/machine.hpp"
#include "trace/hash.hpp"

namespace kernbench::sweep {
namespace {

using Json = nlohmann::ordered_json;

std::string content_of(const std::filesystem::path& file) {
  std::ostringstream out;
  out << std::ifstream(file, std::ios::binary).rdbuf();
  return std::move(out).str();
}

std::string hashed(std::string_view text) {
  trace::Hash hash;
  hash.add(text);
  return fmt::format("{:016x}", hash.value());
}

/// The program that runs, hashed by words: it is large, and every sweep begins with this.
std::string program_hash() {
  const std::string program = content_of("/proc/self/exe");
  trace::Hash hash;
  hash.add(program.size());
  for (std::size_t at = 0; at < program.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, program.data() + at, std::min(sizeof word, program.size() - at));
    hash.add(word);
  }
  return fmt::format("{:016x}", hash.value());
}

/// The file that a run without `ccl` would use.
std::string ccl_content(const std::string& given) {
  std::error_code error;
  const std::string file = given.empty() ? "ccl.yaml" : given;
  return std::filesystem::exists(file, error) ? content_of(file) : file;
}

Json record_of(const Point& point, const std::string& key) {
  Json values = Json::object();
  for (const auto& [name, value] : point.values) values[name] = value;
  return {{"key", key},       {"values", values}, {"ok", false},
          {"error", nullptr}, {"seconds", 0.0},   {"run", nullptr}};
}

std::string line_of(const Json& record) { return dump_json(record); }

/// Why a run that ended is not as it should be.
std::string complaint_of(const bench::RunResult& result) {
  if (!result.report.complaints().empty()) return result.report.complaints().front();
  if (!result.beaten_bounds().empty())
    return "a launch was faster than its lower bound: an error of the model";
  return "its check failed";
}

}  // namespace

Keys::Keys(const Plan& plan) : plan_(plan), program_(program_hash()), ccl_(hashed(ccl_content(plan.ccl))) {}

const std::string& Keys::machine_text(const std::vector<std::string>& overrides) {
  auto found = machines_.find(overrides);
  if (found == machines_.end()) {
    std::string text;
    try {
      text = to_yaml(*plan_.machines->with(overrides));
    } catch (const InputError& e) {  // values that do not go together: the point will say so
      text = e.what();
    }
    found = machines_.emplace(overrides, hashed(text)).first;
  }
  return found->second;
}

std::string Keys::of(const Point& point) {
  trace::Hash hash;
  hash.add(program_), hash.add(ccl_), hash.add(plan_.bench);
  hash.add(std::string_view(plan_.verify ? "verified" : ""));
  hash.add(machine_text(words_of(plan_, point, Reach::machine)));
  for (const Reach reach : {Reach::option, Reach::ccl})
    for (const std::string& word : words_of(plan_, point, reach)) hash.add(word);
  return fmt::format("{:016x}", hash.value());
}

Point point_of(const Json& record) {
  Point point;
  for (const auto& [name, value] : record.at("values").items())
    point.values.emplace_back(name, value.get<std::string>());
  return point;
}

std::string run_point(const Plan& plan, const Point& point, const std::string& key,
                      const Registry& registry) {
  const auto begin = std::chrono::steady_clock::now();
  Json record = record_of(point, key);
  try {
    const Bench& bench = registry.benches.at(plan.bench);
    const bench::RunResult result =
        bench::run(bench, bench.read_options(words_of(plan, point, Reach::option)), *machine_of(plan, point),
                   {.ccl = plan.ccl,
                    .collectives = &registry.collectives,
                    .ccl_overrides = words_of(plan, point, Reach::ccl),
                    .verify = plan.verify,
                    .threads = 1});
    record["ok"] = result.ok();
    if (!result.ok()) record["error"] = complaint_of(result);
    Json run = bench::to_json(result);
    run.erase("machine"), run.erase("wall");
    record["run"] = std::move(run);
  } catch (const std::exception& error) {
    record["error"] = printable(error.what());
  }
  record["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return line_of(record);
}

std::string died(const Point& point, const std::string& key, const std::string& how) {
  Json record = record_of(point, key);
  record["error"] = how;
  return line_of(record);
}

Json value_at(const Json& run, const std::string& path) {
  const Json* at = &run;
  std::istringstream parts(path);
  for (std::string part; std::getline(parts, part, '.') && at != nullptr;)
    at = at->is_object() && at->contains(part) ? &at->at(part) : nullptr;
  if (at != nullptr) return *at;
  if (!run.is_object() || path.find('.') != path.npos) return {};
  if (run.contains("sim") && run["sim"].contains(path)) return run["sim"][path];
  if (!run.contains("launches") || run["launches"].empty()) return {};
  double sum = 0;
  for (const Json& launch : run["launches"]) {
    if (!launch.contains(path) || !launch[path].is_number()) return {};
    sum += launch[path].get<double>();
  }
  return sum;
}

}  // namespace kernbench::sweep
