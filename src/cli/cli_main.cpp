#include "kernbench/cli.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <new>

#include "base/file.hpp"
#include "base/memory.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/json_option.hpp"
#include "cli/python_bench.hpp"
#include "cli/usage_error.hpp"
#include "kernbench/distributed.hpp"
#include "kernbench/error.hpp"
#include "kernbench/version.hpp"

namespace kernbench {
namespace {

enum ExitCode : int { kOk = 0, kFailed = 1, kBadInput = 2, kDefect = 3, kInterrupted = 130 };  // 128 + SIGINT

constexpr const char* kAbout =
    "KernBench: what would this kernel do on that machine?\n"
    "A discrete-event simulator of multi-package AI accelerators.\n";
constexpr const char* kExamples =
    "Examples:\n"
    "  kernbench run --bench matmul-composite --verify-data\n"
    "  kernbench run --bench matmul-composite M=128 variant=load_ref --set cube.hbm.access_ns=30\n"
    "  kernbench run --bench ccl-allreduce --verify-data     an all-reduce over all SIPs\n"
    "  kernbench run --bench gpt3-qkv --save run.db          keep everything it did\n"
    "  kernbench explain run.db --sensitivity               why it took that long, and what would help\n"
    "  kernbench report run.db -o report.html               a page about it for a browser\n"
    "  kernbench sweep gemm --jobs 2                        many runs and a table of them\n"
    "  kernbench topology show                              the default machine\n"
    "  kernbench topology show small --set sip.cube_mesh.w=4\n"
    "  kernbench topology check my_machine.yaml\n"
    "  kernbench describe hbm                               what the machine file may say about HBM\n"
    "  kernbench probe latency sip0.cube0.pe0 sip1.cube5.hbm_ctrl.pe2\n"
    "Exit codes: 0 success, 1 a check or the simulated program failed, 2 bad usage or input, 3 a defect of "
    "ours, 130 interrupted";

/// A reader that went away (`kernbench … | head -1`) or a limit on file sizes must not kill us half way
/// through our files; the write that fails says so.
class IgnoreWriteSignals {
 public:
  IgnoreWriteSignals() = default;
  ~IgnoreWriteSignals() {
    std::signal(SIGPIPE, pipe_);
    std::signal(SIGXFSZ, size_);
  }
  IgnoreWriteSignals(const IgnoreWriteSignals&) = delete;
  IgnoreWriteSignals& operator=(const IgnoreWriteSignals&) = delete;

