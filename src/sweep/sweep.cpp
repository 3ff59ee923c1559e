#include "sweep/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/file.hpp"
#include "sweep/point_run.hpp"
#include "sweep/workers.hpp"

namespace kernbench::sweep {
namespace {

using Json = nlohmann::ordered_json;

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == text.npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string csv_text(const Json& value) {
  if (value.is_null()) return "";
  return csv_field(value.is_string() ? value.get<std::string>() : value.dump());
}

std::string row_of(const Plan& plan, const Json& record) {
  std::string row;
  for (const std::string& name : plan.names) row += csv_text(record["values"][name]) + ",";
  row += record["ok"].get<bool>() ? "true" : "false";
  for (const std::string& column : plan.columns) row += "," + csv_text(value_at(record["run"], column));
  return row + "," + csv_text(record["error"]) + "\n";
}

/// The values of a point as text, which a new program or machine does not change: how long it took before.
std::string values_key(const Json& values) { return values.dump(); }

class SweepRun {
 public:
  SweepRun(const Plan& plan, const std::string& path, const Registry& registry, const SweepOptions& options)
      : plan_(plan), registry_(registry), options_(options), folder_(path) {
    Keys keys(plan, registry);
    for (const Point& point : plan.points) keys_.push_back(keys.of(point));
  }

  SweepOutcome run() {
    outcome_.points = plan_.points.size();
    for (std::size_t i = 0; i < keys_.size(); ++i)
      if (!folder_.lines().contains(keys_[i])) to_run_.push_back(i);
    outcome_.known = keys_.size() - to_run_.size();
    put_longest_first();
    if (!to_run_.empty()) run_all();
    write_results();
    return outcome_;
  }

 private:
  void put_longest_first() {
    std::map<std::string, double> seconds;
    for (const auto& [key, line] : folder_.lines()) {
      const Json record = Json::parse(line);
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
          jobs, [this](std::size_t i) { return run_point(plan_, plan_.points[i], keys_[i], registry_); },
          [this] { folder_.leave(); });
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
    const bool ok = Json::parse(line)["ok"].get<bool>();
    if (!ok && options_.fail_fast) stopped_ = true;
    if (options_.progress) options_.progress(outcome_.run, to_run_.size(), ok);
  }

  void write_results() {
    std::vector<std::string> lines;
    for (const std::string& key : keys_) {
      const auto found = folder_.lines().find(key);
      if (found == folder_.lines().end()) continue;
      lines.push_back(found->second);
      if (!Json::parse(found->second)["ok"].get<bool>()) ++outcome_.failed;
    }
    write_file(folder_.file("results.csv"), csv_of(plan_, lines));
    write_file(folder_.file("sweep.json"), description().dump(2) + "\n");
  }

  /// What `kernbench plot` needs to know beside the rows.
  Json description() const {
    Json out = {{"sweep", plan_.source}, {"bench", plan_.bench},     {"machine", plan_.machine},
                {"names", plan_.names},  {"columns", plan_.columns}, {"plot", nullptr}};
    if (plan_.plot)
      out["plot"] = {{"x", plan_.plot->x},
                     {"y", plan_.plot->y},
                     {"lines", plan_.plot->lines},
                     {"log_x", plan_.plot->log_x},
                     {"log_y", plan_.plot->log_y}};
    return out;
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

std::string csv_of(const Plan& plan, const std::vector<std::string>& lines) {
  std::string csv;
  for (const std::string& name : plan.names) csv += csv_field(name) + ",";
  csv += "ok";
  for (const std::string& column : plan.columns) csv += "," + csv_field(column);
  csv += ",error\n";
  for (const std::string& line : lines) csv += row_of(plan, Json::parse(line));
  return csv;
}

Work work_of(const Plan& plan, const Registry& registry) {
  return [&plan, &registry, keys = std::make_shared<Keys>(plan, registry)](std::size_t i) {
    return run_point(plan, plan.points[i], keys->of(plan.points[i]), registry);
  };
}

SweepOutcome run_sweep(const Plan& plan, const std::string& folder, const Registry& registry,
                       const SweepOptions& options) {
  return SweepRun(plan, folder, registry, options).run();
}

}  // namespace kernbench::sweep
