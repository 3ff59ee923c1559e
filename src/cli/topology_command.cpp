// `kernbench topology show|check|draw`
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/json_option.hpp"
#include "cli/machine_tree.hpp"
#include "cli/svg_output.hpp"
#include "kernbench/error.hpp"
#include "kernbench/graph.hpp"
#include "topology/figures.hpp"
#include "topology/floor_plan.hpp"
#include "topology/machine_json.hpp"

namespace kernbench::cli {
namespace {

using topology::Graph;
using topology::Machine;

void add_show(CLI::App& topology, Session& session) {
  struct Options {
    MachineChoice machine;
    bool yaml = false;
    std::string json;  // where to; empty: not wanted
  };
  CLI::App* command = topology.add_subcommand("show", "Print a machine: counts, capacities, rates, peaks");
  const auto options = std::make_shared<Options>();
  options->machine.declare(*command);
  command->add_flag("--yaml", options->yaml, "Print it as a complete machine file");
  declare_json(*command, options->json, "Write it for programs, with derived peaks");
  command->callback([&session, options] {
    session.action = [&session, options] {
      if (options->yaml && !options->json.empty())
        throw InputError({"cli.usage", "", "--yaml and --json exclude each other", "leave one out"});
      const Machine machine = options->machine.load(session.registry);
      const Graph graph(machine);
      if (!options->json.empty()) write_json(options->json, json_text(topology::to_json(machine, graph)));
      if (options->json != "-")
        write_stdout(options->yaml ? topology::to_yaml(machine) : machine_tree(machine, graph));
      return 0;
    };
  });
}

void add_check(CLI::App& topology, Session& session) {
  CLI::App* command =
      topology.add_subcommand("check", "Check a machine file; silence on stdout if it is bad");
  const auto choice = std::make_shared<MachineChoice>();
  choice->declare(*command);
  command->callback([&session, choice] {
    session.action = [&session, choice] {
      const Machine machine = choice->load(session.registry);
      const Graph graph(machine);
      machine.require_behaviours();
      write_stdout(fmt::format("{}: ok: {}\n", shown_path(choice->file), topology::headline(machine)));
      return 0;
    };
  });
}

void add_draw(CLI::App& topology, Session& session) {
  struct Options {
    MachineChoice machine;
    std::string output;
  };
  CLI::App* command = topology.add_subcommand("draw", "Draw the floor plan of a machine as SVG");
  const auto options = std::make_shared<Options>();
  options->machine.declare(*command);
  command->add_option("-o,--output", options->output, "The file to write; - for standard output")
      ->type_name("FILE")
      ->required();
  command->callback([&session, options] {
    session.action = [&session, options] {
      check_promises_svg(options->output);
      const Machine machine = options->machine.load(session.registry);
      write_svg(options->output, topology::draw_floor_plan(machine, Graph(machine)),
                "the floor plan of " + shown_path(machine.source()));
      return 0;
    };
  });
}

}  // namespace

void add_topology_command(CLI::App& app, Session& session) {
  CLI::App* topology = app.add_subcommand("topology", "Look at a machine: show, check, draw");
  topology->require_subcommand(1);
  add_show(*topology, session);
  add_check(*topology, session);
  add_draw(*topology, session);
  for (CLI::App* command : topology->get_subcommands({})) command->group("Commands");
}

}  // namespace kernbench::cli
