#include "device/arbiter.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "device/fabric.hpp"
#include "kernbench/error.hpp"

namespace kernbench::device {

Arbiter::Arbiter(Fabric& fabric, const Hop& hop, std::unique_ptr<models::LinkModel> model)
    : LinkGate(fabric, hop), model_(std::move(model)), link_is_free_(*this), all_are_here_(*this) {}

void Arbiter::arrive(Packet& packet, const Hop& hop) {
  const Waiting newcomer{&packet, &hop, partition_.now()};
  packet.hop = &hop;
  auto at = waiting_.end();
  while (at != waiting_.begin() && goes_before(newcomer, at[-1])) --at;
  waiting_.insert(at, newcomer);
  if (link_.free_at <= partition_.now()) return ask();
  if (!link_is_free_.scheduled()) partition_.schedule_at(link_is_free_, link_.free_at);
}

void Arbiter::ask() {
  if (!all_are_here_.scheduled()) partition_.choose(all_are_here_, rank_);
}

void Arbiter::decide() {
  const Time now = partition_.now();
  if (waiting_.empty() || link_.free_at > now) return;
  show();
  const std::size_t chosen = model_->choose(shown_, now);
  KB_ASSERT(chosen < shown_.size(), "a link model chose packet {} of {}", chosen, shown_.size());
  const std::size_t index = shown_at_[chosen];
  const Waiting packet = waiting_[index];
  waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(index));
  pass(packet, shown_[chosen], model_->pass(shown_[chosen], now));
  if (!waiting_.empty() && !link_is_free_.scheduled()) partition_.schedule_at(link_is_free_, link_.free_at);
}

/// The first packet of each message. A regular model takes the first of all and is shown that one alone. Thousands of packets
/// wait at an overloaded link, so messages are found by sorting and not by comparing each with each.
void Arbiter::show() {
  shown_.clear();
  shown_at_.resize(model_->regular() ? 1 : waiting_.size());
  std::iota(shown_at_.begin(), shown_at_.end(), std::size_t{0});
  if (shown_at_.size() > 1) {
    const auto message = [&](std::size_t i) { return waiting_[i].packet->message; };
    std::ranges::sort(shown_at_, [&](std::size_t a, std::size_t b) {
      return message(a) != message(b) ? std::less<>()(message(a), message(b)) : a < b;
    });
    const auto repeated = std::ranges::unique(shown_at_, {}, message);
    shown_at_.erase(repeated.begin(), repeated.end());
    std::ranges::sort(shown_at_);
  }
  for (const std::size_t i : shown_at_) shown_.push_back(shown(waiting_[i]));
}

}  // namespace kernbench::device
