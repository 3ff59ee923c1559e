#include "models/dram_channel.hpp"

#include <algorithm>

#include "kernbench/error.hpp"

namespace kernbench::models {

namespace {

/// So long ago that it binds nobody.
constexpr Time kLongAgo = Time::from_ps(-1'000'000'000);

Refresh refresh_named(const std::string& name) {
  if (name == "none") return Refresh::none;
  if (name == "all_bank") return Refresh::all_bank;
  KB_ASSERT(name == "per_bank", "a refresh '{}'", name);
  return Refresh::per_bank;
}

}  // namespace

DramTiming DramTiming::of(const ParamSet& hbm) {
  return {.command = hbm.time("command_ns"),
          .bus = burst_time(hbm),
          .data = {hbm.time("tcl_ns"), hbm.time("tcwl_ns")},
          .activate = {hbm.time("trcd_read_ns"), hbm.time("trcd_write_ns")},
          .precharge = {hbm.time("trtp_ns"), hbm.time("twr_ns")},
          .turn = {hbm.time("trtw_ns"), hbm.time("twtr_ns")},
          .row_precharge = hbm.time("trp_ns"),
          .row_active = hbm.time("tras_ns"),
          .row_cycle = hbm.time("trc_ns"),
          .activates = hbm.time("trrd_ns"),
          .four_activates = hbm.time("tfaw_ns"),
          .same_group = hbm.time("tccd_l_ns")};
}

DramSpec DramSpec::of(const ParamSet& hbm) {
  DramSpec spec{.t = DramTiming::of(hbm),
                .banks = hbm.integer("banks"),
                .groups = hbm.integer("bank_groups"),
                .queue = static_cast<std::size_t>(hbm.integer("queue_bursts")),
                .high = static_cast<std::size_t>(hbm.integer("write_high")),
                .low = static_cast<std::size_t>(hbm.integer("write_low")),
                .cap = static_cast<std::uint16_t>(hbm.integer("cap")),
                .refresh = refresh_named(hbm.text("refresh")),
                .refresh_interval = hbm.time("refresh_interval_ns")};
  spec.refresh_time = hbm.time(spec.refresh == Refresh::per_bank ? "refresh_bank_ns" : "refresh_ns");
  if (spec.refresh_time == Time()) spec.refresh = Refresh::none;
  return spec;
}

/// The machine starts refreshed. Refreshes of banks are spread evenly over the interval.
DramChannel::DramChannel(const DramSpec& spec)
    : spec_(spec),
      banks_(static_cast<std::size_t>(spec.banks)),
      rows_(static_cast<std::size_t>(spec.banks), -1),
      group_mask_(static_cast<std::uint32_t>(spec.groups - 1)),
      group_free_(static_cast<std::size_t>(spec.groups), kLongAgo),
      last_activate_(kLongAgo),
      last_column_(kLongAgo),
      turned_(kLongAgo),
      refresh_due_(spec.refresh_interval) {
  activates_.fill(kLongAgo);
  for (std::size_t b = 0; b < banks_.size(); ++b) {
    const std::int64_t share = spec.refresh_interval.ps() * static_cast<std::int64_t>(b + 1) / spec.banks;
    banks_[b].refresh_due = Time::from_ps(share);
    banks_[b].activated = banks_[b].may_activate = banks_[b].may_precharge = banks_[b].may_reopen = kLongAgo;
  }
}

DramChannel::Burst& DramChannel::enter(Direction direction, Time now) {
  const auto d = static_cast<std::size_t>(direction);
  const std::uint32_t number = served_[d] + static_cast<std::uint32_t>(queues_[d].size());
  Burst& burst = queues_[d].emplace_back();
  burst.direction = direction;
  burst.came = now;
  burst.number = number;
  return burst;
}

Time DramChannel::least(Direction direction) const {
  return std::min({spec_.t.command, spec_.t.bus, spec_.t.turn[0], spec_.t.turn[1]}) +
         spec_.t.data[static_cast<std::size_t>(direction)] + spec_.t.bus;
}

DramChannel::Served DramChannel::serve(Time now) {
  turning_ = Time();
  refreshed_ = kLongAgo;
  const Time could_go = std::max(last_column_ + spec_.t.bus, now);
  const Direction direction = choose_direction();
  if (direction != direction_) turn_to(direction);
  const auto d = static_cast<std::size_t>(direction);
  Queue& queue = queues_[d];
  skip_refreshes(queue.front().came);
  Choice choice = choose(queue, d);
  while (refresh_before(choice, queue[choice.at])) choice = choose(queue, d);
  const Burst burst = queue[choice.at];
  count(choice, burst, could_go);
  issue(choice, burst, d);
  ++served_[d];
  queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(choice.at));
  return {burst.tag, burst.index, direction, choice.column + spec_.t.data[d] + spec_.t.bus};
}

/// Reads, until so many writes wait that a batch of them is worth turning the bus; or if there are no reads.
Direction DramChannel::choose_direction() {
  const std::size_t writes = queue(Direction::write).size();
  if (writes >= spec_.high) draining_ = true;
  if (writes <= spec_.low) draining_ = false;
  const bool write = writes > 0 && (draining_ || queue(Direction::read).empty());
  return write ? Direction::write : Direction::read;
}

/// Nobody has looked at this queue while the other one was served: its rows were not opened meanwhile.
void DramChannel::turn_to(Direction direction) {
  turned_ = direction == Direction::write ? last_activate_ : last_column_;
  direction_ = direction;
  const Time turn = spec_.t.turn[direction == Direction::write ? 0 : 1];
  turning_ = std::max(turn - spec_.t.bus, Time());  // of a slow bus none is left when the burst has passed
  last_column_ += turning_;
}

/// What of a bank's times does not bind is so long ago that no branch is needed: which of many bursts hit is anybody's guess.
inline Time DramChannel::activate_of(const Burst& burst, const Floors& floors) const {
  const Bank& bank = banks_[burst.bank];
  const Time first = std::max(burst.came, turned_) + spec_.t.command;
  return std::max(std::max(first + bank.to_close, bank.may_reopen), floors.activate);
}

inline Time DramChannel::column_of(const Burst& burst, const Floors& floors) const {
  const Time first = std::max(burst.came, turned_) + spec_.t.command;
  const Time hit = std::max(first, banks_[burst.bank].activated + floors.row);
  const Time miss = activate_of(burst, floors) + floors.row;
  const Time ready = hits(burst) ? hit : miss;
  return std::max(std::max(ready, floors.column), group_free_[burst.bank & group_mask_]);
}

/// The one whose column command can go earliest, the oldest of those; or the oldest of all, if too many have passed it. Once
/// one is found that nobody can beat who has to open a row, only those are looked at who have not.
DramChannel::Choice DramChannel::choose(const Queue& queue, std::size_t direction) const {
  const std::size_t end = served_[direction] - queue.front().number >= spec_.cap ? 1 : queue.size();
  const Floors floors{
      std::max(last_activate_ + spec_.t.activates, activates_[oldest_activate_] + spec_.t.four_activates),
      last_column_ + spec_.t.bus, spec_.t.activate[direction]};
  const Time opened = std::max(floors.column, floors.activate + floors.row);
  std::size_t at = 0;
  Time best = Time::never();
  const auto look_at = [&](std::size_t i) {
    const Time column = column_of(queue[i], floors);
    if (column >= best) return;
    best = column;
    at = i;
  };
  std::size_t i = 0;
  for (; i < end && best > opened; ++i) look_at(i);
  for (; i < end && best > floors.column; ++i)
    if (hits(queue[i])) look_at(i);
  const Burst& burst = queue[at];
  return {at, hits(burst) ? Time::from_ps(-1) : activate_of(burst, floors), best};
}

void DramChannel::refresh_bank(Bank& bank, Time at) {
  rows_[static_cast<std::size_t>(&bank - banks_.data())] = -1;
  bank.may_precharge = kLongAgo;
  bank.to_close = Time();
  bank.may_activate = bank.may_reopen = std::max(bank.may_activate, at + spec_.refresh_time);
}

/// Whether a refresh comes before the command: then it has closed the bank, or all of them. A refresh of all banks cannot begin
/// before the channel's last column command. A refresh of one bank begins when it is due, which may lie in the past: every command
/// of that bank that would have come later has waited for it.
bool DramChannel::refresh_before(const Choice& choice, const Burst& burst) {
  if (spec_.refresh == Refresh::none) return false;
  Bank& bank = banks_[burst.bank];
  Time& due = spec_.refresh == Refresh::all_bank ? refresh_due_ : bank.refresh_due;
  if (choice.column <= due) return false;
  const Time begin = spec_.refresh == Refresh::all_bank ? std::max(due, last_column_) : due;
  if (spec_.refresh == Refresh::per_bank)
    refresh_bank(bank, begin);
  else
    for (Bank& each : banks_) refresh_bank(each, begin);
  due += spec_.refresh_interval;
  refreshed_ = begin + spec_.refresh_time;
  return true;
}

/// Refreshes while nobody waited: the last one of them counts.
void DramChannel::skip_refreshes(Time now) {
  const auto skip = [&](Time& due) {
    const std::int64_t more = (now - due).ps() / spec_.refresh_interval.ps();
    if (more > 0) due += spec_.refresh_interval * more;
  };
  if (spec_.refresh == Refresh::none || now < refresh_due_) return;
  if (spec_.refresh == Refresh::all_bank) return skip(refresh_due_);
  for (Bank& bank : banks_) skip(bank.refresh_due);
  skip(refresh_due_);
}

void DramChannel::issue(const Choice& choice, const Burst& burst, std::size_t direction) {
  Bank& bank = banks_[burst.bank];
  if (choice.activate >= Time()) {
    rows_[burst.bank] = burst.row;
    bank.activated = choice.activate;
    bank.may_activate = choice.activate + spec_.t.row_cycle;
    bank.may_precharge = choice.activate + spec_.t.row_active;
    bank.to_close = spec_.t.row_precharge;
    last_activate_ = choice.activate;
    activates_[oldest_activate_] = choice.activate;
    oldest_activate_ = (oldest_activate_ + 1) % activates_.size();
  }
  bank.may_precharge = std::max(bank.may_precharge, choice.column + spec_.t.precharge[direction]);
  bank.may_reopen = std::max(bank.may_activate, bank.may_precharge + bank.to_close);
  group_free_[burst.bank & group_mask_] = choice.column + spec_.t.same_group;
  last_column_ = choice.column;
}

/// Bytes have the bus; before them the channel has waited since the bus could have had them.
void DramChannel::count(const Choice& choice, const Burst& burst, Time could_go) {
  MemoryActivity& a = activity_;
  ++(burst.direction == Direction::read ? a.reads : a.writes);
  const bool hit = choice.activate < Time();
  ++(hit ? a.hits : rows_[burst.bank] < 0 ? a.closed : a.conflicts);
  a.data += spec_.t.bus;
  Time waited = std::max(choice.column - could_go, Time());
  const auto take = [&](Time& from, Time most) {
    const Time part = std::clamp(most, Time(), waited);
    from += part;
    waited -= part;
  };
  take(a.turns, turning_);
  take(a.refresh, refreshed_ - could_go);
  take(hit && choice.column == group_free_[burst.bank & group_mask_] ? a.groups : a.rows, waited);
}

}  // namespace kernbench::models
