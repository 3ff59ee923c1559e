// Commands for people to copy.
#pragma once

#include <string>

namespace kernbench::report {

/// A word as a shell takes it: in quotes where it needs them.
std::string shell_word(const std::string& word);

}  // namespace kernbench::report
