// `kernbench explain RUN [--what-if KEY=VALUE …] [--sensitivity]`
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.hpp"
#include "cli/interrupt.hpp"
#include "cli/json_option.hpp"
#include "report/explain.hpp"

namespace kernbench::cli {
namespace {

struct ExplainCommand {
  std::string run;
  std::vector<std::string> what_if;
  bool sensitivity = false;
  std::string json;  // where to; empty: not wanted
};

int explain(const Session& session, const ExplainCommand& command) {
  const SavedRun run = SavedRun::open(command.run);
  if (command.what_if.empty() && !command.sensitivity)
    return answer(
               command.json, [&] { return report::explanation_json(run); },
               [&] { return report::explanation(run); }),
           0;
  const report::Rerun rerun(run, session.registry);
  std::vector<report::Variant> variants =
      command.sensitivity ? report::sensitivity(rerun) : std::vector<report::Variant>();
  const auto asked = report::what_if(command.what_if);
  for (const report::Variant& variant : asked) rerun.check(variant);
  variants.insert(variants.begin(), asked.begin(), asked.end());
  const InterruptFlag interrupt;
  const auto results = rerun.all(variants, &interrupt.flag());
  answer(
      command.json, [&] { return report::variants_json(run, variants, results); },
      [&] { return report::variants_text(run, variants, results, command.sensitivity); });
  return 0;
}

}  // namespace

void add_explain_command(CLI::App& app, Session& session) {
  CLI::App* command =
      app.add_subcommand("explain", "Say why a saved run took as long as it did, and what to change");
  const auto options = std::make_shared<ExplainCommand>();
  command->add_option("run", options->run, "A saved run: 'kernbench run … --save FILE'")
      ->type_name("RUN")
      ->required();
  command
      ->add_option(
          "--what-if", options->what_if,
          "Run it again with this value of the machine or of ccl.yaml; several: one by one and together")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_flag("--sensitivity", options->sensitivity,
                    "Run it again with every part twice as fast, one at a time, largest gain first");
  declare_json(*command, options->json, "Write it for programs");
  command->callback(
      [&session, options] { session.action = [&session, options] { return explain(session, *options); }; });
}

}  // namespace kernbench::cli
