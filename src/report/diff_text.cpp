// A difference for people and for programs.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/append.hpp"
#include "base/json.hpp"
#include "report/diff.hpp"

namespace kernbench::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostRows = 10;

class DiffText {
 public:
  explicit DiffText(const Difference& d) : d_(d) {}

  std::string text() {
    if (d_.same) return "the same run\n";
    const double by = d_.before == Time() ? 0 : 100 * (d_.after - d_.before).ns() / d_.before.ns();
    put("{:.3f} ns → {:.3f} ns: {:+.3f} ns, {:+.1f} %\n", d_.before.ns(), d_.after.ns(),
        (d_.after - d_.before).ns(), by);
    keys("machine", d_.machine);
    keys("options", d_.options);
    programs();
    times("launches, pe_exec", d_.launches);
    times("critical path, by resource", d_.resources);
    times("critical path, by source line", d_.path_lines);
    energy();
    moved();
    return std::move(out_);
  }

 private:
  template <class... Args>
  void put(fmt::format_string<Args...> text, Args&&... args) {
    append(out_, text, std::forward<Args>(args)...);
  }
  void more(std::size_t all) {
    if (all > kMostRows) put("  and {} more\n", all - kMostRows);
  }

  void keys(const char* title, const std::vector<KeyChange>& changes) {
    if (changes.empty()) return;
    put("\n{}\n", title);
    for (const KeyChange& c : changes)
      put("  {}: {} → {}\n", c.key, c.before.value_or("-"), c.after.value_or("-"));
  }

  void programs() {
    if (d_.lines.empty() && !d_.reordered) return put("\nprograms: the same commands\n");
    put("\nprograms\n");
    if (d_.reordered) put("  the same commands in another order\n");
    for (std::size_t i = 0; i < std::min(d_.lines.size(), kMostRows); ++i) line(d_.lines[i]);
    more(d_.lines.size());
  }

  void line(const LineChange& c) {
    const char* sign = c.kind == LineChange::Kind::only_before  ? "-"
                       : c.kind == LineChange::Kind::only_after ? "+"
                                                                : " ";
    put("{} {}  {}  ({} → {} commands)\n", sign, c.place, c.source, c.before, c.after);
    constexpr std::size_t kMostCommands = 4;
    const auto list = [&](const char* mark, const std::vector<std::string>& commands) {
      for (std::size_t i = 0; i < std::min(commands.size(), kMostCommands); ++i)
        put("      {} {}\n", mark, commands[i]);
      if (commands.size() > kMostCommands)
        put("      {} and {} more\n", mark, commands.size() - kMostCommands);
    };
    list("-", c.removed);
    list("+", c.added);
  }

  void times(const char* title, const std::vector<TimeChange>& changes) {
    if (changes.empty()) return;
    put("\n{:<34} {:>16} {:>16} {:>16}\n", title, "before ns", "after ns", "change ns");
    for (std::size_t i = 0; i < std::min(changes.size(), kMostRows); ++i)
      put("  {:<32} {:>16.3f} {:>16.3f} {:>+16.3f}\n", changes[i].name, changes[i].before.ns(),
          changes[i].after.ns(), changes[i].by().ns());
    more(changes.size());
  }

  void energy() {
    if (d_.energy.empty()) return;
    put("\n{:<34} {:>16} {:>16} {:>16}\n", "energy", "before", "after", "change");
    for (const FigureChange& c : d_.energy)
      put("  {:<32} {:>16.3f} {:>16.3f} {:>+16.3f} {}\n", c.name, c.before, c.after, c.after - c.before,
          c.unit);
  }

  void moved() {
    if (!d_.note.empty()) put("\n{}\n", d_.note);
    if (d_.moved.empty()) return;
    put("\noperations that moved most\n");
    for (const std::string& one : d_.moved) put("  {}\n", one);
  }

  const Difference& d_;
  std::string out_;
};

Json keys_json(const std::vector<KeyChange>& changes) {
  Json list = Json::array();
  for (const KeyChange& c : changes)
    list.push_back({{"key", c.key},
                    {"before", c.before ? Json(*c.before) : Json()},
                    {"after", c.after ? Json(*c.after) : Json()}});
  return list;
}

Json times_json(const std::vector<TimeChange>& changes) {
  Json list = Json::array();
  for (const TimeChange& c : changes)
    list.push_back(
        {{"name", c.name}, {"before_ns", c.before.ns()}, {"after_ns", c.after.ns()}, {"by_ns", c.by().ns()}});
  return list;
}

Json energy_json(const std::vector<FigureChange>& changes) {
  Json list = Json::array();
  for (const FigureChange& c : changes)
    list.push_back({{"name", c.name}, {"unit", c.unit}, {"before", c.before}, {"after", c.after}});
  return list;
}

Json lines_json(const std::vector<LineChange>& changes) {
  constexpr const char* kKinds[] = {"only before", "only after", "other commands"};
  Json list = Json::array();
  for (const LineChange& c : changes)
    list.push_back({{"line", c.place},
                    {"source", c.source},
                    {"kind", kKinds[static_cast<std::size_t>(c.kind)]},
                    {"commands_before", c.before},
                    {"commands_after", c.after},
                    {"removed", c.removed},
                    {"added", c.added}});
  return list;
}

}  // namespace

std::string to_text(const Difference& difference) { return DiffText(difference).text(); }

std::string to_json(const Difference& d) {
  Json all = {{"same", d.same}, {"before_ns", d.before.ns()}, {"after_ns", d.after.ns()}};
  if (!d.same)
    all.update({{"machine", keys_json(d.machine)},
                {"options", keys_json(d.options)},
                {"lines", lines_json(d.lines)},
                {"reordered", d.reordered},
                {"launches", times_json(d.launches)},
                {"critical_path", times_json(d.resources)},
                {"critical_path_by_line", times_json(d.path_lines)},
                {"energy", energy_json(d.energy)},
                {"moved", d.moved},
                {"note", d.note}});
  return dump_json(all, 2) + "\n";
}

}  // namespace kernbench::report
