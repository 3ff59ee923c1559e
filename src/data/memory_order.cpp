#include "data/memory_order.hpp"

#include <algorithm>
#include <set>

#include "kernbench/error.hpp"

namespace kernbench::data {
namespace {

using isa::CommandIndex;
using isa::CommandKind;

bool holds_issue(CommandKind kind) {
  return kind == CommandKind::wait || kind == CommandKind::fence || kind == CommandKind::load_scalar;
}

// Calls fn with the commands that made the tiles a command reads.
template <class Fn>
void for_producers(const isa::Program& program, CommandIndex command, Fn&& fn) {
  for (const auto id : program.reads(program.command(command)))
    if (const auto producer = program.value(id).producer; producer != isa::kNone) fn(producer);
}

}  // namespace

// ── requests of the host ──

MemoryOrder::Request& MemoryOrder::request(std::uint32_t number) {
  if (number >= requests_.size()) requests_.resize(number + 1);
  if (requests_[number]) return *requests_[number];
  const auto order = facts_.request_order(number);
  const auto [at, is_new] = streams_.try_emplace(order.stream);
  auto& stream = at->second;
  if (is_new) stream.agent = agents_++;
  std::vector<ClockPtr> before;
  if (!is_new) before.push_back(end_of(stream.current));
  for (const auto other : order.after) before.push_back(end_of(other));
  if (order.after_all != nullptr) before.push_back(end_of_all(*order.after_all));
  stream.current = number;
  requests_[number] = std::make_unique<Request>(
      Request{clocks_.join(before), stream.requests++, stream.agent, {}, false, nullptr});
  return *requests_[number];
}

/// To be asked only when the request has completed.
ClockPtr MemoryOrder::end_of(std::uint32_t number) {
  auto& r = request(number);
  if (r.completed) return r.end;
  std::vector<ClockPtr> ends{clocks_.with(r.start, r.stream, r.position + 1)};
  for (const auto origin : r.timelines) ends.push_back(end_of_timeline(*timelines_[origin]));
  r.end = clocks_.join(ends);
  r.completed = true;
  return r.end;
}

ClockPtr MemoryOrder::end_of_all(const std::vector<std::uint32_t>& requests) {
  if (const auto known = ends_.find(&requests); known != ends_.end()) return known->second;
  std::vector<ClockPtr> ends;
  for (const auto number : requests) ends.push_back(end_of(number));
  return ends_[&requests] = clocks_.join(ends);
}

ClockPtr MemoryOrder::end_of_timeline(Timeline& mine) {
  const auto all = static_cast<CommandIndex>(mine.program->commands().size());
  return after_fence(mine, issue_clock(mine, all), all);
}

MemoryOrder::Timeline& MemoryOrder::new_timeline(std::uint32_t origin) {
  if (origin >= timelines_.size()) timelines_.resize(origin + 1);
  const auto& from = facts_.origin(origin);
  auto& r = request(from.launch);
  auto& mine = *(timelines_[origin] = std::make_unique<Timeline>());
  if (from.program == nullptr) {
    mine.agent = r.stream;
    mine.base = r.position;
    mine.issue.push_back({0, r.start});
    return mine;
  }
  const auto [pe, is_new] = pes_.try_emplace(from.pe, agents_, 0);
  if (is_new) ++agents_;
  const auto& commands = from.program->commands();
  mine.program = from.program;
  mine.agent = pe->second.first;
  mine.base = pe->second.second;
  pe->second.second += commands.size();
  // A PE runs one program after the other.
  mine.issue.push_back({0, clocks_.with(r.start, mine.agent, mine.base)});
  mine.steps.resize(commands.size());
  for (CommandIndex i = 0; i < commands.size(); ++i)
    if (holds_issue(commands[i].kind)) mine.controls.push_back(i);
  r.timelines.push_back(origin);
  return mine;
}

// ── clocks of commands ──

/// What a command before the fence learned from a receive is known after it.
ClockPtr MemoryOrder::after_fence(Timeline& mine, ClockPtr before, CommandIndex fence) {
  std::vector<ClockPtr> learned{before};
  for (auto i = mine.last_fence; i < fence; ++i)
    if (mine.program->command(i).kind == CommandKind::ipcq_recv) learned.push_back(clock_of(mine, i));
  return clocks_.with(clocks_.join(learned), mine.agent, mine.base + fence);
}

void MemoryOrder::pass(Timeline& mine, CommandIndex control) {
  const auto& c = mine.program->command(control);
  auto clock = mine.issue.back().clock;
  if (c.kind == CommandKind::fence) {
    clock = after_fence(mine, clock, control);
    mine.last_fence = control;
  } else if (c.kind == CommandKind::wait) {
    clock = clocks_.join(clock, clock_of(mine, mine.program->waited(c)));
  }
  if (clock != mine.issue.back().clock) mine.issue.push_back({control + 1, clock});
}

/// Whoever asks has been issued, so what held back issue before it has passed.
ClockPtr MemoryOrder::issue_clock(Timeline& mine, CommandIndex command) {
  while (mine.controls_passed < mine.controls.size() && mine.controls[mine.controls_passed] < command)
    pass(mine, mine.controls[mine.controls_passed++]);
  if (mine.issue.back().from <= command) return mine.issue.back().clock;
  const auto after = std::ranges::upper_bound(mine.issue, command, {}, &Mark::from);
  return std::prev(after)->clock;
}

ClockPtr MemoryOrder::clock_of(Timeline& mine, CommandIndex command) {
  const ClockPtr known = mine.steps[command].known;
  return known == nullptr ? issue_clock(mine, command) : known;
}

ClockPtr MemoryOrder::operands_clock(Timeline& mine, CommandIndex command) {
  const ClockPtr issue = issue_clock(mine, command);
  ClockPtr clock = nullptr;
  bool same_issue = false;  // then a producer knew what issue does
  for_producers(*mine.program, command, [&](CommandIndex producer) {
    clock = clocks_.join(clock, clock_of(mine, producer));
    same_issue = same_issue || producer >= mine.issue.back().from;
  });
  return same_issue ? clock : clocks_.join(issue, clock);
}

void MemoryOrder::note(Timeline& mine, CommandIndex command, ClockPtr clock) {
  mine.steps[command].ended = ++now_;
  mine.steps[command].known = clock;
}

void MemoryOrder::ended(const Event& event) {
  auto& l = timeline(event.origin);
  if (l.program != nullptr) note(l, event.command, operands_clock(l, event.command));
}

void MemoryOrder::sent(const Event& event, const Message& message) {
  auto& l = timeline(event.origin);
  const auto clock = operands_clock(l, event.command);
  if (l.steps[event.command].ended == 0) note(l, event.command, clock);
  if (message.ring >= sent_.size()) sent_.resize(message.ring + 1);
  sent_[message.ring].push_back({message.number, event, clock});
}

void MemoryOrder::received(const Event& event, const Message& message) {
  auto& l = timeline(event.origin);
  if (message.ring >= sent_.size()) sent_.resize(message.ring + 1);
  auto& sent = sent_[message.ring];
  const auto found = std::ranges::find(sent, message.number, &Sent::number);
  KB_ASSERT(found != sent.end(), "message {} of ring {:#x} is received before the record of its send",
            message.number, message.ring);
  note(l, event.command, clocks_.join(issue_clock(l, event.command), found->clock));
  l.steps[event.command].send = found->event;
  l.receives.push_back(event.command);
  sent.erase(found);
}

void MemoryOrder::overlapped(const Event& earlier, const Event& later) {
  if (earlier.origin == later.origin && earlier.command != later.command && later.command != isa::kNone)
    timeline(later.origin).overlaps.emplace_back(later.command, earlier.command);
}

ClockPtr MemoryOrder::clock_of(const Event& event) {
  auto& l = timeline(event.origin);
  return l.program == nullptr ? l.issue.front().clock : clock_of(l, event.command);
}

// ── the search ──

/// Looks for a chain from one event to a later one, backwards.
class MemoryOrder::Search {
 public:
  Search(MemoryOrder& order, const Event& target)
      : order_(order),
        target_(target),
        agent_(order.agent_of(target)),
        position_(order.position_of(target)),
        ended_(order.timeline(target.origin).steps[target.command].ended) {}

