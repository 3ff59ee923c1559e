// `kernbench sweep gemm|allreduce|attention|llama|FILE.yaml [--jobs N] [-o DIR] [--compare CSV]`
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/file.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/interrupt.hpp"
#include "cli/value_check.hpp"
#include "kernbench/error.hpp"
#include "report/html.hpp"
#include "sweep/csv.hpp"
#include "sweep/embedded.hpp"
#include "sweep/mpi.hpp"
#include "sweep/sweep.hpp"

namespace kernbench::cli {

std::vector<std::string> sweep_names() {
  std::vector<std::string> names;
  for (const auto* one = sweep::kEmbeddedTexts; one->name != nullptr; ++one) names.emplace_back(one->name);
  return names;
}

namespace {

struct SweepCommand {
  std::string what;
  std::string folder;
  std::string compare;
  int jobs = 1;
  bool fail_fast = false;
  bool resume = true;  // nobody asks: it always does
  bool quiet = false;
};

sweep::Plan plan_of(const std::string& what, const Registry& registry) {
  for (const auto* one = sweep::kEmbeddedTexts; one->name != nullptr; ++one)
    if (what == one->name) return sweep::read_plan(one->text, what, registry);
  std::error_code error;
  if (!std::filesystem::exists(what, error))
    throw InputError({"file.missing", shown_path(what), "no such file",
                      fmt::format("give a YAML file, or one of {}", join(sweep_names()))});
  return sweep::read_plan(read_text_file(what), what, registry);
}

std::string default_folder(const std::string& what) {
  if (what == "gemm") return "docs/diagrams";
  return "sweep-" + std::filesystem::path(what).stem().string();
}

/// On a terminal one line that changes, in a log a line now and then.
class SweepProgress {
 public:
  void show(std::size_t done, std::size_t all, bool ok) {
    failed_ += ok ? 0 : 1;
    const bool terminal = ::isatty(STDERR_FILENO) != 0;
    const bool is_due = terminal || done == all || done % std::max<std::size_t>(1, all / 10) == 0;
    if (!is_due) return;
    write_stderr(fmt::format("{}{}/{} points{}{}", terminal ? "\r" : "", done, all,
                             failed_ > 0 ? fmt::format(", {} failed", failed_) : "",
                             terminal && done < all ? "" : "\n"));
  }

 private:
  std::size_t failed_ = 0;
};

std::vector<sweep::Curve> curves_of(const SweepCommand& command, const sweep::Plan& plan) {
  if (command.compare.empty()) return {};
  const auto& columns = plan.columns;
  for (const char* needed : {"results.bytes_per_pe", "results.latency_ns"})
    if (std::ranges::find(columns, needed) == columns.end())
      throw InputError({"sweep.compare", plan.source, fmt::format("the sweep has no column {}", needed),
                        "--compare is for sweeps of all-reduces: kernbench sweep allreduce --compare FILE"});
  return sweep::read_curves(command.compare);
}

/// Under mpirun or srun: one of several ranks. Only rank 0 writes and says something.
int sweep_command(const Session& session, const SweepCommand& command) {
  const sweep::Plan plan = plan_of(command.what, session.registry);
  const std::unique_ptr<sweep::Mpi> mpi = sweep::is_under_mpi() ? sweep::open_mpi() : nullptr;
  if (mpi && mpi->rank() > 0) return sweep::serve(*mpi, sweep::work_of(plan, session.registry)), 0;
  const std::unique_ptr<sweep::Workers> ranks = mpi && mpi->size() > 1 ? sweep::mpi_workers(*mpi) : nullptr;
  const std::string folder = command.folder.empty() ? default_folder(command.what) : command.folder;
  const InterruptFlag interrupt;
  SweepProgress shown;
  sweep::SweepOptions options{.jobs = command.jobs,
                              .fail_fast = command.fail_fast,
                              .interrupt = &interrupt.flag(),
                              .compare = curves_of(command, plan),
                              .workers = ranks.get(),
                              .progress = {}};
  if (!command.quiet)
    options.progress = [&](std::size_t done, std::size_t all, bool ok) { shown.show(done, all, ok); };
  const sweep::SweepOutcome outcome = sweep::run_sweep(plan, folder, session.registry, options);
  if (outcome.interrupted)
    throw runtime::Interrupted({"cli.interrupted", folder,
                                fmt::format("interrupted after {} points", outcome.run),
                                "the same command goes on from there"});
  write_file(folder + "/report.html", report::sweep_page(folder));
  write_stdout(
      fmt::format("{}/results.csv: {} points, {} run now, {} known before{}; look at {}/report.html\n",
                  folder, outcome.points, outcome.run, outcome.known,
                  outcome.failed > 0 ? fmt::format(", {} failed", outcome.failed) : "", folder));
  return outcome.failed > 0 ? 1 : 0;
}

}  // namespace

void add_sweep_command(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand(
      "sweep", "Run a bench for many values and make a table; goes on where it was stopped");
  const auto options = std::make_shared<SweepCommand>();
  command->add_option("sweep", options->what, fmt::format("A YAML file, or {}", join(sweep_names())))
      ->type_name("FILE")
      ->required();
  command
      ->add_option("-o,--output", options->folder,
                   "The folder for points and results; if not given sweep-NAME, of gemm docs/diagrams")
      ->type_name("DIR");
  check_value(
      command->add_option("--jobs", options->jobs,
                          "Points that run at the same time, each in a process of its own; left out: 1"),
      whole_number(1, 1024))
      ->type_name("N");
  command
      ->add_option(
          "--compare", options->compare,
          "Of all-reduces: measured times to draw beside, a CSV file with bytes_per_pe and latency_ns")
      ->type_name("CSV");
  command->add_flag("--fail-fast", options->fail_fast, "Start no further points after one that failed");
  command->add_flag("--resume", options->resume,
                    "Accepted and always on: points that are done do not run again");
  command->add_flag("--quiet", options->quiet, "Show no progress");
  command->callback([&session, options] {
    session.action = [&session, options] { return sweep_command(session, *options); };
  });
}

}  // namespace kernbench::cli
