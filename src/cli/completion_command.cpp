// `kernbench completion bash|zsh`, and the command the scripts ask.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/file.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/completion.hpp"
#include "kernbench/error.hpp"

namespace kernbench::cli {
namespace {

// `=` and `:` part words in bash, so the line is split anew and the parts it has already are cut off.
constexpr const char* kBash =
    R"script(# Completion of PROGRAM in bash. In ~/.bashrc: source <(PROGRAM completion bash)
_PROGRAM_complete() {
  local line="${COMP_LINE:0:COMP_POINT}" word begin
  local -a words=()
  read -ra words <<< "$line"
  [[ "$line" == *[[:space:]] ]] && words+=("")
  word="${words[-1]}"
  begin="${word%"${word##*[=:]}"}"
  COMPREPLY=()
  while IFS= read -r word; do
    if [[ "$word" == ":files" ]]; then
      while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "${words[-1]##*[=:]}")
      compopt -o filenames 2> /dev/null
      continue
    fi
    COMPREPLY+=("${word#"$begin"}")
    [[ "$word" == *= ]] && compopt -o nospace 2> /dev/null
  done < <("${words[0]}" complete -- "${words[@]:1}" 2> /dev/null)
}
complete -F _PROGRAM_complete PROGRAM
)script";

constexpr const char* kZsh = R"script(#compdef PROGRAM
# Completion of PROGRAM in zsh. In ~/.zshrc, after compinit: source <(PROGRAM completion zsh)
_PROGRAM_complete() {
  local word
  local -a plain valued
  for word in ${(f)"$(${words[1]} complete -- ${words[2,CURRENT-1]} "$PREFIX" 2> /dev/null)"}; do
    case $word in
      :files) _files ;;
      *=) valued+=($word) ;;
      *) plain+=($word) ;;
    esac
  done
  compadd -a plain
  compadd -S '' -a valued
}
compdef _PROGRAM_complete PROGRAM
)script";

std::string script(const std::string& shell, const std::string& program) {
  const std::vector<std::string> shells = {"bash", "zsh"};
  if (std::find(shells.begin(), shells.end(), shell) == shells.end())
    throw InputError({"cli.usage", "", fmt::format("there is no completion for '{}'", shell),
                      suggest(shell, shells, "shells")});
  constexpr std::string_view kPlaceholder = "PROGRAM";
  std::string out = shell == "bash" ? kBash : kZsh;
  for (auto at = out.find(kPlaceholder); at != std::string::npos;
       at = out.find(kPlaceholder, at + program.size()))
    out.replace(at, kPlaceholder.size(), program);
  return out;
}

std::string listed(const Candidates& candidates) {
  std::string out;
  for (const std::string& word : candidates.words) out += word + "\n";
  return candidates.files ? out + ":files\n" : out;
}

}  // namespace

void add_completion_command(CLI::App& app, Session& session) {
  CLI::App* command =
      app.add_subcommand("completion", "Print a script that teaches a shell to complete our words");
  const auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "Which one")->type_name("bash|zsh")->required();
  command->callback([&session, shell] {
    session.action = [&session, shell] { return write_stdout(script(*shell, session.program)), 0; };
  });
}

void add_complete_command(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("complete", "What may stand next on a command line");
  const auto words = std::make_shared<std::vector<std::string>>();
  command->group("");  // for scripts: not shown
  command->add_option("words", *words);
  command->callback([&app, &session, words] {
    session.action = [&app, &session, words] {
      return write_stdout(listed(complete(app, session.registry, *words))), 0;
    };
  });
}

}  // namespace kernbench::cli
