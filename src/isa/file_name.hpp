// Source files go by their names.
#pragma once

#include <string_view>

namespace kernbench::isa {

/// Without its folders.
constexpr std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace kernbench::isa
