// Files that ship inside the binary.
#pragma once

namespace kernbench::ccl {

struct EmbeddedText {
  const char* name;
  const char* text;
};

/// Ended by a null name. Generated from ccl.yaml.
extern const EmbeddedText kEmbeddedTexts[];

}  // namespace kernbench::ccl
