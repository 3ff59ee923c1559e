// The files of web/, compiled in.
#pragma once

#include "base/embedded_text.hpp"

namespace kernbench::report {

/// Ended by a null name.
extern const EmbeddedText kEmbeddedTexts[];

}  // namespace kernbench::report
