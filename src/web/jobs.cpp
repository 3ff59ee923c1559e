#include "web/jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

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
        !std::filesystem::exists(path))
      return path.string();
}

}  // namespace

struct Jobs::Job {
  int id = 0;
  JobRequest request;
  Options options;
  topology::Machine machine;
  std::atomic<bool> interrupt = false;
  // What follows is guarded by Jobs::mutex_.
  std::string state = "waiting";
  std::optional<bench::RunProgress> progress;
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
  if (progress)
    out["progress"] = {{"done", progress->done},
                       {"submitted", progress->submitted},
                       {"current", progress->current},
                       {"now_ps", progress->now.ps()},
                       {"events", progress->events}};
  if (!failure.empty()) out["failure"] = failure;
  if (!line.empty()) out["line"] = line;
  if (run > 0) out["run"] = run;
  return out;
}

Jobs::Jobs(const Registry& registry, std::string folder, std::function<int(const std::string&)> saved)
    : registry_(registry),
      folder_(std::move(folder)),
      saved_(std::move(saved)),
      worker_([this] { work(); }) {}

Jobs::~Jobs() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    for (const auto& job : jobs_) job->interrupt = true;
  }
  changed_.notify_all();
  worker_.join();
}

int Jobs::submit(const JobRequest& request) {
  const auto job = std::make_shared<Job>();
  job->request = request;
  job->options = registry_.benches.at(request.bench).read_options(request.words);
  job->machine = topology::load_machine(request.machine, overrides_of(request, false), registry_.components);
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
  job.interrupt = true;
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
      return *job;
    }
    changed_.wait(lock);
  }
}

void Jobs::run(Job& job) {
  std::string state = "done", failure;
  try {
    bench::RunOptions how;
    how.collectives = &registry_.collectives;
    how.ccl_overrides = overrides_of(job.request, true);
    how.verify = job.request.verify;
    how.hazards = job.request.hazards;
    how.interrupt = &job.interrupt;
    how.progress = [&](const bench::RunProgress& progress) { note_progress(job, progress); };
    how.finished = [&](Torch& torch, const bench::RunResult& result) { save(job, torch, result); };
    const auto result = bench::run(registry_.benches.at(job.request.bench), job.options, job.machine, how);
    if (!result.ok()) state = "failed", failure = "a check failed; the report says which";
  } catch (const std::exception& error) {
    state = job.interrupt ? "stopped" : "failed";
    failure = error.what();
  }
  const std::lock_guard lock(mutex_);
  job.state = state;
  job.failure = failure;
  job.end = Clock::now();
}

void Jobs::note_progress(Job& job, const bench::RunProgress& progress) {
  const std::lock_guard lock(mutex_);
  job.progress = progress;
}

void Jobs::save(Job& job, Torch& torch, const bench::RunResult& result) {
  const std::string path = free_path(folder_, job.request.bench);
  report::save(result, torch,
               {.command = command_of(job.request),
                .ccl = result.ccl,
                .ccl_overrides = overrides_of(job.request, true),
                .verify = job.request.verify},
               path, {.most_ops = kMostOps, .interrupt = &job.interrupt});
  const int number = saved_(path);
  const std::lock_guard lock(mutex_);
  job.run = number;
  job.line = result.report.text();
}

}  // namespace kernbench::web
