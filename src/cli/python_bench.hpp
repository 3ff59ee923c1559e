// Benches of Python files: `kernbench run --bench file.py:name` is run by the interpreter the package was built for.
#pragma once

#include <string>

namespace kernbench::cli {

/// Becomes that interpreter if the words name a bench of a Python file, and does not come back then; else does nothing.
/// InputError (`cli.no-python`) if there is no interpreter.
void hand_over_to_python(int argc, char** argv);
/// The same with another interpreter; empty: there is none.
void hand_over_to(const std::string& interpreter, int argc, char** argv);

}  // namespace kernbench::cli