 private:
  using Handler = void (*)(int);
  Handler pipe_ = std::signal(SIGPIPE, SIG_IGN);
  Handler size_ = std::signal(SIGXFSZ, SIG_IGN);
};

int run(int argc, char** argv, Registry& registry) {
  cli::hand_over_to_python(argc, argv);
  CLI::App app(kAbout, "kernbench");
  app.require_subcommand(1);
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.get_formatter()->column_width(24);
  app.set_help_flag("-h,--help", "Explain this command");
  app.set_version_flag("--version", fmt::format("kernbench {}", version()), "Say which KernBench this is");
  cli::Session session{
      registry, argc > 0 ? std::filesystem::path(argv[0]).filename().string() : "kernbench", {}};
  cli::add_run_command(app, session);
  cli::add_explain_command(app, session);
  cli::add_diff_command(app, session);
  cli::add_trace_command(app, session);
  cli::add_topology_command(app, session);
  cli::add_list_command(app, session);
  cli::add_describe_command(app, session);
  cli::add_ccl_command(app, session);
  cli::add_probe_command(app, session);
  cli::add_report_command(app, session);
  cli::add_sweep_command(app, session);
  cli::add_web_command(app, session);
  cli::add_completion_command(app, session);
  cli::add_version_command(app, session);
  for (CLI::App* command : app.get_subcommands({})) command->group("Commands");
  cli::add_complete_command(app, session);
  app.footer(kExamples);  // last, or every command would inherit it
  try {
    std::vector<std::string> words = cli::with_json_in_one_word(argc, argv);
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    app.parse(static_cast<int>(pointers.size()), pointers.data());
  } catch (const CLI::CallForHelp&) {
    return write_stdout(app.help()), kOk;
  } catch (const CLI::CallForVersion& asked) {
    return write_stdout(fmt::format("{}\n", asked.what())), kOk;
  } catch (const CLI::ParseError& error) {
    throw cli::usage_error(app, error);
  }
  return session.action();
}

/// If standard error cannot be written either, the exit code still says what happened.
void complain(std::string_view text) { write_stderr(fmt::format("kernbench: {}\n", text)); }

/// The gravest of several ranks' failures: our own defect, the simulated program, what was put in.
int code_of(const dist::SpawnException& failure) {
  int code = kBadInput;
  for (const auto& [rank, cause] : failure.causes()) try {
      std::rethrow_exception(cause);
    } catch (const InputError&) {
    } catch (const InternalError&) {
      return kDefect;
    } catch (...) {
      code = kFailed;
    }
  return code;
}

constexpr const char* kMemoryHint =
    "  hint: use fewer SIPs or ranks, or a smaller bench; keep the op log on disk (--log disk) or keep none "
    "(--log none); or allow more memory";

/// The one place where errors become exit codes.
int run_guarded(const std::function<int()>& run) {
  try {
    return run();
  } catch (const ReaderGone&) {
    return kOk;
  } catch (const InputError& error) {
    return complain(error.what()), kBadInput;
  } catch (const SimulationError& error) {
    return complain(error.what()), kFailed;
  } catch (const dist::SpawnException& error) {
    return complain(error.what()), code_of(error);
  } catch (const runtime::Interrupted& error) {
    return complain(error.what()), kInterrupted;
  } catch (const Error& error) {
    return complain(error.what()), kDefect;
  } catch (const std::bad_alloc& error) {
    return complain(fmt::format("{}\n{}", error.what(), kMemoryHint)), kFailed;
  } catch (const std::exception& error) {
    return complain(
               fmt::format("unexpected failure: {}\n  hint: this is a defect of KernBench itself; please "
                           "report it with the command that led here",
                           printable(error.what()))),
           kDefect;
  }
}

/// Writes as it is, without a copy.
ExitCode complain_without_memory(const char* what) {
  for (const char* text : {"kernbench: ", what, "\n", kMemoryHint, "\n"})
    if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) break;  // nobody reads it
  return kFailed;
}

/// The last resort where memory ran out and the exception cannot get to us: it would leave a destructor, or there is no
/// memory even for an exception. The message and the exit code are those of the others.
class EndWithoutMemory {
 public:
  EndWithoutMemory() { handler_before = std::set_terminate(&end); }
  ~EndWithoutMemory() { std::set_terminate(handler_before); }
  EndWithoutMemory(const EndWithoutMemory&) = delete;
  EndWithoutMemory& operator=(const EndWithoutMemory&) = delete;

 private:
  static void end() {
    if (std::current_exception()) try {
        throw;
      } catch (const std::bad_alloc& error) {
        ::_exit(complain_without_memory(error.what()));
      } catch (...) {
      }
    else if (ran_out_of_memory())
      ::_exit(complain_without_memory("out of memory"));
    handler_before();
  }
  static inline std::terminate_handler handler_before = nullptr;
};

int run_with_signals_ignored(const std::function<int()>& run) noexcept {
  keep_standard_streams();
  const IgnoreWriteSignals ignored;
  const MemoryReserve reserve;
  const EndWithoutMemory end_without_memory;
  std::set_new_handler(&explain_out_of_memory);
  try {
    return run_guarded(run);
  } catch (const std::bad_alloc& error) {
    return complain_without_memory(error.what());
  } catch (...) {  // not even the complaint could be made
    return kDefect;
  }
}

}  // namespace

int cli_main(int argc, char** argv, Registry& registry) noexcept {
  return run_with_signals_ignored([&] { return run(argc, argv, registry); });
}

int cli_main(int argc, char** argv, const std::function<void(Registry&)>& extend) noexcept {
  return run_with_signals_ignored([&] {
    Registry registry = builtin_registry();
    extend(registry);
    return run(argc, argv, registry);
  });
}

int cli_main(int argc, char** argv, topology::Registry& components) noexcept {
  return cli_main(argc, argv, [&](Registry& registry) { registry.components = components; });
}

}  // namespace kernbench
