#include "cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace kernbench::cli {
namespace {

using namespace std::chrono_literals;
constexpr auto kPatience = 500ms;  // before a bar appears
constexpr auto kBetweenLines = 10s;
constexpr std::size_t kBarWidth = 20;

}  // namespace

std::string progress_line(const bench::RunProgress& progress) {
  const std::size_t filled = progress.submitted == 0 ? 0 : kBarWidth * progress.done / progress.submitted;
  return fmt::format("[{}{}] {}/{} {}  {:.3f} us simulated, {:.1f} M events", std::string(filled, '#'),
                     std::string(kBarWidth - filled, '-'), progress.done, progress.submitted,
                     progress.current, progress.now.ns() / 1e3, static_cast<double>(progress.events) / 1e6);
}

ProgressDisplay::Kind ProgressDisplay::kind_for_stderr() {
  return ::isatty(STDERR_FILENO) == 1 ? Kind::bar : Kind::lines;
}

ProgressDisplay::~ProgressDisplay() {
  if (drawn_ && kind_ == Kind::bar) std::fputs("\r\033[K", stderr);
}

void ProgressDisplay::show(const bench::RunProgress& progress) {
  const auto now = Clock::now();
  if (kind_ == Kind::none || now - begin_ < kPatience) return;
  if (kind_ == Kind::lines && now - last_ < kBetweenLines) return;
  last_ = now;
  drawn_ = true;
  const std::string line = progress_line(progress);
  kind_ == Kind::bar ? fmt::print(stderr, "\r{}\033[K", line) : fmt::print(stderr, "{}\n", line);
  std::fflush(stderr);
}

}  // namespace kernbench::cli
