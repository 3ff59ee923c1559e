#include "web/jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "bench/run.hpp"
#include "kernbench/error.hpp"
#include "report/save.hpp"
#include "report/shell_word.hpp"

namespace kernbench::web {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostWaiting = 16;
constexpr std::size_t kMostRemembered = 200;
constexpr std::uint64_t kMostOps = 5'000'000;  // that a file keeps

std::vector<std::string> overrides_of(const JobRequest& request, bool ccl) {
  std::vector<std::string> found;
  for (const std::string& one : request.overrides)
    if (one.starts_with("ccl.") == ccl) found.push_back(one);
  return found;
}

/// What makes the same run in a terminal.
std::string command_of(const JobRequest& request) {
  std::string text = "kernbench run --bench " + report::shell_word(request.bench);
  for (const std::string& word : request.words) text += " " + report::shell_word(word);
  if (request.machine != "default") text += " --topology " + report::shell_word(request.machine);
  for (const std::string& one : request.overrides) text += " --set " + report::shell_word(one);
  if (request.verify) text += " --verify-data";
  if (request.hazards) text += " --hazards";
  return text;
}

/// A name that no file has: earlier runs stay.
std::string free_path(const std::string& folder, const std::string& bench) {
  for (int i = 1;; ++i)
    if (const auto path = std::filesystem::path(folder) / fmt::format("{}-{:03}.db", bench, i);
        !std::filesystem::exists(std::filesystem::symlink_status(path)))
      return path.string();
}

/// The options of a bench as a request may give them: files that are read lie in what the server was given, and no file is
/// written but the saved run.
Options confined_options(const Bench& bench, const std::vector<std::string>& words,
                         const GivenFiles& readable) {
  Options options = bench.read_options(words);
  for (const Param& param : bench.options) {
    if (param.file == Param::File::none) continue;
    const std::string& name = options.text(param.name);
    const bool is_given = name != std::get<std::string>(param.fallback);
    if (param.file == Param::File::written && is_given && !name.empty())
      throw InputError({"web.file", fmt::format("{}={}", param.name, name),
                        fmt::format("'{}' names a file to write; runs from a browser write none", param.name),
                        "leave it out, or run the bench in a terminal"});
    if (param.file == Param::File::read && !name.empty() &&
        std::ranges::find(param.choices, name) == param.choices.end())
      options.set(param.name, readable.path(name));
  }
  options.drop_output_files();
  return options;
}

/// Collectives of a request are named as they are registered, never by the path of a module or file.
void check_ccl_names(const std::vector<std::string>& overrides) {
  for (const std::string& one : overrides) {
    const std::size_t equals = std::min(one.find('='), one.size());
    const std::string_view key = std::string_view(one).substr(0, equals),
                           value = std::string_view(one).substr(equals);
    const bool names_code = key.ends_with(".module") || key.ends_with(".mapper") ||
                            key.ends_with(".validator") || key.ends_with(".topology");
    if (names_code && value.find_first_of("./:\\") != value.npos)
      throw InputError({"web.name", one, "a run from a browser names no modules or files",
                        "give the plain name, as 'kernbench list' shows it"});
  }
}

Json request_json(const JobRequest& request, const std::string& path) {
  return {{"bench", request.bench},
          {"words", request.words},
          {"machine", request.machine},
          {"set", request.overrides},
          {"verify", request.verify},
          {"hazards", request.hazards},
          {"path", path}};
}

JobRequest request_of(const Json& json) {
  return {json.at("bench"), json.at("words"),  json.at("machine"),
          json.at("set"),   json.at("verify"), json.at("hazards")};
}

/// The text, cut so that a message can hold two of them.
std::string shortened(const std::string& text) {
  constexpr std::size_t kLongestText = 16 << 10;
  return text.size() <= kLongestText ? text : text.substr(0, kLongestText) + " …";
}

/// One run, in its own process: `say` gets {progress}, {saved, line} and {failure}, as they come about.
void run_job(const Registry& registry, const JobsOptions& options, const Json& asked,
             const RunProcess::Say& say) {
  const JobRequest request = request_of(asked);
  const auto tell = [&](const Json& json) { say(dump_json(json)); };
  bench::RunOptions how;
  how.collectives = &registry.collectives;
  how.ccl_overrides = overrides_of(request, true);
  how.verify = request.verify;
  how.hazards = request.hazards;
  how.progress = [&](const bench::RunProgress& progress) {
    tell({{"progress",
           {{"done", progress.done},
            {"submitted", progress.submitted},
            {"current", shortened(progress.current)},
            {"now_ps", progress.now.ps()},
            {"events", progress.events}}}});
  };
  how.finished = [&](Torch& torch, const bench::RunResult& result) {
    report::save(result, torch,
                 {.command = command_of(request),
                  .ccl = result.ccl,
                  .ccl_overrides = overrides_of(request, true),
                  .verify = request.verify},
                 asked.at("path"), {.most_ops = kMostOps});
    tell({{"saved", true}, {"line", shortened(result.report.text())}});
  };
  try {
    const Bench& bench = registry.benches.at(request.bench);
    const auto machine =
        topology::load_machine(request.machine, overrides_of(request, false), registry.components);
    const auto result =
        bench::run(bench, confined_options(bench, request.words, options.readable), machine, how);
    if (!result.ok()) tell({{"failure", "a check failed; the report says which"}});
  } catch (const std::exception& error) {
    tell({{"failure", shortened(error.what())}});
  }
}

}  // namespace

