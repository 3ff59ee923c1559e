// Benches that somebody asked for in a browser. They run one after the other, each in a process of its own, and are saved.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <thread>
#include <vector>

#include "kernbench/bench.hpp"
#include "web/given_files.hpp"
#include "web/run_process.hpp"

namespace kernbench::web {

struct JobRequest {
  std::string bench;
  std::vector<std::string> words;      // option=value
  std::string machine;                 // a file, or a shipped one's name
  std::vector<std::string> overrides;  // of the machine, and with `ccl.` of the collectives
  bool verify = false, hazards = false;
};

struct JobsOptions {
  std::string folder;   // where runs are saved
  int limit_s = 0;      // after which a run is ended; 0: never
  GivenFiles readable;  // what options of benches may name
};

class Jobs {
 public:
  /// `saved` is told the file of each run and gives it a number. No thread may have been started yet (see RunProcess).
  Jobs(const Registry& registry, JobsOptions options, std::function<int(const std::string&)> saved);
  ~Jobs();
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  /// Its number. InputError if it cannot be run as it stands, names a file that it may not (`web.file`), or too many wait
  /// (`web.busy`).
  int submit(const JobRequest& request);
  /// {id, bench, state, …}: `waiting`, `running`, `done`, `failed`, `stopped`. InputError (`web.no-job`).
  nlohmann::ordered_json json(int id) const;
  nlohmann::ordered_json all() const;
  void stop(int id);
  /// Ends what runs, and returns when its process is gone; what waits never begins.
  void close();

 private:
  struct Job;
  void work();
  std::shared_ptr<Job> next();
  void run(Job& job);
  void hear(Job& job, const std::string& message);
  Job& at(int id) const;

  const Registry& registry_;
  const JobsOptions options_;
  const std::function<int(const std::string&)> saved_;
  RunProcess process_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool closing_ = false;
  std::vector<std::shared_ptr<Job>> jobs_;
  std::thread worker_;  // last: it uses all the others
};

}  // namespace kernbench::web
