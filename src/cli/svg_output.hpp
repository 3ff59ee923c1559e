// Pictures that commands write.
#pragma once

#include <string>

namespace kernbench::cli {

/// We write SVG and nothing else: InputError if the name of a file promises another format.
void check_promises_svg(const std::string& output);
/// To a file, and says what it is; `-` is standard output.
void write_svg(const std::string& output, const std::string& svg, const std::string& what);

}  // namespace kernbench::cli
