// The sweeps that ship, compiled in.
#pragma once

#include "base/embedded_text.hpp"

namespace kernbench::sweep {

/// Ended by a null name. Generated from the files in sweeps/.
extern const EmbeddedText kEmbeddedTexts[];

}  // namespace kernbench::sweep
