#include "report/line_diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "trace/hash.hpp"

namespace kernbench::report {
namespace {

/// What makes a line the same in both runs: its text, or where that is not known its number.
std::string key_of(const SavedLine& line) {
  return line.text ? fmt::format("{}|{}", line.file, *line.text) : line.place();
}

std::int64_t count(const std::map<std::string, std::int64_t>& commands) {
  return std::accumulate(commands.begin(), commands.end(), std::int64_t{0},
                         [](std::int64_t sum, const auto& one) { return sum + one.second; });
}

/// The commands of `a` that `b` has fewer of.
std::vector<std::string> more_of(const std::map<std::string, std::int64_t>& a,
                                 const std::map<std::string, std::int64_t>& b) {
  std::vector<std::string> found;
  for (const auto& [text, times] : a) {
    const auto other = b.find(text);
    const std::int64_t more = times - (other == b.end() ? 0 : other->second);
    if (more > 0) found.push_back(more == 1 ? text : fmt::format("{} (× {})", text, more));
  }
  return found;
}

}  // namespace

LinePairs::Side::Side(const SavedRun& run) : lines(run.lines()), commands(lines.size()) {
  trace::Hash hash;
  run.for_each_command([&](const SavedCommand& c) {
    const std::string text = c.shapes.empty() ? c.text : fmt::format("{} {}", c.text, c.shapes);
    ++commands.at(static_cast<std::size_t>(c.line))[text];
    hash.add(std::string_view(text));
  });
  order = hash.value();
}

LinePairs::LinePairs(const SavedRun& before, const SavedRun& after)
    : before_(before), after_(after), pair_(before_.lines.size(), -1), has_pair_(after_.lines.size()) {
  pair_up();
}

/// Several lines of one text are paired in order, the first with the first.
void LinePairs::pair_up() {
  std::multimap<std::string, int> of_after;
  for (std::size_t i = 0; i < after_.lines.size(); ++i)
    of_after.emplace(key_of(after_.lines[i]), static_cast<int>(i));
  for (std::size_t i = 0; i < before_.lines.size(); ++i) {
    const auto found = of_after.find(key_of(before_.lines[i]));
    if (found == of_after.end()) continue;
    pair_[i] = found->second;
    has_pair_[static_cast<std::size_t>(found->second)] = true;
    of_after.erase(found);
  }
}

LineChange LinePairs::change_of(const SavedLine& line, LineChange::Kind kind, const Commands& before,
                                const Commands& after) {
  return {line.place(),           line.text.value_or(""), kind, count(before), count(after),
          more_of(before, after), more_of(after, before)};
}

std::vector<LineChange> LinePairs::changes() const {
  using Kind = LineChange::Kind;
  std::vector<LineChange> found;
  for (std::size_t i = 0; i < before_.lines.size(); ++i)
    if (pair_[i] < 0)
      found.push_back(change_of(before_.lines[i], Kind::only_before, before_.commands[i], {}));
  for (std::size_t i = 0; i < after_.lines.size(); ++i)
    if (!has_pair_[i]) found.push_back(change_of(after_.lines[i], Kind::only_after, {}, after_.commands[i]));
  std::ranges::stable_sort(found, {}, [](const LineChange& c) { return c.place; });
  for (std::size_t i = 0; i < before_.lines.size(); ++i) {
    if (pair_[i] < 0) continue;
    const auto b = static_cast<std::size_t>(pair_[i]);
    if (before_.commands[i] != after_.commands[b])
      found.push_back(
          change_of(after_.lines[b], Kind::other_commands, before_.commands[i], after_.commands[b]));
  }
  return found;
}

bool LinePairs::reordered() const { return changes().empty() && before_.order != after_.order; }

std::string LinePairs::name_in_second(std::size_t line) const {
  return pair_[line] < 0 ? before_.lines[line].place()
                         : after_.lines[static_cast<std::size_t>(pair_[line])].place();
}

}  // namespace kernbench::report
