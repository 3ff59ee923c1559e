#include "cli/completion.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "cli/command.hpp"
#include "kernbench/machine.hpp"
#include "topology/schema.hpp"

namespace kernbench::cli {
namespace {

/// How far a command line has come.
struct Reached {
  const CLI::App* command;               // the innermost one
  const CLI::Option* pending = nullptr;  // an option that waits for its value
  std::string bench;                     // the value of --bench
  std::string typed;                     // the word that is being typed; after `--option=`: its value
  std::size_t positionals = 0;           // words given that are no options
};

bool takes_value(const CLI::Option& option) { return option.get_type_size() != 0; }

const CLI::Option* find_option(const CLI::App& app, const std::string& word) {
  const auto options = app.get_options();
  const auto found = std::find_if(options.begin(), options.end(), [&](const CLI::Option* o) {
    return o->nonpositional() && o->check_name(word);
  });
  return found == options.end() ? nullptr : *found;
}

const CLI::App* find_command(const CLI::App& app, const std::string& word) {
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (command->get_name() == word) return command;
  return nullptr;
}

/// Takes one finished word into account.
void advance(Reached& reached, const std::string& word) {
  if (const CLI::Option* option = std::exchange(reached.pending, nullptr)) {
    if (option->check_name("--bench")) reached.bench = word;
    return;
  }
  if (word.starts_with('-')) {
    const std::size_t equals = word.find('=');
    const CLI::Option* option = find_option(*reached.command, word.substr(0, equals));
    if (!option || !takes_value(*option)) return;
    reached.pending = option;
    if (equals != std::string::npos) advance(reached, word.substr(equals + 1));
    return;
  }
  if (const CLI::App* command = find_command(*reached.command, word))
    reached.command = command;
  else
    ++reached.positionals;
}

Reached follow(const CLI::App& app, std::span<const std::string> words) {
  Reached reached{.command = &app};
  if (words.empty()) return reached;
  for (const std::string& word : words.first(words.size() - 1)) advance(reached, word);
  reached.typed = words.back();
  const std::size_t equals = reached.typed.find('=');
  if (!reached.pending && reached.typed.starts_with("--") && equals != std::string::npos) {
    reached.pending = find_option(*reached.command, reached.typed.substr(0, equals));
    reached.typed.erase(0, equals + 1);
  }
  return reached;
}

std::vector<std::string> machine_names() {
  std::vector<std::string> names;
  for (const auto& machine : topology::shipped_machines()) names.push_back(machine.name);
  return names;
}

/// `sip.cube_mesh.w=` and all others, as a machine with every section has them.
std::vector<std::string> machine_keys(const Registry& registry) {
  std::vector<std::string> keys;
  const auto machine = topology::load_machine("realistic", {}, registry.components);
  for (const topology::Group& group : machine.groups())
    for (const Param& param : group.params.params())
      keys.push_back(fmt::format("{}.{}=", group.path, param.name));
  return keys;
}

std::vector<std::string> algorithm_names(const Registry& registry) {
  std::vector<std::string> names;
  for (const auto& algorithm : registry.collectives.algorithms()) names.push_back(algorithm.name);
  return names;
}

std::vector<std::string> choices_of(const Param& option, const Registry& registry) {
  if (option.type == Param::Type::flag) return {"true", "false"};
  return option.name == "algorithm" ? algorithm_names(registry) : option.choices;
}

/// `M=`, or, once the option is named, what it may be.
std::vector<std::string> option_words(const Bench* bench, const std::string& typed,
                                      const Registry& registry) {
  std::vector<std::string> words;
  if (!bench) return words;
  for (const Param& option : bench->options) {
    const std::string begin = option.name + "=";
    if (!typed.starts_with(begin)) {
      words.push_back(begin);
      continue;
    }
    for (const std::string& choice : choices_of(option, registry)) words.push_back(begin + choice);
  }
  return words;
}

std::vector<std::string> describable(const Registry& registry) {
  std::vector<std::string> names = registry.benches.names();
  for (const std::string& name : algorithm_names(registry)) names.push_back(name);
  for (const topology::Kind& kind : registry.components.kinds()) names.push_back(kind.name);
  for (const topology::SchemaEntry& entry : topology::schema()) names.push_back(entry.path);
  return names;
}

/// `all|sip:N`, `read|write`: the type names the values.
std::vector<std::string> alternatives(const std::string& type_name) {
  std::vector<std::string> words;
  std::istringstream stream(type_name);
  for (std::string word; std::getline(stream, word, '|');) words.push_back(word);
  return words.size() > 1 ? words : std::vector<std::string>{};
}

/// What the value of an option, or of a word that is none, may be. They go by name: equal names mean equal things.
Candidates values_of(const CLI::Option& option, const Reached& reached, const Registry& registry) {
  const std::string& name = option.get_single_name();
  if (name == "bench") return {registry.benches.names()};
  if (name == "machine" || name == "topology") return {machine_names(), true};
  if (name == "ccl") return {{"default"}, true};
  if (name == "set") return {machine_keys(registry)};
  if (name == "option") return {option_words(registry.benches.find(reached.bench), reached.typed, registry)};
  if (name == "what") return {list_names()};
  if (name == "sweep") return {sweep_names(), true};
  if (name == "name") return {describable(registry)};
  if (name == "algorithm") return {algorithm_names(registry)};
  if (name == "device") return {{"all", "sip:0"}};
  if (option.get_type_name() == "FILE" || option.get_type_name() == "[FILE]") return {{}, true};
  return {alternatives(option.get_type_name())};
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

/// Commands that are shown, or else the next word that is no option.
Candidates plain_words(const Reached& reached, const Registry& registry) {
  Candidates found;
  for (const CLI::App* command : reached.command->get_subcommands([](const CLI::App*) { return true; }))
    if (!command->get_group().empty()) found.words.push_back(command->get_name());
  if (!found.words.empty()) return found;
  std::size_t number = 0;
  for (const CLI::Option* option : reached.command->get_options()) {
    if (!option->get_positional()) continue;
    const bool repeats = option->get_items_expected_max() > 1;
    if (repeats || number++ == reached.positionals) return values_of(*option, reached, registry);
  }
  return found;
}

}  // namespace

Candidates complete(const CLI::App& app, const Registry& registry, std::span<const std::string> words) {
  const Reached reached = follow(app, words);
  Candidates found = reached.pending                  ? values_of(*reached.pending, reached, registry)
                     : reached.typed.starts_with('-') ? Candidates{option_names(*reached.command)}
                                                      : plain_words(reached, registry);
  if (found.words.empty() && !found.files && reached.typed.empty())
    found.words = option_names(*reached.command);
  std::erase_if(found.words, [&](const std::string& word) { return !word.starts_with(reached.typed); });
  return found;
}

}  // namespace kernbench::cli
