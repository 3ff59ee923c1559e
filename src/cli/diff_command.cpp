// `kernbench diff A B`
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.hpp"
#include "cli/json_option.hpp"
#include "report/diff.hpp"

namespace kernbench::cli {

void add_diff_command(CLI::App& app, Session& session) {
  struct Words {
    std::string before, after, json;
  };
  CLI::App* command =
      app.add_subcommand("diff", "Say what changed between two saved runs: machine, options, programs, time");
  const auto words = std::make_shared<Words>();
  command->add_option("before", words->before, "A saved run")->type_name("A")->required();
  command->add_option("after", words->after, "Another one")->type_name("B")->required();
  declare_json(*command, words->json, "Write it for programs");
  command->callback([&session, words] {
    session.action = [&session, words] {
      const auto difference = report::find_difference(SavedRun::open(words->before),
                                                      SavedRun::open(words->after), session.registry);
      answer(
          words->json, [&] { return to_json(difference); }, [&] { return to_text(difference); });
      return 0;
    };
  });
}

}  // namespace kernbench::cli
