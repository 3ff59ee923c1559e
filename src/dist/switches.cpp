#include "dist/switches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <tuple>

#include "base/file.hpp"

namespace kernbench::dist {

bool is_switched_on(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && std::string_view(value) != "" && std::string_view(value) != "0";
}

void QueueTrace::note(const device::QueueEvent& event, bool sent) {
  const std::lock_guard lock(mutex_);
  lines_.push_back({event, sent});
}

void QueueTrace::on_pause() {
  std::ranges::sort(lines_, {}, [](const Line& l) {
    return std::tuple(l.event.at, l.event.pe, l.sent, l.event.ring, l.event.number);
  });
  for (const auto& [e, sent] : lines_)
    std::fputs(
        fmt::format("[ccl] {:>14.3f} ns {:<20} {} {:<10} {} {:<20} {:>8} B\n", e.at.ns(), to_string(e.pe),
                    sent ? "send" : "recv", e.direction, sent ? "→" : "←", to_string(e.peer), e.bytes.count())
            .c_str(),
        out_);  // what cannot be written is dropped
  lines_.clear();
}

namespace {
std::function<void(const std::string&)>& warner() {
  static std::function<void(const std::string&)> current = [](const std::string& text) {
    write_stderr(fmt::format("kernbench: warning: {}\n", text));
  };
  return current;
}
}  // namespace

void warn(const std::string& text) {
  if (is_switched_on("KERNBENCH_DEBUG")) warner()(text);
}

void set_warner(std::function<void(const std::string&)> new_warner) { warner() = std::move(new_warner); }

}  // namespace kernbench::dist
