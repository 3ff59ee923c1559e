#include "runtime/repeats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kernbench/error.hpp"
#include "runtime/requests.hpp"
#include "trace/hash.hpp"

namespace kernbench::runtime {

using device::Cause;

namespace {

/// All tapes together; one that grows beyond is given up.
constexpr std::size_t kMostBytes = std::size_t{1} << 30;
/// A look at the whole machine is worth it after so many commands for each of its links.
constexpr std::uint64_t kLinksOfACommand = 4;

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  trace::Hash hash;
  hash.add(a);
  hash.add(b);
  return hash.value();
}

std::uint64_t work_of(const Request& request) {
  if (request.phase() != Phase::launch) return 0;
  return static_cast<const LaunchRequest&>(request).program_set()->commands();
}

}  // namespace

Repeats::Repeats(device::Processors& processors, Clock& clock, const TorchOptions& options)
    : processors_(processors),
      simulation_(processors.device().simulation()),
      host_(processors.device().host_partition()),
      clock_(clock),
      options_(options),
      rest_(processors),
      on_(options.skip && rest_.is_possible()),
      enough_(processors.device().graph().link_count() / kLinksOfACommand),
      work_(enough_),
      resend_(*this) {}

Repeats::~Repeats() = default;

void Repeats::set_sink(device::OpSink& sink) {
  sink_ = &sink;
  tap_ = std::make_unique<RecordTap>(sink, static_cast<std::size_t>(simulation_.partitions()));
  choose_sink();
}

/// Where nothing is kept or dropped, records need not pass by here.
void Repeats::choose_sink() {
  const auto partitions = static_cast<std::size_t>(simulation_.partitions());
  tap_->keep_on(taping_.get(), kMostBytes / sizeof(device::OpRecord) / partitions);
  processors_.writer().set_sink(taping_ || tap_->drops() ? tap_.get() : sink_);
}

// ── what passes ──

/// While the clock runs nobody can look at the machine. The clock stops then; what is held leaves at this instant.
void Repeats::leaves(Request& request, const Cause& before) {
  if (running_ && on_ && (!held_.empty() || may_rest())) {
    held_.push_back({&request, before, host_.now()});
    return host_.stop();
  }
  if (plays() && next_ == playing_->steps.size()) complete();
  if (on_ && !plays() && may_rest()) begin_stretch();
  send(request, before);
}

void Repeats::send(Request& request, const Cause& before) {
  ++out_;
  if (undecided_) decide(request, before);
  if (plays()) {
    if (follows(request, before)) return;
    diverge(request.question().digest());
  }
  if (on_) note(request, before);
  request.leave(before);
}

/// It is simulated.
void Repeats::note(Request& request, const Cause& before) {
  Question question = request.question();
  if (question.comes_again) seen_.insert(question.digest());
  if (!taping_) return;
  if (question.comes_again)
    return taping_->leaves(request, std::move(question), request.origins(), host_.now(), before);
  taping_.reset();
  choose_sink();
}

void Repeats::is_back(Request& request) {
  --out_;
  work_ += work_of(request);
  told_ = told_ || request.stops_clock;
  if (taping_) taping_->is_back(request, host_.now(), request.record());
  if (request.phase() == Phase::map || request.phase() == Phase::unmap) note_map(request.question());
}

void Repeats::is_lost(Request&) { --out_; }

void Repeats::note_map(const Question& question) {
  if (question.phase == Phase::map)
    maps_[question.storage->base] = question.storage;
  else
    maps_.erase(question.storage->base);
}

void Repeats::let_held_go() {
  for (const Sent& one : std::exchange(held_, {})) leaves(*one.request, one.before);
}

bool Repeats::run_until_stopped(const Request* awaited) {
  told_ = false;
  let_held_go();  // that an interrupt has left
  while (!told_) {
    if (plays() && play()) return true;
    if (!told_ && !simulate_until_stopped(awaited)) return told_;
  }
  return true;
}

