// What a command writes goes to different files.
#pragma once

#include <span>
#include <string>

namespace kernbench::cli {

struct OutputFile {
  std::string option;  // "--json"
  std::string path;    // empty: not asked for; - for standard output
};

/// InputError if two options name one file: the later output would take the place of the earlier. Pipes and devices may be shared.
void check_files_differ(std::span<const OutputFile> outputs);

}  // namespace kernbench::cli
