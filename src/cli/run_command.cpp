// `kernbench run --bench NAME [option=value …]`
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file.hpp"
#include "base/new_file.hpp"
#include "base/text.hpp"
#include "bench/run_json.hpp"
#include "cli/command.hpp"
#include "cli/interrupt.hpp"
#include "cli/json_option.hpp"
#include "cli/output_files.hpp"
#include "cli/progress.hpp"
#include "cli/run_text.hpp"
#include "cli/trace_text.hpp"
#include "cli/value_check.hpp"
#include "kernbench/error.hpp"
#include "kernbench/torch.hpp"
#include "report/html.hpp"
#include "report/save.hpp"
#include "report/shell_word.hpp"

namespace kernbench::cli {
namespace {

struct RunCommand {
  MachineChoice machine;
  std::string bench;
  std::vector<std::string> words;  // option=value
  std::string beside;
  std::string device = "all";
  bool verify = false;
  bool hazards = false;
  bool strict = false;
  int threads = 0;
  bool packets = false;
  bool no_skip = false;
  std::string log = "memory";
  std::string json;
  std::string save;
  std::uint64_t save_ops = 0;  // 0: all
  std::string trace;
  std::string page;  // of the run, in HTML
  report::TraceOptions trace_options;
  bool quiet = false;

  bool json_to_stdout() const { return json == "-"; }
};

/// 3 where a bound was beaten: that is our fault, not the program's.
int exit_code(const bench::RunResult& result) {
  if (!result.beaten_bounds().empty()) return 3;
  return result.ok() ? 0 : 1;
}

/// A pipe is waited for until somebody opens it to read, or the user has enough.
void write_json_file(const std::string& path, const std::string& text, const InterruptFlag& interrupt) try {
  write_file(path, text);
} catch (const InputError&) {
  if (!interrupt.flag()) throw;
  throw runtime::Interrupted({"cli.interrupted", shown_path(path), "was not written: interrupted", ""});
}

void write_result(const RunCommand& command, const bench::RunResult& result, const InterruptFlag& interrupt) {
  if (!command.json.empty()) {
    const std::string text = json_text(to_json(result));
    if (command.json_to_stdout()) return write_stdout(text);
    write_json_file(command.json, text, interrupt);
  }
  write_stdout(run_headline(result) + (command.quiet ? "" : "\n" + run_summary(result)));
}

/// What makes the same run again. `ccl` is where its collectives came from: of a file of the current folder too.
report::RunRecipe recipe_of(const RunCommand& command, const std::string& ccl_source) {
  const std::string ccl = ccl_source == "default ccl.yaml" ? "default" : ccl_source;
  std::string text = fmt::format("kernbench run --bench {}", report::shell_word(command.bench));
  for (const std::string& word : command.words) text += " " + report::shell_word(word);
  if (command.machine.file != "default") text += " --topology " + report::shell_word(command.machine.file);
  for (const std::string& one : command.machine.overrides) text += " --set " + report::shell_word(one);
  if (ccl != "default") text += " --ccl " + report::shell_word(ccl);
  if (command.device != "all") text += " --device " + report::shell_word(command.device);
  if (command.verify) text += " --verify-data";
  if (command.hazards) text += " --hazards";
  if (command.strict) text += " --strict";
  return {text, ccl, command.machine.ccl_overrides(), command.verify};
}

/// A saved run that nobody asked for, which goes when the trace or the page has been made of it.
class PassingFile {
 public:
  explicit PassingFile(const std::string& beside) : path_(fmt::format("{}.{}.db", beside, ::getpid())) {}
  ~PassingFile() { ::unlink(path_.c_str()); }
  PassingFile(const PassingFile&) = delete;
  PassingFile& operator=(const PassingFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

/// Keeps the run as a file, as trace events, as a page. What there is to say of it.
std::string keep_result(const Session& session, const RunCommand& command, Torch& torch,
                        const bench::RunResult& result, const std::atomic<bool>& interrupt) {
  const std::uint64_t most = command.save_ops == 0 ? UINT64_MAX : command.save_ops;
  const PassingFile passing(command.trace.empty() ? command.page : command.trace);
  const std::string& path = command.save.empty() ? passing.path() : command.save;
  report::save(result, torch, recipe_of(command, result.ccl), path,
               {.most_ops = most, .interrupt = &interrupt});
  std::string kept;
  if (!command.trace.empty())
    kept += trace_text(command.trace,
                       report::write_trace(SavedRun::open(path), command.trace, command.trace_options));
  if (!command.page.empty()) {
    const std::vector<std::string> names(command.save.empty() ? 1 : 0, command.bench);
    write_file(command.page, report::html_page({SavedRun::open(path)}, session.registry.components, names));
    kept += fmt::format("{}: a page about this run; open it in a browser\n", command.page);
  }
  return kept;
}

/// What needs records is refused before anything runs.
runtime::LogStorage log_storage(const RunCommand& command) {
  if (command.log == "memory") return runtime::LogStorage::memory;
  if (command.log == "disk") return runtime::LogStorage::disk;
  for (const auto& [given, option] :
       {std::pair(command.verify, "--verify-data"), std::pair(command.strict, "--strict"),
        std::pair(command.hazards, "--hazards"), std::pair(!command.save.empty(), "--save"),
        std::pair(!command.trace.empty(), "--trace"), std::pair(!command.page.empty(), "--report")})
    if (given)
      throw InputError({"cli.no-log", "--log none", fmt::format("{} needs the records of the run", option),
                        "use --log disk where memory is short"});
  return runtime::LogStorage::none;
}

/// The first words of many: `kernbench run`, `kernbench run matmul-composite`.
void check_bench_is_given(const Session& session, const RunCommand& command) {
  if (!command.bench.empty()) return;
  const bool is_bench = !command.words.empty() && session.registry.benches.find(command.words.front());
  throw InputError({"cli.usage", "", "'kernbench run' needs a bench",
                    is_bench ? fmt::format("kernbench run --bench {}", command.words.front())
                             : fmt::format("--bench NAME, one of {}; 'kernbench run --help' explains",
                                           join(session.registry.benches.names()))});
}

/// `--set n_elem=4`: what the bench calls an option is no value of the machine.
void check_set_is_no_option(const MachineChoice& machine, const Bench& bench) {
  for (const std::string& text : machine.overrides) {
    const std::size_t equals = text.find('=');
    const std::string key = text.substr(0, equals);
    const auto is_key = [&](const Param& option) { return option.name == key; };
    if (equals == text.npos || std::ranges::none_of(bench.options, is_key)) continue;
    throw InputError({"cli.set", "--set " + shown(text), fmt::format("the machine has no {}", quote(key)),
                      fmt::format("{} is an option of the bench: write {} without --set", key, shown(text))});
  }
}

int run_bench_command(const Session& session, const RunCommand& command) {
  check_bench_is_given(session, command);
  const Bench& bench = session.registry.benches.at(command.bench);
  std::vector<std::string> words = command.words;
  if (!command.beside.empty()) words.push_back("beside=" + command.beside);
  const Options options = bench.read_options(words);
  check_set_is_no_option(command.machine, bench);
  const topology::Machine machine = command.machine.load(session.registry);
  const auto device = DeviceSelector::parse(command.device);
  device.sips(machine);
  check_files_differ(std::vector<OutputFile>{{"--json", command.json},
                                             {"--save", command.save},
                                             {"--trace", command.trace},
                                             {"--report", command.page}});
  if (!command.json.empty() && !command.json_to_stdout()) check_writable(command.json);
  if (!command.save.empty()) report::check_place(command.save);
  if (!command.trace.empty()) check_writable(command.trace);
  if (!command.page.empty()) check_writable(command.page);
  const InterruptFlag interrupt;
  const bool talks = !command.quiet && !command.json_to_stdout();
  std::string kept;
  std::function<void(Torch&, const bench::RunResult&)> finished;
  if (!command.save.empty() || !command.trace.empty() || !command.page.empty())
    finished = [&](Torch& torch, const bench::RunResult& run) {
      kept = keep_result(session, command, torch, run, interrupt.flag());
      if (talks && !run.failure.empty()) write_stdout(kept);  // the failure is thrown next
    };
  bench::RunResult result = [&] {
    ProgressDisplay display(command.quiet ? ProgressDisplay::Kind::none : ProgressDisplay::kind_for_stderr());
    return bench::run(bench, options, machine,
                      {.device = device,
                       .ccl = command.machine.ccl_file,
                       .collectives = &session.registry.collectives,
                       .ccl_overrides = command.machine.ccl_overrides(),
                       .verify = command.verify,
                       .hazards = command.hazards,
                       .strict = command.strict,
                       .threads = command.threads,
                       .packets = command.packets,
                       .skip = !command.no_skip,
                       .log = log_storage(command),
                       .interrupt = &interrupt.flag(),
                       .progress = [&](const bench::RunProgress& progress) { display.show(progress); },
                       .finished = finished});
  }();
  if (command.threads > 1 && result.wall.threads_missing > 0)
    write_stderr(
        fmt::format("kernbench: note: {} of {} threads could not be started; the result is the same\n",
                    result.wall.threads_missing, command.threads));
  write_result(command, result, interrupt);
  if (talks && !kept.empty()) write_stdout("\n" + kept);
  return exit_code(result);
}

void declare(CLI::App& command, RunCommand& options, const Session& session) {
  command
      .add_option("--bench", options.bench,
                  fmt::format("What to run: {}", join(session.registry.benches.names())))
      ->type_name("NAME");
  command
      .add_option("option", options.words, "Options of the bench as option=value; 'describe NAME' lists them")
      ->type_name("option=value");
  options.machine.declare_option(command);
  options.machine.declare_ccl(command);
  command
      .add_option(
          "--beside", options.beside,
          "Set measured times beside the simulated ones: h200, or a CSV file. For benches with that option")
      ->type_name("BASELINE");
  command.add_option("--device", options.device, "The SIPs it may use: all, or sip:N")
      ->type_name("all|sip:N")
      ->capture_default_str();
  command.add_flag("--verify-data", options.verify, "Compute the numbers and compare them with a reference");
  command.add_flag(
      "--hazards", options.hazards,
      "Look for races that hardware would not forgive; --verify-data and --strict do so too. Needs "
      "the log, so not with --log none; adds about 70 bytes a record");
  command.add_flag("--strict", options.strict, "Let hazards fail the run");
  check_value(command.add_option("--threads", options.threads,
                                 "Threads to use; 0 or left out: one per core, where they pay. The result is "
                                 "the same"),
              whole_number(0, 1024, "0: one per core"))
      ->type_name("N");
  command.add_flag("--packets", options.packets,
                   "Move every packet by itself instead of in trains; add --no-skip to simulate repeats too. "
                   "For checking: slower, same result");
  command.add_flag(
      "--no-skip", options.no_skip,
      "Simulate also what comes again in the same state, instead of taking it over. For checking: "
      "slower, same result");
  check_value(
      command.add_option(
          "--log", options.log,
          "Where the records of the run are kept: in memory (unless told), on disk (nameless files in "
          "this folder), or not at all: then there is no critical path, and what needs records is "
          "refused"),
      one_of({"memory", "disk", "none"}))
      ->type_name("memory|disk|none");
  declare_json(command, options.json, "Write the result for programs");
  check_value(command.add_option(
                  "--save", options.save,
                  "Keep everything the run did in a file (SQLite), for explain, trace, diff and report"),
              name_of_a_file())
      ->type_name("FILE");
  check_value(
      command.add_option("--save-ops", options.save_ops,
                         "Keep at most about N operations: those of the first, the last and every k-th "
                         "launch"),
      whole_number(1))
      ->type_name("N");
  check_value(command.add_option("--trace", options.trace,
                                 "Write the run as trace events, for Perfetto; compressed if it ends in .gz"),
              name_of_a_file())
      ->type_name("FILE");
  check_value(command.add_option("--trace-ops", options.trace_options.most_ops,
                                 fmt::format("Operations to show there at most, those of the critical path "
                                             "first; left out: {}",
                                             options.trace_options.most_ops)),
              whole_number(1))
      ->type_name("N");
  check_value(
      command.add_option("--report", options.page, "Write a page about the run that works offline (HTML)"),
      name_of_a_file())
      ->type_name("FILE");
  command.add_flag("--quiet", options.quiet, "Print only what the bench itself says");
}

}  // namespace

void add_run_command(CLI::App& app, Session& session) {
  CLI::App* command =
      app.add_subcommand("run", "Run a bench on a machine: times, utilisation, critical path");
  const auto options = std::make_shared<RunCommand>();
  declare(*command, *options, session);
  command->callback([&session, options] {
    session.action = [&session, options] { return run_bench_command(session, *options); };
  });
}

}  // namespace kernbench::cli
