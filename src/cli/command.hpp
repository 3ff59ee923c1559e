// How a command joins the command line: one `add_…` function per command, one file each, one line in
// cli_main.cpp. It declares its words and options and leaves in `session.action` what is to be done once all
// of them are read.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernbench/bench.hpp"
#include "kernbench/machine.hpp"

namespace CLI {
class App;
}

namespace kernbench::cli {

struct Session {
  Registry& registry;
  std::string program;          // the name it was called by
  std::function<int()> action;  // returns the exit code
};

void add_run_command(CLI::App& app, Session& session);
void add_explain_command(CLI::App& app, Session& session);
void add_diff_command(CLI::App& app, Session& session);
void add_trace_command(CLI::App& app, Session& session);
void add_topology_command(CLI::App& app, Session& session);
void add_list_command(CLI::App& app, Session& session);
/// What `list` lists: `benches`, …
std::vector<std::string> list_names();
void add_describe_command(CLI::App& app, Session& session);
void add_ccl_command(CLI::App& app, Session& session);
void add_report_command(CLI::App& app, Session& session);
void add_sweep_command(CLI::App& app, Session& session);
/// The sweeps that ship.
std::vector<std::string> sweep_names();
void add_web_command(CLI::App& app, Session& session);
void add_probe_command(CLI::App& app, Session& session);
void add_completion_command(CLI::App& app, Session& session);
void add_version_command(CLI::App& app, Session& session);
/// Hidden: what the scripts of `completion` ask.
void add_complete_command(CLI::App& app, Session& session);

/// The machine a command works on: `[F] [--set KEY=VALUE …]`, or `[--topology F] [--set KEY=VALUE …]`.
struct MachineChoice {
  std::string file = "default";
  std::vector<std::string> overrides;

  void declare(CLI::App& command);
  void declare_option(CLI::App& command);
  topology::Machine load(const Registry& registry) const;

  /// `[--ccl F]`, and overrides with the prefix `ccl.`.
  void declare_ccl(CLI::App& command);
  std::string ccl_file;
  std::vector<std::string> ccl_overrides() const;

 private:
  void declare_as(CLI::App& command, const char* name);
  std::vector<std::string> overrides_of(bool ccl) const;
  bool has_ccl_ = false;
};

}  // namespace kernbench::cli
