#include "dist/switches.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

namespace kernbench::dist {

bool is_switched_on(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && std::string_view(value) != "" && std::string_view(value) != "0";
}

void QueueTrace::print(const char* what, const char* arrow, const device::QueueEvent& e) {
  const std::lock_guard lock(mutex_);
  fmt::print(out_, "[ccl] {:>14.3f} ns {:<20} {} {:<10} {} {:<20} {:>8} B\n", e.at.ns(), to_string(e.pe),
             what, e.direction, arrow, to_string(e.peer), e.bytes.count());
}

void warn(const std::string& text) {
  if (is_switched_on("KERNBENCH_DEBUG")) fmt::print(stderr, "kernbench: warning: {}\n", text);
}

}  // namespace kernbench::dist
