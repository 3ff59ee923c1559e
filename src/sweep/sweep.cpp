#include "sweep/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/file.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "kernbench/error.hpp"
#include "sweep/harness.hpp"
#include "sweep/point_run.hpp"
#include "sweep/workers.hpp"

namespace kernbench::sweep {
namespace {

using Json = nlohmann::ordered_json;

std::string row_of(const Plan& plan, const Json& record) {
  std::string row;
  for (const std::string& name : plan.names) row += csv_text(record["values"][name]) + ",";
  row += record["ok"].get<bool>() ? "true" : "false";
  for (const std::string& column : plan.columns) row += "," + csv_text(value_at(record["run"], column));
  return row + "," + csv_text(record["error"]) + "\n";
}

/// The values of a point as text, which a new program or machine does not change: how long it took before.
std::string values_key(const Json& values) { return dump_json(values); }

class SweepRun {
 public:
  SweepRun(const Plan& plan, const std::string& path, const Registry& registry, const SweepOptions& options)
      : plan_(plan), registry_(registry), options_(options), folder_(path) {
    Keys keys(plan);
    for (const Point& point : plan.points) keys_.push_back(keys.of(point));
  }

  SweepOutcome run() {
    outcome_.points = plan_.points.size();
    for (std::size_t i = 0; i < keys_.size(); ++i)
      if (!folder_.lines().contains(keys_[i])) to_run_.push_back(i);
    outcome_.known = keys_.size() - to_run_.size();
    put_longest_first();
    if (!to_run_.empty()) run_all();
    folder_.finish();
    try {
      write_results();
    } catch (const Json::exception& error) {  // sweeps write no such run: the file has been changed
      throw InputError(
          {"sweep.folder", folder_.file("points.jsonl"),
           fmt::format("the run of a point is not what was written: {}", printable(error.what())),
           "remove its line, or give another folder with -o"});
    }
    return outcome_;
  }

 private:
  void put_longest_first() {
    std::map<std::string, double> seconds;
    for (const auto& [key, line] : folder_.lines()) {
      const Json record = parse_json(line);
      seconds[values_key(record["values"])] = record["seconds"].get<double>();
    }
    if (seconds.empty()) return;
    const auto took = [&](std::size_t i) {
      Json values = Json::object();
      for (const auto& [name, value] : plan_.points[i].values) values[name] = value;
      const auto found = seconds.find(values_key(values));
      return found == seconds.end() ? 0.0 : found->second;
    };
    std::ranges::stable_sort(to_run_, std::greater(), took);
  }

  void run_all() {
    const int jobs = std::min<int>(options_.jobs, static_cast<int>(to_run_.size()));
    std::unique_ptr<Workers> own;
    if (options_.workers == nullptr)
      own = forked_workers(
          jobs, [this](std::size_t i) { return run_point(plan_, plan_.points[i], keys_[i], registry_); });
    Workers* const workers = own ? own.get() : options_.workers;
    std::vector<std::optional<std::size_t>> at_work(static_cast<std::size_t>(workers->count()));
    const auto give_next = [&](std::size_t worker) {
      at_work[worker].reset();
      if (given_ == to_run_.size() || stopped_) return;
      workers->give(static_cast<int>(worker), *(at_work[worker] = to_run_[given_++]));
    };
    for (std::size_t w = 0; w < at_work.size(); ++w) give_next(w);
    while (std::ranges::any_of(at_work, [](const auto& point) { return point.has_value(); })) {
      const auto done = workers->wait(options_.interrupt);
      if (!done) {
        outcome_.interrupted = true;
        return;
      }
      const auto worker = static_cast<std::size_t>(done->worker);
      if (at_work[worker]) keep(*at_work[worker], *done);
      give_next(worker);
    }
  }

  void keep(std::size_t i, const Workers::Done& done) {
    const std::string line = done.line.empty() ? died(plan_.points[i], keys_[i], done.how) : done.line;
    folder_.add(keys_[i], line);
    ++outcome_.run;
    const bool ok = parse_json(line)["ok"].get<bool>();
    if (!ok && options_.fail_fast) stopped_ = true;
    if (options_.progress) options_.progress(outcome_.run, to_run_.size(), ok);
  }

