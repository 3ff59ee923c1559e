#include <algorithm>
#include <map>
#include <tuple>

#include "trace/recording.hpp"

namespace kernbench::trace {
namespace {

using device::Resource;
using ResourceTimes = std::array<Time, device::kResources>;

/// Where an operation stands in its run's story, whenever it happened.
struct Place {
  std::uint32_t launch;
  PeCoord pe;
  std::uint32_t command;
  device::OpKind kind;
  friend auto operator<=>(const Place&, const Place&) = default;
};

struct Entry {
  Place place;
  std::uint32_t serial;  // in order of the steps at one place
  OpId id;
  bool operator<(const Entry& b) const { return std::tie(place, serial) < std::tie(b.place, b.serial); }
};

std::vector<Entry> sorted_entries(const Recording& run) {
  std::vector<Entry> entries;
  entries.reserve(count(run.records));
  for (std::size_t p = 0; p < run.records.size(); ++p)
    for (std::uint32_t id = 0; id < run.records[p].size(); ++id) {
      const auto& r = run.records[p][id];
      const auto& origin = run.origin(r);
      const Place place{origin.launch, origin.pe, r.command, r.kind};
      entries.push_back({place, r.serial, {static_cast<std::uint16_t>(p), id}});
    }
  std::sort(entries.begin(), entries.end());
  return entries;
}

ResourceTimes times_by_resource(const OpRecord& r) {
  ResourceTimes times;
  const auto phases = phases_of(r);
  for (std::size_t i = 0; i < static_cast<std::size_t>(phases.count); ++i)
    times[static_cast<std::size_t>(phases.resource[i])] += phases.length[i];
  return times;
}

Time magnitude(Time t) { return t < Time() ? Time() - t : t; }

void sort_by_size(std::vector<Change>& changes) {
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change& a, const Change& b) { return magnitude(a.by) > magnitude(b.by); });
}

class Comparer {
 public:
  Comparer(const Recording& before, const Recording& after, std::size_t limit)
      : before_(before), after_(after), limit_(limit) {}

  Comparison run() {
    match(sorted_entries(before_), sorted_entries(after_));
    trim();
    for (std::size_t i = 0; i < sums_.size(); ++i)
      if (sums_[i] != Time())
        out_.by_resource.push_back({std::string(to_string(static_cast<Resource>(i))), sums_[i]});
    sort_by_size(out_.by_resource);
    compare_paths();
    return std::move(out_);
  }

 private:
  void match(const std::vector<Entry>& before, const std::vector<Entry>& after) {
    auto a = before.begin();
    auto b = after.begin();
    while (a != before.end() && b != after.end()) {
      if (a->place == b->place)
        add(*a++, *b++);
      else if (a->place < b->place)
        ++a, ++out_.only_before;
      else
        ++b, ++out_.only_after;
    }
    out_.only_before += static_cast<std::uint64_t>(before.end() - a);
    out_.only_after += static_cast<std::uint64_t>(after.end() - b);
  }

  void add(const Entry& a, const Entry& b) {
    const auto& x = record(before_.records, a.id);
    const auto& y = record(after_.records, b.id);
    ++out_.matched;
    Moved moved{a.id, b.id, y.start - x.start, y.end - x.end, {}, {}};
    const auto was = times_by_resource(x), is = times_by_resource(y);
    for (std::size_t i = 0; i < was.size(); ++i) {
      const Time by = is[i] - was[i];
      sums_[i] += by;
      if (magnitude(by) > magnitude(moved.resource_by))
        moved.resource = to_string(static_cast<Resource>(i)), moved.resource_by = by;
    }
    if (moved.start_by == Time() && moved.end_by == Time()) return;
    ++out_.moved;
    out_.largest.push_back(moved);
    if (out_.largest.size() >= 4 * limit_ + 1024) trim();
  }

  /// Keeps the largest moves only.
  void trim() {
    const auto larger = [](const Moved& a, const Moved& b) {
      return std::tuple(magnitude(b.end_by), a.after) < std::tuple(magnitude(a.end_by), b.after);
    };
    std::sort(out_.largest.begin(), out_.largest.end(), larger);
    if (out_.largest.size() > limit_) out_.largest.resize(limit_);
  }

  void compare_paths() {
    const auto was = find_critical_path(before_), is = find_critical_path(after_);
    out_.length_by = is.length() - was.length();
    std::map<std::string, Time> changes;
    for (const auto& share : is.by_resource) changes[share.name] += share.time;
    for (const auto& share : was.by_resource) changes[share.name] -= share.time;
    for (const auto& [name, by] : changes)
      if (by != Time()) out_.critical_path.push_back({name, by});
    sort_by_size(out_.critical_path);
  }

  const Recording& before_;
  const Recording& after_;
  const std::size_t limit_;
  Comparison out_;
  ResourceTimes sums_{};
};

}  // namespace

Comparison compare(const RunLog& before, const RunLog& after, std::size_t limit) {
  return Comparer(before.recording(), after.recording(), limit).run();
}

}  // namespace kernbench::trace
