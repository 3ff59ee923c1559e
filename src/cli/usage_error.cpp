#include "cli/usage_error.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/text.hpp"
#include "cli/value_check.hpp"

namespace kernbench::cli {
namespace {

/// The innermost command that was recognised, and how it is called: "kernbench topology show".
struct Innermost {
  CLI::App* app;
  std::string words;
};

Innermost innermost(CLI::App& root) {
  Innermost reached{&root, root.get_name()};
  for (auto inner = root.get_subcommands(); !inner.empty(); inner = reached.app->get_subcommands()) {
    reached.app = inner.front();
    reached.words += " " + reached.app->get_name();
  }
  return reached;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!command->get_group().empty()) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

/// The command that was given a word it does not know: options before a command are those of what stands before it.
Innermost owner_of_rest(CLI::App& root) {
  Innermost reached{&root, root.get_name()};
  for (auto inner = root.get_subcommands(); reached.app->remaining().empty() && !inner.empty();
       inner = reached.app->get_subcommands()) {
    reached.app = inner.front();
    reached.words += " " + reached.app->get_name();
  }
  return reached;
}

bool has_option(const CLI::App& app, const std::string& word) {
  const std::vector<std::string> names = option_names(app);
  return std::find(names.begin(), names.end(), word.substr(0, word.find('='))) != names.end();
}

InputError unknown_word(const Innermost& reached, const Innermost& innermost, const std::string& word) {
  const bool is_option = word.starts_with('-');
  if (is_option && has_option(*innermost.app, word))
    return InputError({"cli.usage", "", fmt::format("'{}' has no option {}", reached.words, quote(word)),
                       fmt::format("it belongs behind the command: {} {} …", innermost.words, shown(word))});
  const std::vector<std::string> commands = command_names(*reached.app);
  if (!is_option && commands.empty())
    return InputError({"cli.usage", "",
                       fmt::format("'{}' takes no further word {}", reached.words, quote(word)),
                       fmt::format("'{} --help' shows what it takes", reached.words)});
  return InputError(
      {"cli.usage", "",
       fmt::format("'{}' has no {} {}", reached.words, is_option ? "option" : "command", quote(word)),
       suggest(word, is_option ? option_names(*reached.app) : commands, is_option ? "options" : "commands")});
}

/// CLI11 says how many values it wants and names the option first; which option it was, it says nowhere else.
CLI::Option* option_named_in(CLI::App& app, const std::string& complaint) {
  for (CLI::Option* option : app.get_options())
    if (complaint.starts_with(option->get_name() + ":")) return option;
  return nullptr;
}

InputError wrong_number_of_values(const Innermost& reached, CLI::Option& option) {
  const std::string name = option.get_name();
  const std::string what = option.count() > 1
                               ? fmt::format("{} is given {} times; give it once", name, option.count())
                               : fmt::format("{} needs a value: {}", name, accepted_values(option));
  return InputError({"cli.usage", "", what, fmt::format("'{} --help' explains {}", reached.words, name)});
}

}  // namespace

InputError usage_error(CLI::App& app, const CLI::ParseError& error) {
  const Innermost reached = innermost(app);
  if (!app.remaining(true).empty()) {
    const Innermost owner = owner_of_rest(app);
    return unknown_word(owner, reached, owner.app->remaining().front());
  }
  const std::vector<std::string> commands = command_names(*reached.app);
  if (!commands.empty())
    return InputError({"cli.usage", "", fmt::format("'{}' needs a command", reached.words),
                       fmt::format("one of {}; '{} --help' explains", join(commands), reached.words)});
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error))
    if (CLI::Option* option = option_named_in(*reached.app, error.what()))
      return wrong_number_of_values(reached, *option);
  return InputError({"cli.usage", "", fmt::format("'{}': {}", reached.words, shown(error.what(), 300)),
                     fmt::format("'{} --help' shows what it takes", reached.words)});
}

}  // namespace kernbench::cli
