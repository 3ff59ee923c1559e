#include <kernbench/sim/partition.hpp>
#include <kernbench/sim/process.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

namespace kernbench::sim {

namespace {
constexpr std::uint64_t kEventsPerInterruptCheck = 1024;
constexpr std::uint64_t kLast = ~std::uint64_t{0};  // the rank of who chooses behind all others

bool later(const Letter& a, const Letter& b) {
  return std::tie(a.at, a.from, a.seq) > std::tie(b.at, b.from, b.seq);
}
}  // namespace

void Mailbox::put(const Letter& letter) {
  letters_.push_back(letter);
  std::push_heap(letters_.begin(), letters_.end(), later);
}

Event& Mailbox::take() {
  std::pop_heap(letters_.begin(), letters_.end(), later);
  Event& e = *letters_.back().event;
  letters_.pop_back();
  e.next_ = nullptr;
  return e;
}

void Mailbox::clear() {
  while (!letters_.empty()) take();
}

Partition::~Partition() { destroy_processes(); }

void Partition::post(Partition& to, Event& e, Time delay) {
  if (&to == this) return schedule(e, delay);
  KB_ASSERT(delay >= lookahead_,
            "a message from partition {} to {} takes {} ps, less than the lookahead of {} ps", id_, to.id_,
            delay.ps(), lookahead_.ps());
  KB_ASSERT(!e.scheduled(), "an event for {} ps was posted while still scheduled", e.time().ps());
  const Time at = now() + delay;
  if (at == Time::never()) return;
  Mailbox::seal(e, at);
  const Letter letter{at, id_, letters_sent_++, &e, &to};
  if (to.worker_ == worker_)
    to.deliver(letter);
  else
    (*bags_)[static_cast<std::size_t>(to.worker_)].push_back(letter);
}

void Partition::deliver(const Letter& letter) {
  mail_.put(letter);
  next_ = std::min(next_, letter.at);
}

// Runs every event at or before `limit`, unless one stops the partition.
void Partition::run(Time limit, const std::atomic<bool>* interrupt) {
  try {
    run_events(limit, interrupt);
  } catch (...) {
    fail(std::current_exception());
  }
  next_ = next_time();
}

void Partition::choose(Event& e, std::uint64_t rank) {
  KB_ASSERT(!e.scheduled(), "an event that is scheduled for {} ps asked to choose", e.time().ps());
  Mailbox::seal(e, now());
  choices_.push_back({rank, choices_.size(), &e});
}

bool Partition::would_have_chosen(std::uint64_t rank, std::uint32_t round) const {
  if (this->round() != round + 1) return this->round() > round;
  return rank < rank_;
}

void Partition::choose_after_all(Event& e, std::uint64_t rank, std::uint32_t round) {
  if (this->round() <= round) return choose(e, rank);
  Mailbox::seal(e, now());
  const Choice choice{rank, 0, &e};
  const auto after = [](const Choice& a, const Choice& b) { return b < a; };
  choosing_.insert(std::upper_bound(choosing_.begin(), choosing_.end(), choice, after), choice);
}

/// Called after every event, wherever it fires: none of the loops below can go on for ever without looking.
void Partition::look_for_interrupt(const std::atomic<bool>* interrupt) {
  if (events_ < next_look_) return;
  next_look_ = events_ + kEventsPerInterruptCheck;
  if (interrupt != nullptr && interrupt->load(std::memory_order_relaxed)) stop();
}

/// One round: those who have asked so far. A round that was stopped goes on where it was.
void Partition::run_choices(const std::atomic<bool>* interrupt) {
  if (choosing_.empty()) {
    std::swap(choices_, choosing_);
    round_ = round() + 1;
    round_at_ = now();
    // The first is taken from the back.
    std::sort(choosing_.begin(), choosing_.end(), [](const Choice& a, const Choice& b) { return b < a; });
  }
  while (!choosing_.empty() && !stop_) {
    Event& e = *choosing_.back().event;
    rank_ = choosing_.back().rank;
    choosing_.pop_back();
    Mailbox::open(e);
    ++events_;
    e.fire();
    look_for_interrupt(interrupt);
  }
  if (choosing_.empty()) rank_ = kLast;
}

void Partition::run_events(Time limit, const std::atomic<bool>* interrupt) {
  while (true) {
    run_own(std::min(limit, mail_.next() - Time::from_ps(1)), interrupt);
    if (stop_ || mail_.empty() || mail_.next() > limit) return;
    queue_.advance(mail_.next());
    ++events_;
    mail_.take().fire();
    look_for_interrupt(interrupt);
    if (stop_) return;
  }
}

// Most events resume a process: known here, that takes one indirect call less.
static inline void fire(Event& e) {
  if (e.calls(&detail::ProcessState::resume))
    detail::ProcessState::resume(e);
  else
    e.fire();
}

void Partition::run_own(Time limit, const std::atomic<bool>* interrupt) {
  while (true) {
    Event* e = choosing_.empty() ? queue_.pop(choices_.empty() ? limit : std::min(limit, now())) : nullptr;
    if (!e) {
      if (!has_choices() || limit < now()) return;
      run_choices(interrupt);
      if (stop_) return;
      continue;
    }
    ++events_;
    fire(*e);
    look_for_interrupt(interrupt);
    if (stop_) return;
  }
}

void Partition::fail(std::exception_ptr error) {
  error_ = std::move(error);
  stop();
}

void Partition::reset() {
  queue_.clear();
  mail_.clear();
  for (auto* choices : {&choices_, &choosing_}) {
    for (const Choice& choice : *choices) Mailbox::open(*choice.event);
    choices->clear();
  }
  destroy_processes();
  letters_sent_ = events_ = next_look_ = 0;
  round_at_ = Time::from_ps(-1);
  error_ = nullptr;
  next_ = Time::never();
}

}  // namespace kernbench::sim
