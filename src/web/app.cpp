#include "web/app.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/json.hpp"
#include "base/parse.hpp"
#include "bench/conditions.hpp"
#include "kernbench/error.hpp"
#include "kernbench/machine.hpp"
#include "kernbench/saved_run.hpp"
#include "kernbench/version.hpp"
#include "report/html.hpp"
#include "web/given_files.hpp"
#include "web/jobs.hpp"
#include "web/machine_view.hpp"
#include "web/run_list.hpp"
#include "web/sweep_list.hpp"

namespace kernbench::web {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostValues = 500;  // of a list in a request
constexpr std::size_t kMostRuns = 8;      // side by side

/// A request that is no question of ours.
struct BadRequest {
  std::string what;
};

Json parsed(const std::string& body) {
  const Json json = parse_json_or_discard(body);
  if (!json.is_object()) throw BadRequest{"the body is a JSON object"};
  return json;
}

std::string text_of(const Json& json, const char* key, const char* fallback = nullptr) {
  if (!json.contains(key) && fallback != nullptr) return fallback;
  if (!json.contains(key) || !json[key].is_string()) throw BadRequest{fmt::format("'{}' is a text", key)};
  return json[key];
}

bool flag_of(const Json& json, const char* key) {
  if (!json.contains(key)) return false;
  if (!json[key].is_boolean()) throw BadRequest{fmt::format("'{}' is true or false", key)};
  return json[key];
}

std::int64_t integer_of(const Json& json, const char* key) {
  if (!json.contains(key)) return 0;
  if (!json[key].is_number_integer()) throw BadRequest{fmt::format("'{}' is an integer", key)};
  return json[key];
}

std::vector<std::string> texts_of(const Json& json, const char* key) {
  std::vector<std::string> texts;
  if (!json.contains(key)) return texts;
  if (!json[key].is_array() || json[key].size() > kMostValues)
    throw BadRequest{fmt::format("'{}' is a list of at most {} texts", key, kMostValues)};
  for (const Json& one : json[key]) {
    if (!one.is_string()) throw BadRequest{fmt::format("'{}' is a list of texts", key)};
    texts.push_back(one);
  }
  return texts;
}

/// The number between two parts of a path: `/runs/7.db`.
std::optional<int> number_between(std::string_view path, std::string_view before, std::string_view after) {
  if (!path.starts_with(before) || !path.ends_with(after) || path.size() < before.size() + after.size())
    return {};
  return parse_whole<int>(path.substr(before.size(), path.size() - before.size() - after.size()));
}

Response json_response(const Json& json, int status = 200) {
  return {.status = status, .body = dump_json(json)};
}

/// What a person types for a default: a text has no quotes, as in `option=value`.
std::string default_text(const Param& param) {
  if (std::holds_alternative<std::monostate>(param.fallback)) return "";
  const auto* text = std::get_if<std::string>(&param.fallback);
  return text != nullptr ? *text : to_yaml(param.fallback);
}

Json option_json(const Param& param) {
  const char* type = param.type == Param::Type::flag     ? "flag"
                     : param.type == Param::Type::choice ? "choice"
                                                         : "text";
  return {{"name", param.name},       {"type", type},
          {"doc", param.doc},         {"expects", param.expectation()},
          {"choices", param.choices}, {"value", default_text(param)}};
}

Json bench_json(const Bench& bench) {
  Json options = Json::array();
  for (const Param& param : bench::options_with_conditions(bench))
    if (param.file != Param::File::written) options.push_back(option_json(param));
  return {{"name", bench.name}, {"doc", bench.doc}, {"options", std::move(options)}};
}

bool is_machine_file(const std::string& path) { return path.ends_with(".yaml") || path.ends_with(".yml"); }

std::vector<std::string> chosen(const std::vector<std::string>& given, bool machines) {
  std::vector<std::string> found;
  for (const std::string& path : given)
    if (is_machine_file(path) == machines) found.push_back(path);
  return found;
}

int status_of(const std::string& id) {
  if (id == "web.no-run" || id == "web.no-sweep" || id == "web.no-job" || id == "web.no-machine") return 404;
  return id == "web.busy" ? 429 : 422;
}

}  // namespace

class App::Content {
 public:
  Content(const Registry& registry, const AppOptions& options)
      : registry_(registry),
        given_(options.given),
        runs_(chosen(options.given, false)),
        sweeps_(options.given),
        jobs_(registry, {options.folder, options.run_limit_s, given_},
              [this](const std::string& path) { return runs_.add(path); }) {
    for (const std::string& path : chosen(options.given, true)) {
      topology::load_machine(path, {}, registry_.components);
      machines_.push_back(path);
    }
    for (const auto& shipped : topology::shipped_machines()) machines_.push_back(shipped.name);
  }