  bool reaches_from(const Event& start) {
    push(start);
    while (!open_.empty()) {
      const auto event = open_.back();
      open_.pop_back();
      if (event == target_ || Clock::covers(order_.clock_of(event), agent_, position_)) return true;
      push_causes(event);
    }
    return false;
  }

 private:
  void push(const Event& event) {
    const auto ended =
        order_.timeline(event.origin).steps[event.command].ended;  // 0: a send whose bytes are on their way
    const bool later = event == target_ || ended == 0 || ended > ended_;
    if (later && seen_.emplace(event.origin, event.command).second) open_.push_back(event);
  }

  /// They are put in order when somebody asks, which is seldom.
  static auto overlaps_of(Timeline& l, CommandIndex later) {
    if (l.overlaps_in_order < l.overlaps.size()) std::ranges::sort(l.overlaps);
    l.overlaps_in_order = l.overlaps.size();
    return std::ranges::equal_range(l.overlaps, later, {}, [](const auto& one) { return one.first; });
  }

  void push_causes(const Event& event) {
    auto& l = order_.timeline(event.origin);
    const auto push_own = [&](CommandIndex c) { push({event.origin, c}); };
    for_producers(*l.program, event.command, push_own);
    for (const auto& [later, earlier] : overlaps_of(l, event.command)) push_own(earlier);
    if (const Event send = l.steps[event.command].send; send.command != isa::kNone) push(send);
    push_waited(l, event);
  }

  /// What issue waited for: back to the last fence one by one; before it everything, of which only receives
  /// can know of another PE.
  void push_waited(Timeline& l, const Event& event) {
    auto control = std::ranges::lower_bound(l.controls, event.command);
    while (control != l.controls.begin()) {
      const auto at = *--control;
      const auto& c = l.program->command(at);
      if (c.kind == CommandKind::fence) return push_receives_before(l, event.origin, at);
      push({event.origin, c.kind == CommandKind::wait ? l.program->waited(c) : at});
    }
  }

  void push_receives_before(const Timeline& l, std::uint32_t origin, CommandIndex fence) {
    for (auto c = l.receives.rbegin(); c != l.receives.rend() && l.steps[*c].ended > ended_; ++c)
      if (*c < fence) push({origin, *c});
  }

  MemoryOrder& order_;
  Event target_;
  Agent agent_;
  std::uint64_t position_;
  std::uint64_t ended_;
  std::vector<Event> open_;
  std::set<std::pair<std::uint32_t, CommandIndex>> seen_;
};

bool MemoryOrder::is_before(const Event& a, const Event& b) {
  if (Clock::covers(clock_of(b), agent_of(a), position_of(a))) return true;
  // The clocks know all there is to know of host requests and whole launches.
  if (timeline(a.origin).program == nullptr || timeline(b.origin).program == nullptr) return false;
  return Search(*this, a).reaches_from(b);
}

}  // namespace kernbench::data
