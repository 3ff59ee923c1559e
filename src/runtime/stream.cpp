#include "runtime/stream.hpp"

#include <array>

#include "kernbench/error.hpp"

namespace kernbench::runtime {

using device::Cause;
using device::Reason;

std::string_view to_string(Phase phase) {
  constexpr std::array<std::string_view, 6> kNames = {"map", "unmap", "write", "read", "launch", "install"};
  return kNames[static_cast<std::size_t>(phase)];
}

Trace Request::trace() const {
  KB_ASSERT(done(), "the trace of {} '{}', which is not complete", to_string(phase_), name_);
  const Time total = completed_ - left_;
  return {.phase = phase_,
          .name = name_,
          .sip = stream_->sip(),
          .submitted = submitted_,
          .queued = left_ - submitted_,
          .total = total,
          .network = total};
}

void Request::complete(device::OpRef record) {
  completed_ = stream_->host_.now();
  record_ = record;
  if (stops_clock) stream_->host_.stop();
  stream_->first_completed();
}

void Stream::submit(std::shared_ptr<Request> request, HostThread& by) {
  Request& r = *request;
  r.number_ = next_number();
  r.stream_ = this;
  r.submitted_ = host_.now();
  r.host_ = by.waited;
  seen_.resize(std::max(seen_.size(), by.seen.size()));
  for (std::size_t s = 0; s < by.seen.size(); ++s) {
    if (static_cast<int>(s) == number_ || by.seen[s] <= seen_[s]) continue;
    seen_[s] = by.seen[s];
    r.after_.push_back(by.seen[s] - 1);
  }
  requests_.push_back(std::move(request));
  last_ = &r;
  open_.push_back(&r);
  if (open_.size() == 1) send_first();
}

/// It leaves because the one before it has completed, or because the host had waited for something.
void Stream::send_first() {
  Request& r = *open_.front();
  r.left_ = host_.now();
  Cause before = last_completion_;
  if (r.host_.met > before.met) before = r.host_;
  r.leave(before);
}

void Stream::first_completed() {
  Request& r = *open_.front();
  open_.pop_front();
  completed_.push_back(&r);
  last_completion_ = Cause::at(r.record_, r.completed_, Reason::start);
  if (!open_.empty()) send_first();
}

void Stream::let_go() {
  for (Request* r : completed_) r->let_go();
  completed_.clear();
}

}  // namespace kernbench::runtime
