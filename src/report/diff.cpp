#include "report/diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "base/yaml.hpp"
#include "report/line_diff.hpp"
#include "report/reading.hpp"
#include "report/saved_energy.hpp"

namespace kernbench::report {
namespace {

using Json = nlohmann::ordered_json;
using Values = std::map<std::string, std::string>;

constexpr std::size_t kMostMoved = 10;

Values machine_values(const SavedRun& run, const Registry& registry) {
  Values values;
  const auto machine = topology::load_machine_text(run.machine(), run.path(), {}, registry.components);
  for (const topology::Group& group : machine.groups()) {
    if (group.is_component()) values[group.path + ".impl"] = group.impl;
    for (const Param& param : group.params.params())
      if (group.params.has(param.name))
        values[group.path + "." + param.name] = to_yaml(group.params.value(param.name));
  }
  return values;
}

/// Every value of a file, by its path.
void add_values(const YamlNode& node, const std::string& path, Values& values) {
  if (node.kind == YamlNode::Kind::scalar) values[path] = node.scalar;
  for (const YamlNode::Entry& entry : node.entries) add_values(entry.value, path + "." + entry.key, values);
  for (std::size_t i = 0; i < node.items.size(); ++i)
    add_values(node.items[i], fmt::format("{}[{}]", path, i), values);
}

Values option_values(const SavedRun& run) {
  Values values;
  const Json all = parse_json(run.json());
  values["bench"] = run.value("bench");
  for (const auto& [name, value] : all.at("options").items())
    if (!value.is_null()) values[name] = value.is_string() ? value.get<std::string>() : dump_json(value);
  values["--device"] = run.value("device");
  values["--ccl"] = all.at("recipe").at("ccl").get<std::string>();
  if (const auto text = all.at("recipe").value("ccl_text", std::string()); !text.empty())
    add_values(parse_yaml(text, run.path()), "ccl", values);
  for (const auto& one : all.at("recipe").at("ccl_overrides")) {
    const auto text = one.get<std::string>();
    values[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
  }
  return values;
}

std::vector<KeyChange> changes(const Values& before, const Values& after) {
  std::vector<KeyChange> found;
  const auto value = [](const Values& of, const std::string& key) {
    const auto at = of.find(key);
    return at == of.end() ? std::nullopt : std::optional(at->second);
  };
  Values all = before;
  all.insert(after.begin(), after.end());
  for (const auto& [key, ignored] : all)
    if (value(before, key) != value(after, key))
      found.push_back({key, value(before, key), value(after, key)});
  return found;
}

Time size_of(const TimeChange& change) { return change.by() < Time() ? Time() - change.by() : change.by(); }

void sort_by_size(std::vector<TimeChange>& changes) {
  std::erase_if(changes, [](const TimeChange& c) { return c.by() == Time(); });
  std::ranges::stable_sort(changes, std::greater(), size_of);
}

std::vector<TimeChange> changes(const std::map<std::string, Time>& before,
                                const std::map<std::string, Time>& after) {
  std::map<std::string, TimeChange> all;
  for (const auto& [name, time] : before) all[name] = {name, time, Time()};
  for (const auto& [name, time] : after)
    all.try_emplace(name, TimeChange{name, Time(), Time()}).first->second.after = time;
  std::vector<TimeChange> list;
  for (const auto& [name, change] : all) list.push_back(change);
  sort_by_size(list);
  return list;
}

std::map<std::string, Time> times_of(const std::vector<trace::Share>& shares) {
  std::map<std::string, Time> times;
  for (const trace::Share& s : shares) times[s.name] += s.time;
  return times;
}

/// The n-th launch of a name with the n-th of that name.
std::vector<TimeChange> launch_changes(const SavedRun& before, const SavedRun& after) {
  const auto times = [](const SavedRun& run) {
    std::map<std::string, Time> of;
    std::map<std::string, int> seen;
    for (const SavedLaunch& l : run.launches())
      if (l.phase == "launch" && l.done) {
        const int n = ++seen[l.name];
        of[n == 1 ? l.name : fmt::format("{} #{}", l.name, n)] = l.pe_exec;
      }
    return of;
  };
  return changes(times(before), times(after));
}

/// The path's lines under one name in both runs: a line that only moved in its file keeps that of the second.
std::vector<TimeChange> path_line_changes(const SavedRun& before, const SavedPath& a, const SavedPath& b,
                                          const LinePairs& pairs) {
  std::map<std::string, Time> renamed;
  const std::vector<SavedLine> lines = before.lines();
  for (const auto& [name, time] : times_of(a.by_line)) {
    const auto at = std::ranges::find(lines, name, &SavedLine::place);
    renamed[at == lines.end() ? name : pairs.name_in_second(static_cast<std::size_t>(at - lines.begin()))] +=
        time;
  }
  return changes(renamed, times_of(b.by_line));
}

void add_moved(Difference& out, const SavedRun& before, const SavedRun& after) {
  if (!before.complete() || !after.complete()) {
    out.note = "a file does not hold all operations (--save-ops), so they are not compared one by one";
    return;
  }
  const trace::RunLog log = after.log();
  for (const trace::Moved& m : trace::compare(before.log(), log, kMostMoved).largest)
    out.moved.push_back(fmt::format(
        "{:+.3f} ns to its end: {}{}", m.end_by.ns(), to_string(log.op(m.after)),
        m.resource.empty() ? "" : fmt::format(" ({} {:+.3f} ns)", m.resource, m.resource_by.ns())));
}

/// Figures that are the same are left out, but for the total.
std::vector<FigureChange> energy_changes(const SavedRun& before, const SavedRun& after) {
  const Json a = saved_energy(before), b = saved_energy(after);
  if (a.is_null() || b.is_null()) return {};
  std::vector<FigureChange> found;
  const auto add = [&](const std::string& name, const char* unit, const Json& from, const Json& to) {
    if (!from.is_number() || !to.is_number()) return;
    if (name == "total" || from != to) found.push_back({name, unit, from.get<double>(), to.get<double>()});
  };
  add("total", "pJ", a.at("total_pj"), b.at("total_pj"));
  for (const auto& [part, value] : a.at("parts").items())
    if (b.at("parts").contains(part)) add(part, "pJ", value.at("pj"), b.at("parts").at(part).at("pj"));
  add("per FLOP", "pJ", a.at("pj_per_flop"), b.at("pj_per_flop"));
  add("average power", "W", a.at("average_w"), b.at("average_w"));
  add("peak power", "W", a.at("peak_w"), b.at("peak_w"));
  return found;
}

}  // namespace

namespace {

Difference difference_of(const SavedRun& before, const SavedRun& after, const Registry& registry) {
  Difference out{.same = before.hash() == after.hash(), .before = before.total(), .after = after.total()};
  if (out.same) return out;
  out.machine = changes(machine_values(before, registry), machine_values(after, registry));
  out.options = changes(option_values(before), option_values(after));
  const LinePairs pairs(before, after);
  out.lines = pairs.changes();
  out.reordered = pairs.reordered();
  out.launches = launch_changes(before, after);
  const SavedPath a = before.critical_path(), b = after.critical_path();
  out.resources = changes(times_of(a.by_resource), times_of(b.by_resource));
  out.path_lines = path_line_changes(before, a, b, pairs);
  out.energy = energy_changes(before, after);
  add_moved(out, before, after);
  return out;
}

}  // namespace

Difference find_difference(const SavedRun& before, const SavedRun& after, const Registry& registry) {
  return reading(before.path() + ", " + after.path(), [&] { return difference_of(before, after, registry); });
}

}  // namespace kernbench::report
