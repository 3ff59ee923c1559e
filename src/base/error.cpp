#include "kernbench/error.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace kernbench {

Error::Error(Info info) : info_(std::move(info)) {
  text_ = info_.where.empty() ? info_.what : fmt::format("{}: {}", info_.where, info_.what);
  if (!info_.hint.empty()) text_ += "\n  hint: " + info_.hint;
  text_ = printable(text_);
}

void fail_assertion(const char* condition, const char* file, int line, const std::string& why) {
  const std::string path(file);
  throw InternalError(
      {.id = "internal.assertion",
       .where = fmt::format("{}:{}", path.substr(path.rfind('/') + 1), line),
       .what = fmt::format("{} (promised: {})", why, condition),
       .hint = "this is a defect of KernBench itself; please report it with the command that led here"});
}

}  // namespace kernbench
