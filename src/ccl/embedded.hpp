// The collectives' defaults, compiled in.
#pragma once

#include "base/embedded_text.hpp"

namespace kernbench::ccl {

/// Ended by a null name. Generated from ccl.yaml.
extern const EmbeddedText kEmbeddedTexts[];

}  // namespace kernbench::ccl