bool Repeats::simulate_until_stopped(const Request* awaited) {
  bool stopped = false;
  running_ = true;
  try {
    stopped = clock_.run_until_stopped(awaited);
  } catch (...) {
    running_ = false;
    throw;
  }
  running_ = false;
  let_held_go();
  return stopped;
}

// ── stretches ──

RestState Repeats::state() const {
  RestState state{rest_.positions(), {}};
  for (const auto& [base, storage] : maps_) state.maps.push_back(storage);
  return state;
}

/// If the machine is not at rest, the stretch there is goes on.
void Repeats::begin_stretch() {
  if (!rest_.is_now()) return;
  end_tape();
  work_ = 0;
  sent_.clear();
  began_ = host_.now();
  state_ = state();
  undecided_ = true;
}

void Repeats::decide(Request& request, const Cause& before) {
  undecided_ = false;
  const Question question = request.question();
  playing_ = find(question, before);
  if (playing_ != nullptr) {
    shift_.emplace(*playing_, began_, rest_.counts().since(playing_->before));
    playing_->used = ++uses_;
    next_ = 0;
  } else if (question.comes_again && seen_.contains(question.digest())) {
    begin_tape();
  }
}

Tape* Repeats::find(const Question& question, const Cause& before) {
  const auto fits = [&](const auto& tape) {
    const Tape::Step& first = tape->steps.front();
    return tape->state == *state_ && tape->asked.front().question == question &&
           TapeShift(*tape, began_, rest_.counts().since(tape->before)).is_same(first.before, before);
  };
  const auto found = std::ranges::find_if(tapes_, fits);
  return found == tapes_.end() ? nullptr : found->get();
}

// ── tapes ──

void Repeats::begin_tape() {
  taping_ = std::make_unique<Tape>(static_cast<std::size_t>(simulation_.partitions()));
  taping_->state = *state_;
  taping_->before = rest_.counts();
  taping_->began = began_;
  choose_sink();
}

void Repeats::end_tape() {
  if (!taping_) return;
  std::unique_ptr<Tape> tape = std::move(taping_);
  choose_sink();
  if (!tape->close(rest_.counts(), processors_.origins())) return;
  make_room(tape->bytes());
  tape->used = ++uses_;
  tapes_.push_back(std::move(tape));
}

/// Those that were not used for longest go.
void Repeats::make_room(std::size_t bytes) {
  const auto all = [this] {
    std::size_t sum = 0;
    for (const auto& tape : tapes_) sum += tape->bytes();
    return sum;
  };
  while (!tapes_.empty() && all() + bytes > kMostBytes)
    tapes_.erase(std::ranges::min_element(tapes_, {}, [](const auto& tape) { return tape->used; }));
}

// ── taking over ──

bool Repeats::follows(Request& request, const Cause& before) {
  if (next_ == playing_->steps.size()) return false;
  const Tape::Step& step = playing_->steps[next_];
  if (!step.leaves || shift_->time(step.at) != host_.now() || !shift_->is_same(step.before, before) ||
      !(playing_->asked[step.asked].question == request.question()))
    return false;
  shift_->add_origins(step.asked, request.origins().first);
  sent_.push_back({&request, before, host_.now()});
  ++next_;
  return true;
}

/// To the instant at which the host is told something it waits for; false: the machine has to go on by itself.
bool Repeats::play() {
  while (plays() && next_ < playing_->steps.size()) {
    check_interrupt();
    const Tape::Step& step = playing_->steps[next_];
    const Time at = shift_->time(step.at);
    if (told_ && (step.leaves || at > host_.now())) break;
    if (step.leaves) {  // not this time
      diverge(0);
      return told_;
    }
    if (at > host_.now()) simulation_.set_clock(at);
    ++next_;
    sent_[step.asked].request->take_over(*playing_->asked[step.asked].request, shift_->record(step.record));
  }
  if (plays() && next_ == playing_->steps.size()) complete();
  if (plays()) shift_->hand_on(host_.now(), *sink_);
  return told_;
}

