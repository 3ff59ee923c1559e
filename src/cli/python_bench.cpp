#include "cli/python_bench.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "kernbench/error.hpp"

namespace kernbench::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProgram = R"(import sys
try:
    from kernbench._cli import main
except ImportError as error:
    sys.stderr.write(f"kernbench: the Python package cannot be used: {error}\n"
                     "  hint: 'make python' builds it; or put the folder that holds it on PYTHONPATH\n")
    sys.exit(2)
sys.exit(main(sys.argv[1:])))";

bool names_python_file(std::string_view word) {
  return word.ends_with(".py") || word.find(".py:") != std::string_view::npos;
}

/// What needs Python: `--bench f.py:name`, `--bench=f.py:name`, `describe f.py:name`, `plot DIR`. Empty: nothing does.
std::string python_part(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "plot") return "plot";
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.starts_with("--bench=") && names_python_file(word)) return argv[i];
    if ((word == "--bench" || word == "describe") && i + 1 < argc && names_python_file(argv[i + 1]))
      return fmt::format("{} {}", word, argv[i + 1]);
  }
  return "";
}

/// Where the package lies beside this program: in a build folder, or installed.
void add_package_to_path() {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : {"../python", "../lib/python", "python"}) {
    const fs::path folder = (here / place).lexically_normal();
    if (!fs::exists(folder / "kernbench" / "_cli.py", error)) continue;
    const char* before = std::getenv("PYTHONPATH");
    const std::string path = before == nullptr || *before == '\0'
                                 ? folder.string()
                                 : fmt::format("{}:{}", folder.string(), before);
    ::setenv("PYTHONPATH", path.c_str(), 1);
    return;
  }
}

[[noreturn]] void refuse(const std::string& part, const std::string& what) {
  throw InputError(
      {"cli.no-python", printable(part), what,
       "'make python' finds an interpreter and builds the package; then 'python3 -m kernbench …' "
       "does the same from any interpreter that has it"});
}

}  // namespace

void hand_over_to_python(int argc, char** argv) { hand_over_to(KERNBENCH_PYTHON, argc, argv); }

void hand_over_to(const std::string& interpreter, int argc, char** argv) {
  const std::string part = python_part(argc, argv);
  if (part.empty()) return;
  if (interpreter.empty())
    refuse(part, part == "plot" ? "figures are drawn by Python, but KernBench was built without it"
                                : "this is a bench of a Python file, but KernBench was built without Python");
  add_package_to_path();
  std::vector<std::string> words = {interpreter, "-c", kProgram};
  words.insert(words.end(), argv + 1, argv + argc);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execv(interpreter.c_str(), pointers.data());
  refuse(part, fmt::format("{} cannot be executed: {}", interpreter, std::strerror(errno)));
}

}  // namespace kernbench::cli
