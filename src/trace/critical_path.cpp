// The walk back from the last completion. At every moment the walk stands at an instant, inside or at the end
// of a record, and only moves back in time, so its pieces tile the run by construction.
#include <algorithm>
#include <map>

#include "kernbench/error.hpp"
#include "trace/recording.hpp"

namespace kernbench::trace {
namespace {

using device::Reason;

constexpr std::string_view kUnfinished = "unfinished";

std::string_view gap_name(Reason reason) {
  constexpr std::array<std::string_view, device::kReasons> kNames = {
      "wait_operand", "wait_engine", "wait_queue", "wait_credit", "wait_scratch", "wait_issue", "wait_start"};
  return kNames[static_cast<std::size_t>(reason)];
}

class Walk {
 public:
  Walk(const Recording& run, CriticalPath& path) : run_(run), path_(path) {}

  void back_from(OpId last) {
    at_ = last, now_ = path_.end;
    std::uint64_t steps_at_once = 0;
    const auto most = 2 * count(run_.records) + 1;
    for (bool more = true; more && now_ > path_.begin;) {
      const Time before = now_;
      more = step();
      steps_at_once = now_ == before ? steps_at_once + 1 : 0;
      if (steps_at_once > most)
        throw InputError({"trace.circle", "",
                          fmt::format("the causes of records at {} form a circle", to_string(now_)),
                          "this op log is damaged; record the run again"});
    }
    std::reverse(path_.pieces.begin(), path_.pieces.end());
  }

 private:
  /// Through the record and to its cause; false at the first submit.
  bool step() {
    const auto& r = record(run_.records, at_);
    add_phases(r);
    if (!r.cause()) return add(path_.begin, gap_name(Reason::start), to_string(r.reason)), false;
    const auto cause = run_.causes().find(r.cause());
    if (!cause) return add(path_.begin, kUnfinished, to_string(r.reason)), false;
    const Time met = std::min(r.cause_instant, record(run_.records, *cause).end);
    add(std::max(met, path_.begin), gap_name(r.reason), to_string(r.reason));
    at_ = *cause;
    return true;
  }

  void add_phases(const OpRecord& r) {
    const auto phases = phases_of(r);
    Time end = r.end;
    for (auto i = static_cast<std::size_t>(phases.count); i-- > 0;) {
      end -= phases.length[i];
      add(end, to_string(phases.resource[i]), to_string(r.reason));
    }
  }

  /// Moves back to `begin`, unless the walk is there already.
  void add(Time begin, std::string_view what, std::string_view reason) {
    begin = std::max(begin, path_.begin);
    if (begin >= now_) return;
    path_.pieces.push_back({begin, now_, what, reason, at_});
    now_ = begin;
  }

  const Recording& run_;
  CriticalPath& path_;
  OpId at_;
  Time now_;
};

std::optional<OpId> last_completion(const Records& records) {
  std::optional<OpId> last;
  for (std::size_t p = 0; p < records.size(); ++p) {
    if (records[p].size() == 0) continue;
    const OpId candidate{static_cast<std::uint16_t>(p), records[p].size() - 1};
    if (!last || record(records, candidate).end >= record(records, *last).end) last = candidate;
  }
  return last;
}

Time first_submit(const Records& records) {
  Time first = Time::never();
  for (const auto& partition : records)
    for (std::uint32_t id = 0; id < partition.size(); ++id) first = std::min(first, partition[id].start);
  return first;
}

std::vector<Share> sorted_shares(const std::map<std::string, Time>& times, Time whole) {
  std::vector<Share> shares;
  for (const auto& [name, time] : times)
    shares.push_back({name, time, static_cast<double>(time.ps()) / static_cast<double>(whole.ps())});
  std::stable_sort(shares.begin(), shares.end(),
                   [](const Share& a, const Share& b) { return a.time > b.time; });
  return shares;
}

/// Names are few and pieces many: adds up by the address of the static name first.
template <class Name>
std::vector<Share> shares_by(const CriticalPath& path, Name name) {
  std::map<const char*, std::pair<std::string_view, Time>> by_address;
  for (const auto& piece : path.pieces) {
    const std::string_view text = name(piece);
    auto& entry = by_address[text.data()];
    entry.first = text, entry.second += piece.end - piece.begin;
  }
  std::map<std::string, Time> times;
  for (const auto& [address, entry] : by_address) times[std::string(entry.first)] += entry.second;
  return sorted_shares(times, path.length());
}

std::vector<Share> shares_by_line(const Recording& run, const CriticalPath& path) {
  std::vector<Time> lines(run.info.lines.size()), origins(run.info.origins.size());
  for (const auto& piece : path.pieces) {
    const auto& r = record(run.records, piece.op);
    const bool has_line = r.command != UINT32_MAX;
    (has_line ? lines[run.origin(r).lines[r.command]] : origins[r.origin]) += piece.end - piece.begin;
  }
  std::map<std::string, Time> times;
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (lines[i] > Time())
      times[fmt::format("{}:{}", run.info.lines[i].file, run.info.lines[i].line)] += lines[i];
  for (std::size_t i = 0; i < origins.size(); ++i)
    if (origins[i] > Time()) times[run.info.origins[i].name] += origins[i];
  return sorted_shares(times, path.length());
}

}  // namespace

namespace {

/// The host's own record of a request, which ends when it is complete.
std::optional<OpId> completion_of(const Recording& run, std::uint32_t request) {
  for (std::uint32_t id = 0; id < run.records.front().size(); ++id) {
    const OriginInfo& origin = run.origin(run.records.front()[id]);
    if (origin.launch == request && origin.pe.cube < 0) return OpId{0, id};
  }
  return std::nullopt;
}

CriticalPath path_to(const Recording& run, OpId last, Time begin) {
  CriticalPath path;
  path.begin = begin;
  path.end = record(run.records, last).end;
  Walk(run, path).back_from(last);
  path.by_resource = shares_by(path, [](const Piece& p) { return p.what; });
  path.by_reason = shares_by(path, [](const Piece& p) { return p.reason; });
  path.by_line = shares_by_line(run, path);
  return path;
}

}  // namespace

CriticalPath find_critical_path(const Recording& run) {
  const auto last = last_completion(run.records);
  return last ? path_to(run, *last, first_submit(run.records)) : CriticalPath();
}

CriticalPath find_critical_path(const Recording& run, std::uint32_t request, Time begin) {
  const auto last = run.records.empty() ? std::nullopt : completion_of(run, request);
  return last ? path_to(run, *last, begin) : CriticalPath();
}

}  // namespace kernbench::trace
