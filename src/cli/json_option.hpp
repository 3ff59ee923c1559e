// `--json` of every command: takes a file, or - for standard output. The next word is the file, unless it starts with
// `--` or contains `=`; then, and at the end, it means standard output. `--json=FILE` always works.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace kernbench::cli {

void declare_json(CLI::App& command, std::string& file, const std::string& description);
/// The words of a command line, `--json` with its file in one word.
std::vector<std::string> with_json_in_one_word(int argc, char** argv);
/// A file's name may be no UTF-8, JSON must be.
std::string json_text(const nlohmann::ordered_json& json);
/// To the file, or to standard output if it is `-`.
void write_json(const std::string& file, const std::string& text);
/// What a command found: for programs if a file is given, and for people unless that is standard output.
void answer(const std::string& json_file, const std::function<std::string()>& for_programs,
            const std::function<std::string()>& for_people);

}  // namespace kernbench::cli
