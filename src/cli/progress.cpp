#include "cli/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/file.hpp"
#include "base/text.hpp"

namespace kernbench::cli {
namespace {

using namespace std::chrono_literals;
constexpr auto kPatience = 500ms;  // before a bar appears
constexpr auto kBetweenLines = 60s;
constexpr double kWorthAnEstimate = 5;  // seconds
constexpr std::size_t kBarWidth = 20;
constexpr std::size_t kLongest = 200;

/// A bar that wraps could not be drawn over.
std::size_t terminal_width() {
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known ? size.ws_col : 80;
}

/// As if requests took equally long; nothing as long as none is done, or a run is hardly worth it.
std::string time_left(const bench::RunProgress& progress, double seconds) {
  if (progress.done == 0 || progress.done >= progress.submitted || seconds < kWorthAnEstimate) return "";
  const double left =
      seconds * static_cast<double>(progress.submitted - progress.done) / static_cast<double>(progress.done);
  return left < 100 ? fmt::format("about {:.0f} s left, ", left)
                    : fmt::format("about {:.0f} min left, ", left / 60);
}

}  // namespace

std::string progress_line(const bench::RunProgress& progress, double seconds) {
  const std::size_t filled = progress.submitted == 0 ? 0 : kBarWidth * progress.done / progress.submitted;
  const double events = static_cast<double>(progress.events) / 1e6;
  return fmt::format("[{}{}] {}{}/{}, {:.3f} us simulated, {:.1f} M events, {:.1f} M/s, {}",
                     std::string(filled, '#'), std::string(kBarWidth - filled, '-'),
                     time_left(progress, seconds), progress.done, progress.submitted, progress.now.ns() / 1e3,
                     events, seconds > 0 ? events / seconds : 0, progress.current);
}

ProgressDisplay::Kind ProgressDisplay::kind_for_stderr() {
  return ::isatty(STDERR_FILENO) == 1 ? Kind::bar : Kind::lines;
}

ProgressDisplay::~ProgressDisplay() {
  if (drawn_ && kind_ == Kind::bar) write_stderr("\r\033[K");
}

void ProgressDisplay::show(const bench::RunProgress& progress) {
  const auto now = Clock::now();
  if (kind_ == Kind::none || now - begin_ < kPatience) return;
  if (kind_ == Kind::lines && now - last_ < kBetweenLines) return;
  last_ = now;
  drawn_ = true;
  const std::string line = shown(progress_line(progress, std::chrono::duration<double>(now - begin_).count()),
                                 kind_ == Kind::bar ? terminal_width() - 1 : kLongest);
  write_stderr(kind_ == Kind::bar ? fmt::format("\r{}\033[K", line) : fmt::format("{}\n", line));
}

}  // namespace kernbench::cli
