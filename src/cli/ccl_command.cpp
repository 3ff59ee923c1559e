// `kernbench ccl plan`
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "base/json.hpp"
#include "bench/run.hpp"
#include "ccl/plan.hpp"
#include "ccl/wiring_drawing.hpp"
#include "cli/command.hpp"
#include "cli/json_option.hpp"
#include "cli/output_files.hpp"
#include "cli/svg_output.hpp"
#include "cli/value_check.hpp"
#include "kernbench/distributed.hpp"
#include "kernbench/error.hpp"
#include "kernbench/graph.hpp"
#include "runtime/memory_layout.hpp"

namespace kernbench::cli {
namespace {

using Json = nlohmann::ordered_json;

struct PlanOptions {
  MachineChoice machine;
  std::string algorithm;
  std::string group;
  std::string output;
  std::string drawing;
};

std::optional<ccl::Group> group_of(const std::string& name) {
  for (const auto group : {ccl::Group::sip, ccl::Group::cube, ccl::Group::pe})
    if (name == ccl::to_string(group)) return group;
  return std::nullopt;
}

/// What is accepted but has no effect must not pass in silence.
void note(const ccl::Config& config) {
  for (const auto& text : config.notes()) write_stderr(fmt::format("kernbench: note: {}\n", text));
}

int plan(const Session& session, const PlanOptions& options) {
  if (!options.drawing.empty()) check_promises_svg(options.drawing);
  check_files_differ(std::vector<OutputFile>{{"-o", options.output}, {"--draw", options.drawing}});
  const auto& registry = session.registry.collectives;
  const auto machine = options.machine.load(session.registry);
  const auto config = ccl::load_config(options.machine.ccl_file, options.machine.ccl_overrides(), registry);
  const auto settings = config.settings(options.algorithm.empty() ? config.algorithm() : options.algorithm);
  address::MemoryPools pools(runtime::memory_layout(machine));
  const auto group = group_of(options.group).value_or(ccl::benched_group(registry, settings));
  const auto made = ccl::make_plan(registry, settings, machine, pools, {.group = group});
  const topology::Graph graph(machine);
  note(config);
  if (!options.drawing.empty()) {
    write_svg(options.drawing, ccl::draw_wiring(made, machine, graph), "the wiring of " + settings.name);
    if (options.output.empty()) return 0;
  }
  const auto windows = ccl::link_windows(made, machine, graph);
  if (options.output.empty()) return write_stdout(ccl::to_text(made, windows)), 0;
  const std::string json = dump_json(ccl::to_json(made, windows), 2) + "\n";
  if (options.output == "-") return write_stdout(json), 0;
  write_file(options.output, json);
  write_stdout(fmt::format("{}: the plan of {}\n", options.output, settings.name));
  return 0;
}

void add_plan(CLI::App& ccl, Session& session) {
  CLI::App* command = ccl.add_subcommand(
      "plan", "Print who talks to whom in a collective, in which rings, and what limits it");
  const auto options = std::make_shared<PlanOptions>();
  command->add_option("--algorithm", options->algorithm, "An algorithm; left out: the default of ccl.yaml")
      ->type_name("A");
  check_value(command->add_option("--group", options->group,
                                  "What the members are; left out: those of the bench ccl-allreduce"),
              one_of({"sip", "cube", "pe"}))
      ->type_name("sip|cube|pe");
  options->machine.declare_option(*command);
  options->machine.declare_ccl(*command);
  command
      ->add_option("-o,--output", options->output,
                   "Write it as JSON, with every address; - for standard output")
      ->type_name("FILE");
  command
      ->add_option(
          "--draw", options->drawing,
          "Draw the floor plan with the links that its queues send over, as SVG; - for standard output")
      ->type_name("FILE");
  command->callback(
      [&session, options] { session.action = [&session, options] { return plan(session, *options); }; });
}

struct QueuesOptions {
  MachineChoice machine;
  std::vector<std::string> words;
  std::string json;
};

std::string counters_text(const std::vector<dist::QueueCounters>& all) {
  std::string text = fmt::format("{:<24} {:<18} {:<12} {:<18} {:>8} {:>9} {:>9} {:>8}\n", "queues of", "PE",
                                 "direction", "peer", "my_head", "peer_tail", "peer_head", "my_tail");
  for (const auto& q : all)
    text += fmt::format("{:<24} {:<18} {:<12} {:<18} {:>8} {:>9} {:>9} {:>8}\n", q.wiring, to_string(q.pe),
                        q.direction, to_string(q.peer), q.my_head, q.peer_tail_cache, q.peer_head_cache,
                        q.my_tail);
  return text;
}

Json counters_json(const std::vector<dist::QueueCounters>& all) {
  Json list = Json::array();
  for (const auto& q : all)
    list.push_back({{"wiring", q.wiring},
                    {"pe", to_string(q.pe)},
                    {"direction", q.direction},
                    {"peer", to_string(q.peer)},
                    {"my_head", q.my_head},
                    {"peer_tail_cache", q.peer_tail_cache},
                    {"peer_head_cache", q.peer_head_cache},
                    {"my_tail", q.my_tail}});
  return list;
}

int queues(const Session& session, const QueuesOptions& options) {
  const Bench& bench = session.registry.benches.at("ccl-allreduce");
  std::vector<dist::QueueCounters> found;
  const bench::RunResult result = bench::run(
      bench, bench.read_options(options.words), options.machine.load(session.registry),
      {.ccl = options.machine.ccl_file,
       .collectives = &session.registry.collectives,
       .ccl_overrides = options.machine.ccl_overrides(),
       .finished = [&](Torch& torch, const bench::RunResult&) { found = dist::queue_counters(torch); }});
  answer(
      options.json, [&] { return json_text(counters_json(found)); }, [&] { return counters_text(found); });
  return result.ok() ? 0 : 1;
}

void add_queues(CLI::App& ccl, Session& session) {
  CLI::App* command = ccl.add_subcommand(
      "queues", "Run the bench ccl-allreduce and print what each queue has counted when it has ended");
  const auto options = std::make_shared<QueuesOptions>();
  command
      ->add_option("option", options->words,
                   "Options of the bench as option=value; 'describe ccl-allreduce' lists them")
      ->type_name("option=value");
  options->machine.declare_option(*command);
  options->machine.declare_ccl(*command);
  declare_json(*command, options->json, "Write it for programs");
  command->callback(
      [&session, options] { session.action = [&session, options] { return queues(session, *options); }; });
}

}  // namespace

void add_ccl_command(CLI::App& app, Session& session) {
  CLI::App* ccl = app.add_subcommand("ccl", "Look at collectives: plan, queues");
  ccl->require_subcommand(1);
  add_plan(*ccl, session);
  add_queues(*ccl, session);
  for (CLI::App* command : ccl->get_subcommands({})) command->group("Commands");
}

}  // namespace kernbench::cli
