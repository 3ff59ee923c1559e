// The files of web/, compiled in.
#pragma once

#include "base/embedded_text.hpp"

namespace kernbench::report {

/// Ended by a null name. In the order in which a page needs its modules: those that others import come first.
extern const EmbeddedText kEmbeddedTexts[];

}  // namespace kernbench::report
