#include "cli/svg_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/file.hpp"
#include "base/text.hpp"
#include "kernbench/error.hpp"

namespace kernbench::cli {

void check_promises_svg(const std::string& output) {
  std::string extension = std::filesystem::path(output).extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (extension.empty() || extension == ".svg") return;
  throw InputError({"cli.format", shown_path(output), "the floor plan is drawn as SVG only",
                    "write " + shown_path(std::filesystem::path(output).replace_extension(".svg").string())});
}

void write_svg(const std::string& output, const std::string& svg, const std::string& what) {
  if (output == "-") return write_stdout(svg);
  write_file(output, svg);
  write_stdout(fmt::format("{}: {}\n", shown_path(output), what));
}

}  // namespace kernbench::cli
