// `kernbench trace RUN -o FILE`
#include "cli/trace_text.hpp"
#include "cli/value_check.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/file.hpp"
#include "cli/command.hpp"

namespace kernbench::cli {

std::string trace_text(const std::string& path, const report::TraceSize& size) {
  std::string text =
      fmt::format("{}: {} operations, {} arrows; open it at ui.perfetto.dev\n", path, size.shown, size.flows);
  if (size.shown < size.ops)
    text += fmt::format("  of {} operations those on and around the critical path (--trace-ops)\n", size.ops);
  return text;
}

void add_trace_command(CLI::App& app, Session& session) {
  struct Words {
    std::string run, out;
    report::TraceOptions options;
  };
  CLI::App* command = app.add_subcommand("trace", "Write a saved run as trace events, for Perfetto");
  const auto words = std::make_shared<Words>();
  command->add_option("run", words->run, "A saved run: 'kernbench run … --save FILE'")
      ->type_name("RUN")
      ->required();
  command->add_option("-o,--output", words->out, "The file to write; compressed if it ends in .gz")
      ->type_name("FILE")
      ->required();
  check_value(command->add_option(
                  "--trace-ops", words->options.most_ops,
                  fmt::format("Operations to show at most, those of the critical path first; left out: {}",
                              words->options.most_ops)),
              whole_number(1))
      ->type_name("N");
  command->callback([&session, words] {
    session.action = [words] {
      const auto size = report::write_trace(SavedRun::open(words->run), words->out, words->options);
      return write_stdout(trace_text(words->out, size)), 0;
    };
  });
}

}  // namespace kernbench::cli
