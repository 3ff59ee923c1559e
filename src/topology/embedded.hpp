// The shipped machine files, compiled in.
#pragma once

#include "base/embedded_text.hpp"

namespace kernbench::topology {

/// Ended by a null name. Generated from topology.yaml and topologies/*.yaml.
extern const EmbeddedText kEmbeddedTexts[];

}  // namespace kernbench::topology
