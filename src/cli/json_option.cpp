#include "cli/json_option.hpp"

#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "base/json.hpp"
#include "base/new_file.hpp"
#include "cli/value_check.hpp"

namespace kernbench::cli {

void declare_json(CLI::App& command, std::string& file, const std::string& description) {
  check_value(
      command.add_option("--json", file, description + "; without a file, or with -, to standard output"),
      name_of_a_file())
      ->type_name("[FILE]");
}

std::vector<std::string> with_json_in_one_word(int argc, char** argv) {
  std::vector<std::string> words(argv, argv + argc), out;
  const auto is_file = [](const std::string& word) {
    return !word.starts_with("--") && word.find('=') == word.npos;
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i == 0 || words[i] != "--json") {
      out.push_back(words[i]);
    } else if (i + 1 < words.size() && is_file(words[i + 1])) {
      out.push_back("--json=" + words[++i]);
    } else {
      out.emplace_back("--json=-");
    }
  }
  return out;
}

std::string json_text(const nlohmann::ordered_json& json) { return dump_json(json, 2) + "\n"; }

void write_json(const std::string& file, const std::string& text) {
  file == "-" ? write_stdout(text) : write_file(file, text);
}

void answer(const std::string& json_file, const std::function<std::string()>& for_programs,
            const std::function<std::string()>& for_people) {
  if (!json_file.empty()) write_json(json_file, for_programs());
  if (json_file != "-") write_stdout(for_people());
}

}  // namespace kernbench::cli
