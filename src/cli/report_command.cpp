// `kernbench report RUN… -o report.html`
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/file.hpp"
#include "base/new_file.hpp"
#include "cli/command.hpp"
#include "kernbench/error.hpp"
#include "kernbench/saved_run.hpp"
#include "report/html.hpp"

namespace kernbench::cli {
namespace {

struct ReportCommand {
  std::vector<std::string> runs;
  std::string out;
};

/// A sweep's page lies in its folder unless told otherwise.
int write_sweep_page(const ReportCommand& command) {
  const std::string& folder = command.runs.front();
  if (command.runs.size() > 1)
    throw InputError({"cli.usage", "report", "a sweep is shown by itself", "kernbench report " + folder});
  const std::string out = command.out.empty() ? folder + "/report.html" : command.out;
  check_writable(out);
  const std::string page = report::sweep_page(folder);
  write_file(out, page);
  write_stdout(fmt::format("{}: a sweep, {} kB; open it in a browser\n", out, (page.size() + 999) / 1000));
  return 0;
}

int write_report_command(const Session& session, ReportCommand command) {
  if (std::ranges::any_of(command.runs, [](const auto& run) { return std::filesystem::is_directory(run); }))
    return write_sweep_page(command);
  if (command.out.empty()) command.out = "report.html";
  check_writable(command.out);
  std::vector<SavedRun> runs;
  for (const std::string& path : command.runs) runs.push_back(SavedRun::open(path));
  const std::string page = report::html_page(runs, session.registry.components);
  write_file(command.out, page);
  write_stdout(fmt::format("{}: {} {}, {} kB; open it in a browser\n", command.out, runs.size(),
                           runs.size() == 1 ? "run" : "runs", (page.size() + 999) / 1000));
  return 0;
}

}  // namespace

void add_report_command(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand(
      "report", "Show saved runs, several side by side, or a sweep as a page that works offline");
  const auto options = std::make_shared<ReportCommand>();
  command->add_option("run", options->runs, "Files that 'run --save' wrote, or the folder of a sweep")
      ->type_name("RUN")
      ->required();
  command
      ->add_option("-o,--output", options->out,
                   "The page to write; report.html if not given, of a sweep in its folder")
      ->type_name("FILE");
  command->callback([&session, options] {
    session.action = [&session, options] { return write_report_command(session, *options); };
  });
}

}  // namespace kernbench::cli
