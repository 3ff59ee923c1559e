// The text of source lines, as far as the sources are where the compiler found them, or below the working folder.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kernbench::report {

class SourceTexts {
 public:
  /// Without the spaces around it; nothing if the file or the line is not there.
  std::optional<std::string> line(std::string_view file, std::uint32_t line);

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> files_;  // by the compiler's name
};

}  // namespace kernbench::report