  void write_results() {
    std::vector<Json> records;
    for (const std::string& key : keys_) {
      const auto found = folder_.lines().find(key);
      if (found == folder_.lines().end()) continue;
      records.push_back(parse_json(found->second));
      if (!records.back()["ok"].get<bool>()) ++outcome_.failed;
    }
    write_file(folder_.file("results.csv"), csv_of(plan_, records));
    Json about = description(records);
    if (plan_.harness == "gemm")
      write_file(folder_.file("gemm_sweep.json"), text_of(gemm_sweep(plan_, records)));
    if (plan_.harness == "allreduce") {
      write_file(folder_.file("allreduce.csv"), allreduce_csv(plan_, records));
      about["wiring"] = draw_wirings(records);
    }
    write_file(folder_.file("sweep.json"), text_of(about));
  }
  /// The names of the pictures, in the folder.
  Json draw_wirings(const std::vector<Json>& records) const {
    Json files = Json::array();
    for (const Drawing& drawing : wiring_drawings(plan_, records, registry_)) {
      files.push_back("wiring/" + drawing.name + ".svg");
      folder_.make("wiring");
      write_file(folder_.file(files.back()), drawing.svg);
    }
    return files;
  }
  static std::string text_of(const Json& json) { return dump_json(json, 1) + "\n"; }

  /// What `kernbench report` and `kernbench plot` show: the table, and what to draw of it.
  Json description(const std::vector<Json>& records) const {
    Json fixed = Json::object(), plots = Json::array(), compare = Json::array(), rows = Json::array();
    for (const auto& [name, value] : plan_.fixed) fixed[name] = value;
    for (const Plot& plot : plan_.plots) plots.push_back(plot_json(plot));
    for (const Curve& curve : options_.compare)
      compare.push_back({{"name", curve.name}, {"points", curve.points}});
    for (const Json& record : records) rows.push_back(row_json(record));
    return {{"version", 1},
            {"sweep", plan_.source},
            {"bench", plan_.bench},
            {"machine", plan_.machine},
            {"set", std::move(fixed)},
            {"verify", plan_.verify},
            {"points", plan_.points.size()},
            {"names", plan_.names},
            {"columns", plan_.columns},
            {"plots", std::move(plots)},
            {"harness", plan_.harness.empty() ? Json() : Json(plan_.harness)},
            {"compare", std::move(compare)},
            {"rows", std::move(rows)}};
  }
  static Json plot_json(const Plot& plot) {
    Json only = Json::object();
    for (const auto& [name, value] : plot.only) only[name] = value;
    return {{"name", plot.name},   {"title", plot.title}, {"x", plot.x},         {"y", plot.y},
            {"lines", plot.lines}, {"only", only},        {"log_x", plot.log_x}, {"log_y", plot.log_y}};
  }
  /// Values of names, `ok`, columns, `error`: as in the CSV, with their types.
  Json row_json(const Json& record) const {
    Json row = Json::array();
    for (const std::string& name : plan_.names) row.push_back(record["values"][name]);
    row.push_back(record["ok"]);
    for (const std::string& column : plan_.columns) row.push_back(value_at(record["run"], column));
    row.push_back(record["error"]);
    return row;
  }

  const Plan& plan_;
  const Registry& registry_;
  const SweepOptions& options_;
  Folder folder_;
  std::vector<std::string> keys_;    // of the plan's points
  std::vector<std::size_t> to_run_;  // points, in the order in which they are given out
  std::size_t given_ = 0;
  bool stopped_ = false;
  SweepOutcome outcome_;
};

}  // namespace

std::string csv_of(const Plan& plan, const std::vector<Json>& records) {
  std::string csv;
  for (const std::string& name : plan.names) csv += csv_field(name) + ",";
  csv += "ok";
  for (const std::string& column : plan.columns) csv += "," + csv_field(column);
  csv += ",error\n";
  for (const Json& record : records) csv += row_of(plan, record);
  return csv;
}

Work work_of(const Plan& plan, const Registry& registry) {
  return [&plan, &registry, keys = std::make_shared<Keys>(plan)](std::size_t i) {
    return run_point(plan, plan.points[i], keys->of(plan.points[i]), registry);
  };
}

SweepOutcome run_sweep(const Plan& plan, const std::string& folder, const Registry& registry,
                       const SweepOptions& options) {
  return SweepRun(plan, folder, registry, options).run();
}

}  // namespace kernbench::sweep
