// What `kernbench web` answers: a page, and the questions that page asks.
//
//   GET  /                       the page
//   GET  /api/state              machines, benches, runs, sweeps, jobs
//   POST /api/machine            {machine, set: ["key=value", …]} → values, figures, floor plan; or why not
//   POST /api/probe              {machine, set, from, to, op, bytes} → how long from here to there
//   POST /api/run                {bench, options: ["M=64", …], machine, set, verify, hazards} → {job}
//   GET  /api/jobs/N             how far it is          POST /api/jobs/N/stop
//   GET  /report?runs=1,2        the page about saved runs
//   GET  /runs/N.db              a saved run, to keep
//   GET  /sweeps/N               the page about a sweep
//
// Refusals are 4xx with {"error": {id, where, what, hint}}. Runs and machines are named by number and name as `state`
// lists them. Options of a bench that name files to read are confined to what the server was given; those that name files to
// write are refused (Param::File).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernbench/bench.hpp"
#include "web/server.hpp"

namespace kernbench::web {

struct AppOptions {
  std::vector<std::string> given;  // saved runs, folders of them, sweeps, machine files (.yaml, .yml)
  std::string folder;              // where new runs are saved
  int run_limit_s = 0;             // after which a run is ended; 0: never
};

class App {
 public:
  /// InputError if something given is not there, or a machine file is wrong. Make it before there are threads (see
  /// RunProcess).
  App(const Registry& registry, const AppOptions& options);
  ~App();
  App(const App&) = delete;
  App& operator=(const App&) = delete;

  /// May be called from several threads at once.
  Response respond(const Request& request);
  /// Ends what runs, and returns when its process is gone.
  void close();

 private:
  class Content;
  std::unique_ptr<Content> content_;
};

}  // namespace kernbench::web
