#include "cli/output_files.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "base/text.hpp"
#include "kernbench/error.hpp"

namespace kernbench::cli {
namespace {

namespace fs = std::filesystem;

/// The place on disk, whatever way leads there. Empty for what is no file on disk.
fs::path place_of(const std::string& path) {
  std::error_code error;
  if (path.empty() || path == "-" || (fs::exists(path, error) && !fs::is_regular_file(path, error)))
    return {};
  const fs::path place = fs::weakly_canonical(fs::absolute(path, error), error);
  return error ? fs::path(path) : place;
}

bool is_same_file(const std::string& a, const std::string& b) {
  const fs::path place = place_of(a);
  return !place.empty() && place == place_of(b);
}

}  // namespace

void check_files_differ(std::span<const OutputFile> outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i)
    for (std::size_t j = i + 1; j < outputs.size(); ++j)
      if (is_same_file(outputs[i].path, outputs[j].path))
        throw InputError({"cli.same-file", shown_path(outputs[j].path),
                          fmt::format("{} and {} name the same file", outputs[i].option, outputs[j].option),
                          "give each a file of its own"});
}

}  // namespace kernbench::cli
