// `kernbench list [benches|algorithms|operations|topologies|components]`
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>

#include "base/file.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "kernbench/error.hpp"
#include "kernbench/nn.hpp"

namespace kernbench::cli {
namespace {

struct Named {
  std::string name, doc;
};

/// The names in a column as wide as the longest, what they are beside them.
std::string rows_text(const std::vector<Named>& rows) {
  std::size_t width = 15;
  for (const Named& row : rows) width = std::max(width, row.name.size());
  std::string text;
  for (const Named& row : rows) text += fmt::format("  {:<{}} {}\n", row.name, width, row.doc);
  return text;
}

std::string benches(const Session& session) {
  std::vector<Named> rows;
  for (const Bench& bench : session.registry.benches.all()) rows.push_back({bench.name, bench.doc});
  return "benches (kernbench run --bench NAME, kernbench describe NAME)\n" + rows_text(rows);
}

std::string algorithms(const Session& session) {
  std::vector<Named> rows;
  for (const auto& algorithm : session.registry.collectives.algorithms())
    rows.push_back({algorithm.name, algorithm.description});
  return "algorithms of collectives (kernbench describe NAME, kernbench ccl plan --algorithm NAME)\n" +
         rows_text(rows);
}

std::string topologies(const Session&) {
  std::vector<Named> rows;
  for (const auto& machine : topology::shipped_machines()) rows.push_back({machine.name, machine.summary});
  return "topologies (kernbench topology show NAME)\n" + rows_text(rows);
}

/// A line per kind, its impls below it.
std::string components(const Session& session) {
  std::string text = "components: kinds and the impls of each (kernbench describe NAME)\n";
  for (const topology::Kind& kind : session.registry.components.kinds()) {
    text += fmt::format("  {:<15} {}\n", kind.name, kind.doc);
    for (const topology::Impl& impl : kind.impls)
      text += impl.doc == kind.doc ? fmt::format("    {}\n", impl.name)
                                   : fmt::format("    {}: {}\n", impl.name, impl.doc);
  }
  return text;
}

std::string operations(const Session&) {
  std::vector<Named> rows;
  for (const nn::Operation& operation : nn::operations())
    rows.push_back({std::string(operation.name), std::string(operation.doc)});
  return "operations on tensors, in kernbench/nn.hpp (kernbench describe NAME)\n" + rows_text(rows);
}

struct List {
  const char* name;
  std::string (*text)(const Session&);
};
constexpr std::array kLists = {List{"benches", benches}, List{"algorithms", algorithms},
                               List{"operations", operations}, List{"topologies", topologies},
                               List{"components", components}};

std::string one_list(const std::string& name, const Session& session) {
  const auto found =
      std::find_if(kLists.begin(), kLists.end(), [&](const List& l) { return l.name == name; });
  if (found != kLists.end()) return found->text(session);
  throw InputError({"cli.usage", "", fmt::format("there is no list of {}", quote(name)),
                    suggest(name, list_names(), "lists")});
}

std::string all_lists(const Session& session) {
  std::string text;
  for (const List& list : kLists) text += (text.empty() ? "" : "\n") + list.text(session);
  return text;
}

}  // namespace

std::vector<std::string> list_names() {
  std::vector<std::string> names;
  for (const List& list : kLists) names.emplace_back(list.name);
  return names;
}

void add_list_command(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("list", "List what there is");
  const auto name = std::make_shared<std::string>();
  command
      ->add_option("what", *name, "benches, algorithms, operations, topologies or components; left out: all")
      ->type_name("WHAT");
  command->callback([&session, name] {
    session.action = [&session, name] {
      write_stdout(name->empty() ? all_lists(session) : one_list(*name, session));
      return 0;
    };
  });
}

}  // namespace kernbench::cli