void Repeats::check_interrupt() {
  if (options_.interrupt == nullptr || !*options_.interrupt) return;
  clock_.note_interrupt();
  throw Interrupted(
      {"runtime.interrupted", "", fmt::format("the run was stopped at {}", to_string(host_.now())), ""});
}

/// The whole tape has come again: the machine is as it would be.
void Repeats::complete() {
  shift_->hand_on(host_.now(), *sink_);
  rest_.add(playing_->more);
  apply_maps();
  for (const Sent& one : sent_) launches_ += one.request->phase() == Phase::launch ? 1 : 0;
  shift_.reset();
  playing_ = nullptr;
  sent_.clear();
  work_ = enough_;
}

/// What is mapped and unmapped again has left no trace.
void Repeats::apply_maps() {
  device::Device& device = processors_.device();
  std::map<address::VirtAddr, std::shared_ptr<const Storage>> mapped;
  const auto for_each_map = [&](const Storage& storage, const auto& fn) {
    for (int cube = 0; cube < device.machine().cubes(); ++cube)
      for (int pe = 0; pe < device.machine().pes(); ++pe) fn(device.mmu({storage.sip, cube, pe}));
  };
  for (const Sent& one : sent_) {
    const Question question = one.request->question();
    if (question.phase == Phase::map) mapped[question.storage->base] = question.storage;
    if (question.phase != Phase::unmap || mapped.erase(question.storage->base) > 0) continue;
    for_each_map(*question.storage,
                 [&](address::MmuMap& map) { map.erase(question.storage->base, question.storage->size()); });
  }
  for (const auto& [base, storage] : mapped)
    for_each_map(*storage, [&](address::MmuMap& map) { map.insert(storage->segment(map.pe())); });
}

/// Something else comes than the tape has. What leaves a tape in the same way for the second time is kept as well.
void Repeats::diverge(std::uint64_t digest) {
  const std::uint64_t way = mixed(mixed(digest, next_), playing_->asked.front().question.digest());
  const bool again = !seen_.insert(way).second;
  shift_->hand_on(host_.now(), *sink_);
  if (again) {
    begin_tape();
    copy_steps();
  }
  simulate_again();
}

/// The begin of the tape that is left, as the host saw it.
void Repeats::copy_steps() {
  for (std::size_t i = 0; i < next_; ++i) {
    const Tape::Step& step = playing_->steps[i];
    const Sent& sent = sent_[step.asked];
    if (step.leaves)
      taping_->leaves(*sent.request, sent.request->question(), sent.request->origins(), sent.at, sent.before);
    else
      taping_->is_back(*sent.request, sent.request->completed(), sent.request->record());
  }
}

/// The machine does what it was not asked to do, from the begin of the stretch to now. Records that were handed on are dropped.
void Repeats::simulate_again() {
  const Time now = host_.now();
  for (std::size_t p = 0; p < shift_->handed_on().size(); ++p)
    tap_->drop_first(p, shift_->handed_on()[p], shift_->departures_handed_on()[p]);
  shift_.reset();
  playing_ = nullptr;
  choose_sink();
  simulation_.set_clock(began_);
  resent_ = 0;
  if (!sent_.empty()) host_.schedule_at(resend_, sent_.front().at);
  clock_.run_to(now);
  KB_ASSERT(!tap_->drops() && resent_ == sent_.size(), "what was taken over did not come again by {}",
            to_string(now));
  sent_.clear();
  choose_sink();
}

void Repeats::resend() {
  const Sent& one = sent_[resent_++];
  one.request->leave(one.before);
  if (resent_ < sent_.size()) host_.schedule_at(resend_, sent_[resent_].at);
}

void Repeats::catch_up() {
  if (!plays() || clock_.interrupted()) return;
  shift_->hand_on(host_.now(), *sink_);
  simulate_again();
}

void Repeats::stop() {
  stopped_for_good_ = true;
  catch_up();
  taping_.reset();
  undecided_ = false;
  choose_sink();
  let_held_go();
}

void Repeats::go_on() {
  tapes_.clear();
  seen_.clear();
  stopped_for_good_ = false;
}

}  // namespace kernbench::runtime
