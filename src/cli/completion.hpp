// What may stand next on a command line. The shells' scripts are short: they ask the program itself, which knows its
// commands, options and benches, a user's own among them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernbench/bench.hpp"

namespace CLI {
class App;
}

namespace kernbench::cli {

struct Candidates {
  std::vector<std::string> words;  // that begin with what is typed; one that ends in `=` wants a value
  bool files = false;              // names of files fit, too
};

/// `words` follow the program's name; the last of them is being typed, and may be empty.
Candidates complete(const CLI::App& app, const Registry& registry, std::span<const std::string> words);

}  // namespace kernbench::cli
