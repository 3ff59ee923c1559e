// `kernbench describe NAME`: a bench, an algorithm, an operation, a kind, an impl or a part of the machine file, with all its
// parameters.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/file.hpp"
#include "base/text.hpp"
#include "bench/conditions.hpp"
#include "cli/command.hpp"
#include "cli/describe.hpp"
#include "kernbench/error.hpp"
#include "kernbench/nn.hpp"
#include "topology/schema.hpp"

namespace kernbench::cli {
namespace {

using topology::Impl;
using topology::Kind;
using topology::SchemaEntry;

/// Where components of a kind stand in a machine file.
std::string places(const Kind& kind) {
  std::vector<std::string> paths;
  for (const SchemaEntry& entry : topology::schema())
    if (entry.kind == kind.name) paths.push_back(entry.path);
  return paths.empty() ? "" : fmt::format("in the machine file: {}\n", join(paths));
}

std::string describe_kind(const Kind& kind) {
  std::vector<std::string> impls;
  for (const Impl& impl : kind.impls) impls.push_back(impl.name);
  std::string text = fmt::format("{}: {}\n{}impl: {}\n", kind.name, kind.doc, places(kind), join(impls));
  text += params_text("parameters", kind.params);
  for (const Impl& impl : kind.impls) text += params_text("parameters of " + impl.name, impl.params);
  return text;
}

std::string describe_impl(const Kind& kind, const Impl& impl) {
  return fmt::format("{}: {}\nimpl of kind {}\n{}{}{}", impl.name, impl.doc, kind.name, places(kind),
                     params_text("parameters", impl.params),
                     params_text("parameters of every " + kind.name, kind.params));
}

std::string describe_section(const SchemaEntry& entry) {
  std::vector<std::string> inside;
  for (const std::string& key : topology::known_keys(entry))
    if (topology::find_entry(entry.path + "." + key)) inside.push_back(key);
  return fmt::format("{}: a section of the machine file\n{}{}", entry.path,
                     inside.empty() ? "" : fmt::format("holds: {}\n", join(inside)),
                     params_text("parameters", entry.params));
}

std::string describe_bench(const Bench& bench) {
  return fmt::format("{}: {}\nkernbench run --bench {}{}\n{}", bench.name, bench.doc, bench.name,
                     bench.options.empty() ? "" : " [option=value …]",
                     params_text("options", bench::options_with_conditions(bench)));
}

std::string describe_operation(const nn::Operation& operation) {
  return fmt::format(
      "{}: {}\nan operation on tensors: nn::{} in kernbench/nn.hpp\nlayouts:\n  {}\ncompulsory bound: {}\n",
      operation.name, operation.doc, operation.name, join(operation.layouts, "\n  "), operation.cost);
}

std::vector<std::string> known_names(const Registry& registry) {
  std::vector<std::string> names = registry.benches.names();
  for (const Kind& kind : registry.components.kinds()) {
    names.push_back(kind.name);
    for (const Impl& impl : kind.impls) names.push_back(impl.name);
  }
  for (const SchemaEntry& entry : topology::schema()) names.push_back(entry.path);
  for (const std::string& name : collective_names(registry.collectives)) names.push_back(name);
  for (const nn::Operation& operation : nn::operations()) names.push_back(operation.name);
  return names;
}

std::string describe(const std::string& name, const Registry& registry) {
  const topology::Registry& components = registry.components;
  if (const Bench* bench = registry.benches.find(name)) return describe_bench(*bench);
  if (const Kind* kind = components.find(name)) return describe_kind(*kind);
  for (const Kind& kind : components.kinds())
    if (const Impl* impl = kind.find(name)) return describe_impl(kind, *impl);
  if (const SchemaEntry* entry = topology::find_entry(name))
    return entry->kind.empty() ? describe_section(*entry) : describe_kind(*components.find(entry->kind));
  if (auto text = describe_collective(name, registry.collectives); !text.empty()) return text;
  for (const nn::Operation& operation : nn::operations())
    if (operation.name == name) return describe_operation(operation);
  const std::vector<std::string> names = known_names(registry);
  const std::string list = "'kernbench list' shows all names";
  throw InputError(
      {"cli.unknown-name", "", fmt::format("nothing is called {}", quote(name)),
       nearest(name, names).empty() ? list : fmt::format("{} {}", suggest(name, names, "names"), list)});
}

}  // namespace

void add_describe_command(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand(
      "describe",
      "Explain a bench, an algorithm, an operation, a kind, an impl or a section: all its parameters");
  const auto name = std::make_shared<std::string>();
  command
      ->add_option("name", *name,
                   "A bench (matmul-composite), an algorithm (ring_allreduce), an operation (matmul), a kind "
                   "(hbm), an impl "
                   "(builtin.hbm) or a path of the machine file (sip.io)")
      ->type_name("NAME")
      ->required();
  command->callback([&session, name] {
    session.action = [&session, name] { return write_stdout(describe(*name, session.registry)), 0; };
  });
}

}  // namespace kernbench::cli
