#include "runtime/stream.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "kernbench/error.hpp"

namespace kernbench::runtime {

using device::Cause;
using device::Reason;

std::string_view to_string(Phase phase) {
  constexpr std::array<std::string_view, 6> kNames = {"map", "unmap", "write", "read", "launch", "install"};
  return kNames[static_cast<std::size_t>(phase)];
}

Trace Request::trace() const {
  KB_ASSERT(done(), "the trace of {} '{}', which is not complete", to_string(phase_), name());
  const Time total = completed_ - left_;
  return {.phase = phase_,
          .name = name(),
          .sip = stream_->sip(),
          .submitted = submitted_,
          .queued = left_ - submitted_,
          .total = total,
          .network = total,
          .note = {},
          .compulsory = {},
          .request = number_,
          .context = {}};
}

/// What was taken over and is simulated after all, because what followed was something else, is told once.
void Request::complete(device::OpRef record) {
  if (done()) {
    KB_ASSERT(completed_ == stream_->host_.now() && record_ == record,
              "{} '{}' was taken over as complete at {}, but is at {}", to_string(phase_), name(),
              to_string(completed_), to_string(stream_->host_.now()));
    return;
  }
  completed_ = stream_->host_.now();
  record_ = record;
  stream_->border_.is_back(*this);
  if (stops_clock) stream_->host_.stop();
  if (watcher != nullptr) watcher->on_complete(*this);
  stream_->first_completed();
  for (Stream* stream : std::exchange(held_up_, {})) stream->send_first();
}

void Stream::submit(std::shared_ptr<Request> request, HostThread& by) {
  by.submitted = true;
  Request& r = *request;
  r.number_ = next_number();
  r.stream_ = this;
  r.submitted_ = host_.now();
  r.host_ = by.waited;
  note_order(r, by);
  requests_.push_back(std::move(request));
  last_ = &r;
  open_.push_back(&r);
  send_first();
}

/// What it comes after in other streams, as far as the stream does not know yet.
void Stream::note_order(Request& r, HostThread& by) {
  if (by.seen.is_long()) by.seen.share();
  const auto note = [&](const Seen::Last& last) {
    if (last.stream != number_ && seen_.note(last)) r.after_.push_back(last.request);
  };
  if (seen_.begin_with(by.seen.base())) r.after_all_ = by.seen.base();
  std::ranges::for_each(by.seen.own(), note);
  for (const auto& other : r.needs_) note({other->stream().number(), other->number()});
}

/// It leaves because the one before it has completed, because the host had waited for something, or because what it
/// needs has completed in another stream.
void Stream::send_first() {
  if (open_.empty() || first_left_) return;
  Request& r = *open_.front();
  Cause before = last_completion_;
  if (r.host_.met > before.met) before = r.host_;
  for (const auto& other : r.needs_) {
    if (!other->done()) return other->held_up_.push_back(this);
    if (other->completed_ > before.met) before = Cause::at(other->record_, other->completed_, Reason::start);
  }
  r.needs_.clear();
  r.left_ = host_.now();
  first_left_ = true;
  border_.leaves(r, before);
}

void Stream::first_completed() {
  Request& r = *open_.front();
  first_left_ = false;
  open_.pop_front();
  completed_.add(r);
  last_completion_ = Cause::at(r.record_, r.completed_, Reason::start);
  send_first();
}

void Completed::let_go() {
  for (Request* r : requests_) r->let_go();
  requests_.clear();
}

void Stream::give_up(const std::exception_ptr& why) {
  const auto ends = [](const Request* r) {
    return r->phase() == Phase::launch || r->phase() == Phase::install;
  };
  if (!open_.empty() && ends(open_.front()) && std::exchange(first_left_, false))
    border_.is_lost(*open_.front());
  for (Request* r : open_) {
    r->held_up_.clear();
    if (!ends(r)) continue;
    r->failure_ = why;
    r->stops_clock = false;
    completed_.add(*r);
  }
  std::erase_if(open_, ends);
  send_first();
}

}  // namespace kernbench::runtime