struct Jobs::Job {
  int id = 0;
  JobRequest request;
  std::string path;  // where it is saved
  // What follows is guarded by Jobs::mutex_.
  std::string state = "waiting";
  bool stopping = false;
  Json progress;
  Clock::time_point begin, end;
  std::string failure, line;
  int run = 0;  // number of the saved run; 0: none

  bool over() const { return state != "waiting" && state != "running"; }
  Json json() const;
};

Json Jobs::Job::json() const {
  const auto until = over() ? end : Clock::now();
  Json out = {{"id", id}, {"bench", request.bench}, {"command", command_of(request)}, {"state", state}};
  if (begin != Clock::time_point()) out["seconds"] = std::chrono::duration<double>(until - begin).count();
  if (!progress.is_null()) out["progress"] = progress;
  if (!failure.empty()) out["failure"] = failure;
  if (!line.empty()) out["line"] = line;
  if (run > 0) out["run"] = run;
  return out;
}

Jobs::Jobs(const Registry& registry, JobsOptions options, std::function<int(const std::string&)> saved)
    : registry_(registry),
      options_(std::move(options)),
      saved_(std::move(saved)),
      process_([this](const std::string& request, const RunProcess::Say& say) {
        run_job(registry_, options_, parse_json(request), say);
      }),
      worker_([this] { work(); }) {}

Jobs::~Jobs() {
  close();
  worker_.join();
}

void Jobs::close() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  process_.end();
}

int Jobs::submit(const JobRequest& request) {
  const auto job = std::make_shared<Job>();
  job->request = request;
  const Bench& bench = registry_.benches.at(request.bench);
  job->request.bench = bench.name;
  confined_options(bench, request.words, options_.readable);
  check_ccl_names(overrides_of(request, true));
  topology::load_machine(request.machine, overrides_of(request, false), registry_.components);
  const std::lock_guard lock(mutex_);
  const auto waiting = std::ranges::count(jobs_, "waiting", [](const auto& one) { return one->state; });
  if (static_cast<std::size_t>(waiting) >= kMostWaiting)
    throw InputError(
        {"web.busy", "", fmt::format("{} runs are waiting already", waiting), "stop some, or wait"});
  job->id = jobs_.empty() ? 1 : jobs_.back()->id + 1;
  jobs_.push_back(job);
  if (jobs_.size() > kMostRemembered && jobs_.front()->over()) jobs_.erase(jobs_.begin());
  changed_.notify_all();
  return job->id;
}

Jobs::Job& Jobs::at(int id) const {
  const auto job = std::ranges::find(jobs_, id, [](const auto& one) { return one->id; });
  if (job == jobs_.end())
    throw InputError({"web.no-job", fmt::format("job {}", id), "there is no such job", ""});
  return **job;
}

Json Jobs::json(int id) const {
  const std::lock_guard lock(mutex_);
  return at(id).json();
}

Json Jobs::all() const {
  const std::lock_guard lock(mutex_);
  Json list = Json::array();
  for (const auto& job : jobs_) list.push_back(job->json());
  return list;
}

void Jobs::stop(int id) {
  const std::lock_guard lock(mutex_);
  Job& job = at(id);
  job.stopping = true;
  if (job.state == "waiting") job.state = "stopped";
}

void Jobs::work() {
  while (const auto job = next()) run(*job);
}

std::shared_ptr<Jobs::Job> Jobs::next() {
  std::unique_lock lock(mutex_);
  while (true) {
    if (closing_) return nullptr;
    const auto job = std::ranges::find(jobs_, "waiting", [](const auto& one) { return one->state; });
    if (job != jobs_.end()) {
      (*job)->state = "running";
      (*job)->begin = Clock::now();
      (*job)->path = free_path(options_.folder, (*job)->request.bench);
      return *job;
    }
    changed_.wait(lock);
  }
}

void Jobs::run(Job& job) {
  bool too_long = false;
  const auto stop = [&] {
    const std::lock_guard lock(mutex_);
    too_long = options_.limit_s > 0 && Clock::now() - job.begin > std::chrono::seconds(options_.limit_s);
    return job.stopping || too_long || closing_;
  };
  std::string how;
  try {
    how = process_.run(
        dump_json(request_json(job.request, job.path)),
        [&](const std::string& message) { hear(job, message); }, stop);
  } catch (const std::exception& error) {
    how = error.what();
  }
  const std::lock_guard lock(mutex_);
  job.end = Clock::now();
  if (job.failure.empty() && !how.empty()) job.failure = how;
  job.state = job.failure.empty() ? "done" : "failed";
  if (how.empty()) return;  // by itself: it was over before anybody could stop it
  if (job.stopping) job.state = "stopped", job.failure = "the run was stopped";
  if (too_long)
    job.state = "stopped",
    job.failure = fmt::format("the run was ended after {} s (--run-limit)", options_.limit_s);
}

void Jobs::hear(Job& job, const std::string& message) {
  Json said = parse_json(message);
  const int number = said.contains("saved") ? saved_(job.path) : 0;
  const std::lock_guard lock(mutex_);
  if (said.contains("progress")) job.progress = std::move(said["progress"]);
  if (said.contains("line")) job.line = said["line"];
  if (said.contains("failure")) job.failure = said["failure"];
  if (number > 0) job.run = number;
}

}  // namespace kernbench::web
