#include "runtime/tape.hpp"

#include <algorithm>

#include "device/installed_wiring.hpp"
#include "kernbench/error.hpp"
#include "runtime/stream.hpp"

namespace kernbench::runtime {

using device::Cause;
using device::OpKind;
using device::OpRecord;

bool operator==(const RestState& a, const RestState& b) {
  const auto same = [](const auto& x, const auto& y) { return x == y || in_same_place(*x, *y); };
  return a.positions == b.positions && std::ranges::equal(a.maps, b.maps, same);
}

void Tape::leaves(Request& request, Question question, std::pair<std::uint32_t, std::uint32_t> origins,
                  Time at, const Cause& because) {
  const auto number = static_cast<std::uint32_t>(asked.size());
  asked.push_back({&request, std::move(question), origins.first, origins.second});
  steps.push_back({.at = at, .asked = number, .leaves = true, .before = because, .record = {}});
}

void Tape::is_back(const Request& request, Time at, device::OpRef record) {
  const auto found = std::ranges::find(asked, &request, &Asked::request);
  KB_ASSERT(found != asked.end(), "{} '{}' is back and never left", to_string(request.phase()),
            request.name());
  steps.push_back({.at = at,
                   .asked = static_cast<std::uint32_t>(found - asked.begin()),
                   .leaves = false,
                   .before = {},
                   .record = record});
}

/// Or to what the host's requests waited for, which is compared when they leave.
bool Tape::refers_to_itself(const OpRecord& record) const {
  if (record.cause_serial == 0) return record.cause_instant == Time();
  if (record.cause_serial > before.serials[record.cause_partition]) return true;
  return std::ranges::any_of(steps, [&](const Step& step) {
    return step.leaves && step.before.ref == record.cause() && step.before.instant == record.cause_instant;
  });
}

void Tape::number_origins() {
  std::uint32_t next = 0;
  for (Asked& one : asked) {
    one.place = next;
    next += one.origins;
    by_origin_.push_back(&one);
  }
  std::ranges::sort(by_origin_, {}, &Asked::first_origin);
}

std::uint32_t Tape::place_of(std::uint32_t origin) const {
  const Asked& of = **std::prev(std::ranges::upper_bound(by_origin_, origin, {}, &Asked::first_origin));
  return of.place + (origin - of.first_origin);
}

bool Tape::close(const device::MachineCounts& now, const device::Origins& origins) {
  more = now.since(before);
  number_origins();
  for (Part& part : parts) {
    if (part.too_long) return false;
    for (std::size_t i = 0; i < part.records.size(); ++i) {
      OpRecord& record = part.records[i];
      if (!refers_to_itself(record)) return false;
      if (record.kind == OpKind::ipcq_send)
        part.send_rings.push_back(device::message_of(record, origins[record.origin]).ring);
      record.origin = place_of(record.origin);
    }
    for (device::Departure& departure : part.departures) departure.origin = place_of(departure.origin);
  }
  return true;
}

std::size_t Tape::bytes() const {
  std::size_t bytes = 0;
  for (const Part& part : parts) bytes += part.records.size() * sizeof(OpRecord);
  for (const Asked& one : asked)
    if (one.question.programs)
      for (const auto& program : one.question.programs->programs()) bytes += program->memory_bytes();
  return bytes;
}

TapeShift::TapeShift(const Tape& tape, Time began, device::MachineCounts further)
    : tape_(tape),
      by_(began - tape.began),
      serials_(std::move(further.serials)),
      rings_(std::move(further.rings)),
      origins_(tape.asked.empty() ? 0 : tape.asked.back().place + tape.asked.back().origins),
      records_(tape.parts.size()),
      departures_(tape.parts.size()),
      sends_(tape.parts.size()) {}

void TapeShift::add_origins(std::uint32_t asked, std::uint32_t first) {
  const Tape::Asked& one = tape_.asked[asked];
  for (std::uint32_t i = 0; i < one.origins; ++i) {
    // The host's part is the first; those of programs follow.
    const bool host = !one.question.programs || i == 0;
    const int sip = host ? -1 : one.question.programs->programs()[i - 1]->pe().sip;
    origins_[one.place + i] = {first + i, static_cast<std::uint16_t>(sip + 1)};
  }
}

bool TapeShift::is_same(const Cause& on_tape, const Cause& now) const {
  if (on_tape.reason != now.reason || static_cast<bool>(on_tape.ref) != static_cast<bool>(now.ref))
    return false;
  if (!now.ref) return on_tape.instant == now.instant && on_tape.met == now.met && now.met == Time();
  return now.ref == record(on_tape.ref) && now.instant == time(on_tape.instant) &&
         now.met == time(on_tape.met);
}

/// A send has a serial number of its sender's partition, and ends in another one.
OpRecord TapeShift::shifted(const Tape::Part& part, std::size_t partition, const OpRecord& on_tape) {
  OpRecord record = on_tape;
  const OriginShift& from = origins_[record.origin];
  const bool sends = record.kind == OpKind::ipcq_send;
  record.start += by_;
  record.end += by_;
  if (record.cause_serial != 0) record.cause_instant += by_;
  record.serial += serials_[sends ? from.partition : partition];
  record.origin = from.now;
  if (record.cause_serial != 0) record.cause_serial += serials_[record.cause_partition];
  // The numbers of messages: see op_record.hpp.
  if (sends) record.phase[2] += rings_[part.send_rings[sends_[partition]++]];
  if (record.kind == OpKind::ipcq_recv) record.phase[1] += rings_[record.phase[2]];
  return record;
}

void TapeShift::hand_on(Time until, device::OpSink& sink) {
  const Time on_tape = until - by_;
  for (std::size_t p = 0; p < tape_.parts.size(); ++p) {
    const Tape::Part& part = tape_.parts[p];
    const auto partition = static_cast<int>(p);
    for (std::size_t& i = records_[p]; i < part.records.size() && part.records[i].end <= on_tape; ++i)
      sink.append(partition, shifted(part, p, part.records[i]));
    for (std::size_t& i = departures_[p]; i < part.departures.size() && part.departures[i].at <= on_tape;
         ++i) {
      const device::Departure& d = part.departures[i];
      sink.departed(partition, {time(d.at), origins_[d.origin].now, d.command});
    }
  }
}

bool RecordTap::drops() const {
  return std::ranges::any_of(dropped_, [](const Dropped& d) { return d.records > 0 || d.departures > 0; });
}

void RecordTap::append(int partition, const OpRecord& record) {
  const auto p = static_cast<std::size_t>(partition);
  if (tape_ != nullptr) {
    Tape::Part& part = tape_->parts[p];
    part.too_long = part.too_long || part.records.size() >= most_;
    if (!part.too_long) part.records.push_back(record);
  }
  if (dropped_[p].records > 0)
    --dropped_[p].records;
  else
    next_.append(partition, record);
}

void RecordTap::departed(int partition, const device::Departure& departure) {
  const auto p = static_cast<std::size_t>(partition);
  if (tape_ != nullptr) tape_->parts[p].departures.push_back(departure);
  if (dropped_[p].departures > 0)
    --dropped_[p].departures;
  else
    next_.departed(partition, departure);
}

}  // namespace kernbench::runtime
