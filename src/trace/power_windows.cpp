#include "trace/power_windows.hpp"

#include <algorithm>

namespace kernbench::trace {

Energy& PowerWindows::at(std::size_t index) {
  if (index >= sums_.size()) sums_.resize(index + 1);
  return sums_[index];
}

/// Makes windows longer until an instant is in one of those that there may be.
void PowerWindows::reach(Time instant) {
  while (static_cast<std::size_t>(instant.ps() / window_.ps()) >= kMost) widen();
}

void PowerWindows::widen() {
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    if (i % 2 == 0)
      sums_[i / 2] = sums_[i];
    else
      sums_[i / 2] += sums_[i];
  }
  sums_.resize((sums_.size() + 1) / 2);
  window_ = window_ * 2;
}

void PowerWindows::add(Energy energy, Time begin, Time end) {
  if (energy == Energy()) return;
  reach(end);
  const Time last_instant = end > begin ? end - Time::from_ps(1) : begin;
  const auto first = static_cast<std::size_t>(begin.ps() / window_.ps());
  const auto last = static_cast<std::size_t>(last_instant.ps() / window_.ps());
  Energy spent;
  for (std::size_t i = first; i < last; ++i) {
    const Time border = window_ * static_cast<std::int64_t>(i + 1);
    const Energy by_then = Energy::from_fj(energy.fj() * (border - begin).ps() / (end - begin).ps());
    at(i) += by_then - spent;
    spent = by_then;
  }
  at(last) += energy - spent;
}

void PowerWindows::add(const PowerWindows& other) {
  PowerWindows theirs = other;
  while (theirs.window_ < window_) theirs.widen();
  while (window_ < theirs.window_) widen();
  for (std::size_t i = 0; i < theirs.sums_.size(); ++i) at(i) += theirs.sums_[i];
}

}  // namespace kernbench::trace
