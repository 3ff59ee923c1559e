// Benches that somebody asked for in a browser. They run one after the other, and are saved.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bench/run.hpp"

namespace kernbench::web {

struct JobRequest {
  std::string bench;
  std::vector<std::string> words;      // option=value
  std::string machine;                 // a file, or a shipped one's name
  std::vector<std::string> overrides;  // of the machine, and with `ccl.` of the collectives
  bool verify = false, hazards = false;
};

class Jobs {
 public:
  /// Runs are saved in `folder`; `saved` is told each file and gives it a number.
  Jobs(const Registry& registry, std::string folder, std::function<int(const std::string&)> saved);
  /// What runs is interrupted, what waits never begins.
  ~Jobs();
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  /// Its number. InputError if it cannot be run as it stands, or (`web.busy`) too many wait.
  int submit(const JobRequest& request);
  /// {id, bench, state, …}: `waiting`, `running`, `done`, `failed`, `stopped`. InputError (`web.no-job`).
  nlohmann::ordered_json json(int id) const;
  nlohmann::ordered_json all() const;
  void stop(int id);

 private:
  struct Job;
  void work();
  std::shared_ptr<Job> next();
  void run(Job& job);
  void save(Job& job, Torch& torch, const bench::RunResult& result);
  void note_progress(Job& job, const bench::RunProgress& progress);
  Job& at(int id) const;

  const Registry& registry_;
  const std::string folder_;
  const std::function<int(const std::string&)> saved_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool closing_ = false;
  std::vector<std::shared_ptr<Job>> jobs_;
  std::thread worker_;  // last: it uses all the others
};

}  // namespace kernbench::web
