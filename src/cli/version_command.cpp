#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/file.hpp"
#include "cli/command.hpp"
#include "kernbench/version.hpp"

namespace kernbench::cli {

void add_version_command(CLI::App& app, Session& session) {
  app.add_subcommand("version", "Say which KernBench this is")->callback([&session] {
    session.action = [] { return write_stdout(fmt::format("kernbench {}\n", version())), 0; };
  });
}

}  // namespace kernbench::cli
