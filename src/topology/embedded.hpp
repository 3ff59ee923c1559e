// The shipped machine files, compiled in so that the program needs no file beside it.
#pragma once

namespace kernbench::topology {

struct EmbeddedText {
  const char* name;
  const char* text;
};

/// Ended by a null name. Generated from topology.yaml and topologies/*.yaml.
extern const EmbeddedText kEmbeddedTexts[];

}  // namespace kernbench::topology