  Response respond(const Request& request) {
    return request.method == "POST" ? post(request.path, request.body) : get(request);
  }

  void close() { jobs_.close(); }

 private:
  Response get(const Request& request) {
    if (request.path == "/") return {.type = "text/html; charset=utf-8", .body = report::app_page()};
    if (request.path == "/api/state") return json_response(state());
    if (request.path == "/report") return report_page(request);
    if (const auto id = number_between(request.path, "/api/jobs/", "")) return json_response(jobs_.json(*id));
    if (const auto id = number_between(request.path, "/runs/", ".db")) return download(*id);
    if (const auto id = number_between(request.path, "/sweeps/", ""))
      return {.type = "text/html; charset=utf-8", .body = report::sweep_page(sweeps_.path(*id))};
    return nothing();
  }

  Response post(const std::string& path, const std::string& body) {
    const Json json = parsed(body);
    if (path == "/api/machine") return json_response(machine_json(machine_of(json)));
    if (path == "/api/probe") return json_response(probe_of(machine_of(json), probe_request(json)));
    if (path == "/api/run") return json_response({{"job", jobs_.submit(job_request(json))}}, 202);
    if (const auto id = number_between(path, "/api/jobs/", "/stop")) {
      jobs_.stop(*id);
      return json_response(jobs_.json(*id));
    }
    return nothing();
  }

  static Response nothing() {
    return error_response(404, "web.nothing", "there is nothing under this address");
  }

  Json state() {
    Json benches = Json::array();
    for (const Bench& bench : registry_.benches.all()) benches.push_back(bench_json(bench));
    return {{"kernbench", version()}, {"machines", machines_},    {"benches", std::move(benches)},
            {"runs", runs_.json()},   {"sweeps", sweeps_.json()}, {"jobs", jobs_.all()}};
  }

  /// Only those that the page lists.
  std::string machine_name(const Json& json) const {
    const std::string name = text_of(json, "machine", "default");
    if (std::ranges::find(machines_, name) == machines_.end())
      throw InputError({"web.no-machine", name, "this server was not given such a machine",
                        "'kernbench web FILE.yaml' shows a file"});
    if (is_machine_file(name)) given_.path(name);  // refused if it has become a link or a pipe since
    return name;
  }

  topology::Machine machine_of(const Json& json) const {
    return topology::load_machine(machine_name(json), texts_of(json, "set"), registry_.components);
  }

  static ProbeRequest probe_request(const Json& json) {
    return {text_of(json, "from"), text_of(json, "to"), text_of(json, "op", "read"),
            integer_of(json, "bytes")};
  }

  JobRequest job_request(const Json& json) const {
    return {.bench = text_of(json, "bench"),
            .words = texts_of(json, "options"),
            .machine = machine_name(json),
            .overrides = texts_of(json, "set"),
            .verify = flag_of(json, "verify"),
            .hazards = flag_of(json, "hazards")};
  }

  Response report_page(const Request& request) {
    const auto list = request.query.find("runs");
    std::vector<SavedRun> runs;
    std::string_view left = list == request.query.end() ? std::string_view() : list->second;
    while (!left.empty()) {
      const auto comma = std::min(left.find(','), left.size());
      const auto id = parse_whole<int>(left.substr(0, comma));
      if (!id || runs.size() == kMostRuns)
        throw BadRequest{fmt::format("'runs' is 1 to {} numbers with commas between them", kMostRuns)};
      runs.push_back(SavedRun::open(runs_.path(*id)));
      left.remove_prefix(std::min(comma + 1, left.size()));
    }
    if (runs.empty()) throw BadRequest{"'runs' names no run: /report?runs=1"};
    return {.type = "text/html; charset=utf-8", .body = report::html_page(runs, registry_.components)};
  }

  Response download(int id) const {
    const std::string path = runs_.path(id);
    return {.type = "application/vnd.sqlite3", .file = path, .filename = fmt::format("run-{}.db", id)};
  }

  const Registry& registry_;
  std::vector<std::string> machines_;  // those that were given first
  const GivenFiles given_;
  RunList runs_;
  SweepList sweeps_;
  Jobs jobs_;
};

App::App(const Registry& registry, const AppOptions& options)
    : content_(std::make_unique<Content>(registry, options)) {}
App::~App() = default;
void App::close() { content_->close(); }

Response App::respond(const Request& request) try {
  return content_->respond(request);
} catch (const BadRequest& bad) {
  return error_response(400, "web.request", bad.what);
} catch (const InternalError& error) {
  return error_response(500, error.id(), error.message(), error.hint(), error.where());
} catch (const Error& error) {
  return error_response(status_of(error.id()), error.id(), error.message(), error.hint(), error.where());
} catch (const std::exception& error) {
  return error_response(500, "web.internal", error.what());
}

}  // namespace kernbench::web
