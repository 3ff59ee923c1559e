// `kernbench web [RUN|FOLDER|MACHINE …] [--port N] [--host A] [--keep DIR]`
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/file.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/interrupt.hpp"
#include "cli/value_check.hpp"
#include "kernbench/error.hpp"
#include "web/app.hpp"
#include "web/server.hpp"

namespace kernbench::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kUsualPort = 8765;

struct WebCommand {
  std::vector<std::string> given;
  std::string host = "127.0.0.1";
  std::optional<int> port;
  std::string keep;
  int run_limit_s = 3600;
  int patience_s = web::ServerOptions().patience_s;

  web::ServerOptions server(int at_port) const { return {host, at_port, patience_s}; }
};

/// The folder for temporary files: TMPDIR, or the system's.
fs::path temporary_folder() {
  std::error_code error;
  const fs::path folder = fs::temp_directory_path(error);
  if (!error) return folder;
  const char* named = std::getenv("TMPDIR");
  throw InputError(
      {"file.unwritable", named == nullptr ? "" : fmt::format("TMPDIR={}", shown_path(named)),
       "the folder for temporary files does not exist",
       "set TMPDIR to a folder that can be written to, or name a folder for the runs: --keep DIR"});
}

/// Holds the runs that are not kept; removed at the end.
class PassingFolder {
 public:
  PassingFolder() {
    std::string name = (temporary_folder() / "kernbench-web-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw InputError({"file.unwritable", name, "no folder can be made there", "give one: --keep DIR"});
    path_ = name;
  }
  ~PassingFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  PassingFolder(const PassingFolder&) = delete;
  PassingFolder& operator=(const PassingFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!fs::is_directory(path))
    throw InputError({"file.unwritable", path, "this is no folder, and none can be made there", ""});
}

/// The usual port, or where that is taken any other; a port that was asked for, or none.
std::unique_ptr<web::Server> start(const WebCommand& command, web::App& app) {
  const auto handler = [&app](const web::Request& request) { return app.respond(request); };
  try {
    return std::make_unique<web::Server>(command.server(command.port.value_or(kUsualPort)), handler);
  } catch (const InputError&) {
    if (command.port) throw;
    return std::make_unique<web::Server>(command.server(0), handler);
  }
}

int serve_command(const Session& session, const WebCommand& command) {
  const InterruptFlag interrupt;
  std::optional<PassingFolder> passing;
  if (command.keep.empty())
    passing.emplace();
  else
    make_folder(command.keep);
  std::vector<std::string> given = command.given;
  if (!command.keep.empty()) given.push_back(command.keep);
  web::App app(session.registry, {given, passing ? passing->path() : command.keep, command.run_limit_s});
  const auto server = start(command, app);
  write_stdout(fmt::format("KernBench is at {} until Ctrl-C{}\n", server->url(),
                           command.keep.empty() ? "; runs made there are not kept (--keep DIR does)" : ""));
  if (!web::is_loopback(command.host))
    write_stderr("kernbench: note: everybody who can reach this computer can run benches here\n");
  const bool idle = server->serve(interrupt.flag());
  app.close();
  if (idle) return 0;
  passing.reset();  // an answer is still being made, and its connection is closed
  std::_Exit(0);
}

}  // namespace

void add_web_command(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand(
      "web", "Look at machines and saved runs in a browser, change values, probe, run benches");
  const auto options = std::make_shared<WebCommand>();
  command
      ->add_option("given", options->given,
                   "Saved runs, folders that hold some, machine files (.yaml) to show")
      ->type_name("RUN|FOLDER|MACHINE");
  check_value(command->add_option(
                  "--port", options->port,
                  fmt::format("Where to listen; 0: any that is free; left out: {}, or any", kUsualPort)),
              whole_number(0, 65535, "0: any that is free"))
      ->type_name("N");
  command
      ->add_option("--host", options->host,
                   "The address to listen on; others than this computer's own let others in")
      ->type_name("ADDRESS")
      ->capture_default_str();
  command
      ->add_option("--keep", options->keep, "Keep the runs made there in this folder, and show what it holds")
      ->type_name("DIR");
  check_value(command->add_option("--run-limit", options->run_limit_s,
                                  "End a run that was asked for in a browser after this time; 0: never"),
              whole_number(0, 1'000'000, "0: never"))
      ->type_name("SECONDS")
      ->capture_default_str();
  check_value(
      command->add_option("--patience", options->patience_s,
                          "How long a caller may take to send a request, and to read each MiB of its answer"),
      whole_number(1, 3600))
      ->type_name("SECONDS")
      ->capture_default_str();
  command->callback([&session, options] {
    session.action = [&session, options] { return serve_command(session, *options); };
  });
}

}  // namespace kernbench::cli
