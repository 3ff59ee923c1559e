// A file that ships inside the binary, so that the program needs none beside it; see cmake/EmbedText.cmake.
#pragma once

namespace kernbench {

struct EmbeddedText {
  const char* name;
  const char* text;
};

}  // namespace kernbench
