// `kernbench report RUN… -o report.html`
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/file.hpp"
#include "base/new_file.hpp"
#include "cli/command.hpp"
#include "kernbench/saved_run.hpp"
#include "report/html.hpp"

namespace kernbench::cli {
namespace {

struct ReportCommand {
  std::vector<std::string> runs;
  std::string out = "report.html";
};

int write_report_command(const Session& session, const ReportCommand& command) {
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
  CLI::App* command =
      app.add_subcommand("report", "Show saved runs as a page that works offline; several side by side");
  const auto options = std::make_shared<ReportCommand>();
  command->add_option("run", options->runs, "Files that 'run --save' wrote")->type_name("RUN")->required();
  command->add_option("-o,--output", options->out, "The page to write")
      ->type_name("FILE")
      ->capture_default_str();
  command->callback([&session, options] {
    session.action = [&session, options] { return write_report_command(session, *options); };
  });
}

}  // namespace kernbench::cli
