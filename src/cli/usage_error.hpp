// CLI11's complaints, turned into ours.
#pragma once

#include "kernbench/error.hpp"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace kernbench::cli {

/// What to throw for a command line that cannot be parsed: says which word is wrong and what it may have
/// meant.
InputError usage_error(CLI::App& app, const CLI::ParseError& error);

}  // namespace kernbench::cli
