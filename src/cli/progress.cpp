#include "cli/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

#include "base/file.hpp"
#include "base/text.hpp"

namespace kernbench::cli {
namespace {

using namespace std::chrono_literals;
constexpr auto kPatience = 500ms;  // before a bar appears
constexpr auto kBetweenLines = 10s;
constexpr std::size_t kBarWidth = 20;
constexpr std::size_t kLongest = 200;

/// A bar that wraps could not be drawn over.
std::size_t terminal_width() {
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known ? size.ws_col : 80;
}

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
  const std::string line =
      shown(progress_line(progress), kind_ == Kind::bar ? terminal_width() - 1 : kLongest);
  write_stderr(kind_ == Kind::bar ? fmt::format("\r{}\033[K", line) : fmt::format("{}\n", line));
  std::fflush(stderr);
}

}  // namespace kernbench::cli
