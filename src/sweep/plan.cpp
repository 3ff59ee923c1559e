#include "sweep/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>

#include "base/parse.hpp"
#include "base/text.hpp"
#include "ccl/config.hpp"
#include "kernbench/error.hpp"
#include "kernbench/machine.hpp"
#include "sweep/column_names.hpp"

namespace kernbench::sweep {
namespace {

using Kind = YamlNode::Kind;

constexpr std::size_t kMostPoints = 1'000'000;

[[noreturn]] void refuse(const std::string& id, const YamlPlace& place, const std::string& what,
                         const std::string& hint) {
  throw InputError({"sweep." + id, place.text(), what, hint});
}

/// A name with its values, one for each step; names that go together share the steps.
struct Axis {
  struct Named {
    std::string name;
    std::vector<YamlNode> values;
  };
  std::vector<Named> names;
  YamlPlace place;
  std::size_t size() const { return names.front().values.size(); }
};

class PlanReader {
 public:
  PlanReader(const YamlNode& root, const Registry& registry) : root_(root), registry_(registry) {}

  Plan read(const std::string& file) {
    plan_.source = file;
    use_machine();
    check_keys();
    const YamlNode& bench = required("bench");
    try {
      bench_ = &registry_.benches.at(text(bench));
    } catch (const InputError& e) {
      throw InputError({e.id(), bench.place.text(), e.message(), e.hint()});
    }
    plan_.bench = bench_->name;
    if (const YamlNode* node = root_.find("machine")) read_machine(*node);
    if (const YamlNode* node = root_.find("ccl")) read_ccl(*node);
    if (const YamlNode* node = root_.find("verify")) plan_.verify = flag(*node);
    if (const YamlNode* node = root_.find("harness")) plan_.harness = harness(*node);
    read_fixed();
    read_axes();
    make_points();
    read_columns();
    read_plots();
    check_values();
    check_options();
    return std::move(plan_);
  }

 private:
  void check_keys() const {
    const std::vector<std::string> known = {"bench", "machine", "ccl",     "set",  "vary",   "zip",
                                            "where", "verify",  "columns", "plot", "harness"};
    if (root_.kind != Kind::map) refuse("type", root_.place, "a sweep is a map", "begin with 'bench: NAME'");
    for (const auto& entry : root_.entries)
      if (std::ranges::find(known, entry.key) == known.end())
        refuse("unknown-key", entry.place, fmt::format("unknown key {}", quote(entry.key)),
               suggest(entry.key, known, "keys"));
  }
  const YamlNode& required(const char* key) const {
    if (const YamlNode* node = root_.find(key)) return *node;
    refuse("missing", root_.place, fmt::format("'{}' is missing", key), "bench: matmul-composite");
  }
  static const std::string& text(const YamlNode& node) {
    if (node.kind != Kind::scalar)
      refuse("type", node.place, fmt::format("expected one value, found {}", node.describe()), "");
    return node.scalar;
  }
  static bool flag(const YamlNode& node) {
    if (text(node) == "true") return true;
    if (text(node) == "false") return false;
    refuse("type", node.place, fmt::format("expected true or false, found {}", node.describe()), "");
  }
  std::string harness(const YamlNode& node) const {
    const std::map<std::string, std::string> benches = {{"gemm", "matmul-composite"},
                                                        {"allreduce", "ccl-allreduce"}};
    const std::vector<std::string> known = {"gemm", "allreduce"};
    const auto found = benches.find(text(node));
    if (found == benches.end())
      refuse("harness", node.place, fmt::format("there is no harness {}", quote(node.scalar)),
             suggest(node.scalar, known, "harnesses"));
    if (plan_.bench != found->second)
      refuse("harness", node.place, fmt::format("harness {} is about bench {}", node.scalar, found->second),
             "bench: " + found->second);
    return found->first;
  }
  static std::int64_t integer(const YamlNode& node) {
    const auto value = parse_whole<std::int64_t>(text(node));
    if (!value)
      refuse("type", node.place, fmt::format("expected a whole number, found {}", node.describe()), "");
    return *value;
  }

  void use_machine() { plan_.machines = std::make_shared<Machines>(plan_.machine, registry_.components); }
  void read_machine(const YamlNode& node) {
    plan_.machine = text(node);
    use_machine();
    at_place(node.place, [&] { plan_.machines->with({}); });
  }
  void read_ccl(const YamlNode& node) {
    plan_.ccl = text(node);
    at_place(node.place, [&] { ccl::load_config(plan_.ccl, {}, registry_.collectives); });
  }

  void read_fixed() {
    const YamlNode* node = root_.find("set");
    if (node == nullptr) return;
    if (node->kind != Kind::map)
      refuse("type", node->place, "'set' is a map of names and values", "set: {M: 512}");
    for (const auto& entry : node->entries) {
      note_name(entry);
      plan_.fixed.emplace_back(entry.key, text(entry.value));
      places_[entry.key] = entry.value.place;
    }
  }

  void note_name(const YamlNode::Entry& entry) {
    if (!seen_.insert(entry.key).second)
      refuse("twice", entry.place, fmt::format("{} is given twice", quote(entry.key)),
             "name it in one of set, vary and zip");
    if (reach_of(entry.key) != Reach::option) return;
    std::vector<std::string> known;
    for (const Param& option : bench_->options) known.push_back(option.name);
    if (std::ranges::find(known, entry.key) == known.end())
      refuse("unknown-name", entry.place,
             fmt::format("bench {} has no option {}", bench_->name, quote(entry.key)),
             suggest(entry.key, known, "options") +
                 "; keys of the machine have a dot, those of ccl.yaml begin with ccl.");
  }

  void read_axes() {
    if (const YamlNode* vary = root_.find("vary")) {
      if (vary->kind != Kind::map)
        refuse("type", vary->place, "'vary' is a map of names and values", "vary: {M: [32, 64]}");
      for (const auto& entry : vary->entries) {
        note_name(entry);
        axes_.push_back({{{entry.key, values(entry)}}, entry.place});
      }
    }
    if (const YamlNode* zip = root_.find("zip")) read_zip(*zip);
    for (const Axis& axis : axes_)
      for (const auto& named : axis.names) plan_.names.push_back(named.name);
  }

  void read_zip(const YamlNode& zip) {
    if (zip.kind != Kind::map || zip.entries.empty())
      refuse("type", zip.place, "'zip' is a map of names and lists", "zip: {K: [512, 1024], N: [512, 1024]}");
    Axis axis{{}, zip.place};
    for (const auto& entry : zip.entries) {
      note_name(entry);
      axis.names.push_back({entry.key, values(entry)});
      if (axis.names.back().values.size() != axis.size())
        refuse("zip", entry.place,
               fmt::format("{} has {} values, {} has {}", quote(entry.key), axis.names.back().values.size(),
                           quote(axis.names.front().name), axis.size()),
               "what goes together has equally many values");
    }
    axes_.push_back(std::move(axis));
  }

  std::vector<YamlNode> values(const YamlNode::Entry& entry) const {
    const YamlNode& node = entry.value;
    std::vector<YamlNode> out;
    if (node.kind == Kind::scalar) out.push_back(node);
    if (node.kind == Kind::list) out = node.items;
    if (node.kind == Kind::map) out = range(node);
    if (out.empty())
      refuse("empty", node.place, fmt::format("{} has no values", quote(entry.key)),
             "[32, 64], or {from: 32, to: 4096, times: 2}");
    for (const YamlNode& value : out) text(value);
    return out;
  }

  /// `{from: 32, to: 4096, times: 2}` or `{from: 0, to: 10, plus: 5}`, both ends included.
  std::vector<YamlNode> range(const YamlNode& node) const {
    const std::vector<std::string> known = {"from", "to", "times", "plus"};
    for (const auto& entry : node.entries)
      if (std::ranges::find(known, entry.key) == known.end())
        refuse("unknown-key", entry.place, fmt::format("unknown key {}", quote(entry.key)),
               suggest(entry.key, known, "keys of a range"));
    const YamlNode *from = node.find("from"), *to = node.find("to"), *times = node.find("times"),
                   *plus = node.find("plus");
    if (from == nullptr || to == nullptr || (times == nullptr) == (plus == nullptr))
      refuse("range", node.place, "a range needs from, to, and one of times and plus",
             "{from: 32, to: 4096, times: 2}");
    const std::int64_t step = integer(times != nullptr ? *times : *plus), last = integer(*to);
    if (step < (times != nullptr ? 2 : 1) || (times != nullptr && integer(*from) < 1))
      refuse("range", (times != nullptr ? times : plus)->place, "the range would never end",
             "times is at least 2, from at least 1; plus at least 1");
    std::vector<YamlNode> out;
    for (std::int64_t v = integer(*from); v <= last && out.size() <= kMostPoints;) {
      out.push_back({.kind = Kind::scalar, .scalar = std::to_string(v), .place = node.place});
      if (times != nullptr ? __builtin_mul_overflow(v, step, &v) : __builtin_add_overflow(v, step, &v)) break;
    }
    return out;
  }

  void make_points() {
    std::size_t all = 1;
    for (const Axis& axis : axes_) {
      if (axis.size() > kMostPoints / all)
        refuse("too-many", axis.place, fmt::format("that is more than {} points", kMostPoints),
               "vary less at once");
      all *= axis.size();
    }
    const auto where = condition();
    for (std::size_t i = 0; i < all; ++i) {
      Point point = point_at(i, all);
      if (!where || where->holds([&](const std::string& name) { return number_of(point, name); }))
        plan_.points.push_back(std::move(point));
    }
    if (plan_.points.empty()) refuse("no-points", root_.place, "no point is left", "look at 'where'");
  }

  std::optional<Expression> condition() const {
    const YamlNode* node = root_.find("where");
    if (node == nullptr) return {};
    Expression made(text(*node), node->place);
    std::vector<std::string> known(seen_.begin(), seen_.end());
    for (const std::string& name : made.names())
      if (!seen_.contains(name))
        refuse("where", node->place,
               fmt::format("the condition names {}, which nothing here does", quote(name)),
               suggest(name, known, "names"));
    return made;
  }

  /// The last axis varies fastest.
  Point point_at(std::size_t i, std::size_t all) const {
    Point point;
    for (const Axis& axis : axes_) {
      all /= axis.size();
      const std::size_t step = i / all % axis.size();
      for (const auto& named : axis.names) point.values.emplace_back(named.name, named.values[step].scalar);
    }
    return point;
  }

  std::int64_t number_of(const Point& point, const std::string& name) const {
    const auto is_it = [&](const auto& value) { return value.first == name; };
    auto found = std::ranges::find_if(point.values, is_it);
    if (found == point.values.end()) found = std::ranges::find_if(plan_.fixed, is_it);
    const std::string& s = found->second;
    const auto value = parse_whole<std::int64_t>(s);
    if (!value)
      refuse("where", root_.find("where")->place,
             fmt::format("{} is {}, which is no whole number", quote(name), quote(s)),
             "conditions count with whole numbers");
    return *value;
  }

  void read_columns() {
    const YamlNode* node = root_.find("columns");
    if (node == nullptr) {
      plan_.columns = {"total_ns", "pe_exec_ns", "lower_bound_ns"};
      return;
    }
    if (node->kind != Kind::list)
      refuse("type", node->place, "'columns' is a list of paths", "[pe_exec_ns, results.tflops]");
    const ColumnNames known(*bench_, *plan_.machines->with({}));
    for (const YamlNode& item : node->items) {
      if (!known.may_be(text(item)))
        refuse("columns", item.place,
               fmt::format("no run of {} has a value {}", bench_->name, quote(item.scalar)),
               suggest(item.scalar, known.all(), "columns"));
      plan_.columns.push_back(item.scalar);
    }
  }

  /// One plot, or a list of them.
  void read_plots() {
    const YamlNode* node = root_.find("plot");
    if (node == nullptr) return;
    if (node->kind != Kind::list) return plan_.plots.push_back(plot(*node, "plot"));
    for (const YamlNode& item : node->items)
      plan_.plots.push_back(plot(item, fmt::format("plot-{}", plan_.plots.size() + 1)));
  }

  Plot plot(const YamlNode& node, const std::string& fallback) {
    const std::vector<std::string> known = {"x", "y", "lines", "log", "only", "name", "title"};
    if (node.kind != Kind::map)
      refuse("type", node.place, "a plot is a map", "plot: {x: M, y: results.tflops}");
    for (const auto& entry : node.entries)
      if (std::ranges::find(known, entry.key) == known.end())
        refuse("unknown-key", entry.place, fmt::format("unknown key {}", quote(entry.key)),
               suggest(entry.key, known, "keys of a plot"));
    Plot made{.name = plot_name(node, fallback),
              .title = node.find("title") != nullptr ? text(*node.find("title")) : "",
              .x = drawn(part(node, "x")),
              .y = drawn(part(node, "y")),
              .lines = {},
              .only = {}};
    if (const YamlNode* lines = node.find("lines")) read_lines(*lines, made);
    if (const YamlNode* only = node.find("only")) read_only(*only, made);
    if (const YamlNode* log = node.find("log")) read_log(*log, made);
    return made;
  }

  std::string plot_name(const YamlNode& plot, const std::string& fallback) {
    const YamlNode* node = plot.find("name");
    const std::string name = node != nullptr ? text(*node) : fallback;
    const YamlPlace& place = node != nullptr ? node->place : plot.place;
    const bool plain = std::ranges::all_of(
        name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; });
    if (name.empty() || !plain)
      refuse("plot", place, fmt::format("{} cannot be the name of a file", quote(name)),
             "letters, digits, _ and -");
    if (!plot_names_.insert(name).second)
      refuse("plot", place, fmt::format("two plots have the name {}", quote(name)), "give each its own");
    return name;
  }
  void read_lines(const YamlNode& node, Plot& plot) const {
    if (node.kind != Kind::list) return plot.lines.push_back(drawn(node));
    for (const YamlNode& item : node.items) plot.lines.push_back(drawn(item));
  }
  void read_only(const YamlNode& node, Plot& plot) const {
    if (node.kind != Kind::map)
      refuse("type", node.place, "'only' is a map of names and values", "only: {variant: load_ref}");
    for (const auto& entry : node.entries) {
      const bool varies = std::ranges::find(plan_.names, entry.key) != plan_.names.end();
      if (!varies)
        refuse("plot", entry.place, fmt::format("{} does not vary", quote(entry.key)),
               suggest(entry.key, plan_.names, "names that vary"));
      plot.only.emplace_back(entry.key, text(entry.value));
      if (!std::ranges::any_of(plan_.points, [&](const Point& p) { return has_value(p, plot.only.back()); }))
        refuse("plot", entry.value.place,
               fmt::format("no point has {} = {}", entry.key, quote(entry.value.scalar)),
               "one of its values");
    }
  }
  static bool has_value(const Point& point, const std::pair<std::string, std::string>& value) {
    return std::ranges::find(point.values, value) != point.values.end();
  }
  static void read_log(const YamlNode& node, Plot& plot) {
    const std::string& axes = text(node);
    if (axes != "x" && axes != "y" && axes != "xy")
      refuse("plot", node.place, fmt::format("{} are no axes", quote(axes)), "log: x, y or xy");
    plot.log_x = axes.find('x') != axes.npos, plot.log_y = axes.find('y') != axes.npos;
  }

  static const YamlNode& part(const YamlNode& plot, const char* key) {
    if (const YamlNode* node = plot.find(key)) return *node;
    refuse("plot", plot.place, fmt::format("a plot needs {}", quote(key)), "plot: {x: M, y: results.tflops}");
  }
  std::string drawn(const YamlNode& node) const {
    std::vector<std::string> known = plan_.names;
    known.insert(known.end(), plan_.columns.begin(), plan_.columns.end());
    if (std::ranges::find(known, text(node)) == known.end())
      refuse("plot", node.place, fmt::format("{} neither varies nor is a column", quote(node.scalar)),
             suggest(node.scalar, known, "names"));
    return node.scalar;
  }

  struct Placed {
    std::string word;  // name=value
    YamlPlace place;
  };

  /// Every value once, so that a mistake is found before the first point runs. Values of a machine may need each other,
  /// so fixed ones and those that go together are checked together.
  void check_values() const {
    std::vector<Placed> fixed;
    for (const auto& [name, value] : plan_.fixed) check_value(name, value, places_.at(name), fixed);
    check_machine({}, fixed);
    for (const Axis& axis : axes_)
      for (std::size_t step = 0; step < axis.size(); ++step) {
        std::vector<Placed> together;
        for (const auto& named : axis.names)
          check_value(named.name, named.values[step].scalar, named.values[step].place, together);
        check_machine(fixed, together);
      }
  }
  /// Options that apply to some values of others alone may meet in a point.
  void check_options() const {
    if (bench_->applies.empty()) return;
    for (const Point& point : plan_.points)
      at_place(root_.place, [&] { bench_->read_options(words_of(plan_, point, Reach::option)); });
  }
  /// Options and collectives; what the machine gets is only noted.
  void check_value(const std::string& name, const std::string& value, const YamlPlace& place,
                   std::vector<Placed>& of_machine) const {
    const std::vector<std::string> word = {name + "=" + value};
    switch (reach_of(name)) {
      case Reach::option:
        return at_place(place, [&] { bench_->check_option(word.front()); });
      case Reach::ccl:
        return at_place(place, [&] { ccl::load_config(plan_.ccl, word, registry_.collectives); });
      case Reach::machine:
        of_machine.push_back({word.front(), place});
    }
  }
  /// A value that is wrong by itself is named, else the last.
  void check_machine(const std::vector<Placed>& fixed, const std::vector<Placed>& values) const {
    if (values.empty() || loads(fixed, values)) return;
    for (const Placed& value : values)
      if (!loads(fixed, {value})) load(fixed, {value});
    load(fixed, values);
  }
  bool loads(const std::vector<Placed>& fixed, const std::vector<Placed>& values) const {
    try {
      load(fixed, values);
      return true;
    } catch (const InputError&) {
      return false;
    }
  }
  void load(const std::vector<Placed>& fixed, const std::vector<Placed>& values) const {
    std::vector<std::string> words;
    for (const auto* list : {&fixed, &values})
      for (const Placed& value : *list) words.push_back(value.word);
    at_place(values.back().place, [&] { plan_.machines->with(words); });
  }
  template <class Check>
  static void at_place(const YamlPlace& place, const Check& check) {
    try {
      check();
    } catch (const InputError& e) {
      throw InputError({e.id(), place.text(), e.message(), e.hint()});
    }
  }

  const YamlNode& root_;
  const Registry& registry_;
  const Bench* bench_ = nullptr;
  Plan plan_;
  std::vector<Axis> axes_;
  std::set<std::string> seen_, plot_names_;
  std::map<std::string, YamlPlace> places_;  // of fixed values
};

}  // namespace

Reach reach_of(const std::string& name) {
  if (name.starts_with("ccl.")) return Reach::ccl;
  return name.find('.') != name.npos ? Reach::machine : Reach::option;
}

std::vector<std::string> words_of(const Plan& plan, const Point& point, Reach reach) {
  std::vector<std::string> words;
  for (const auto* list : {&plan.fixed, &point.values})
    for (const auto& [name, value] : *list)
      if (reach_of(name) == reach) words.push_back(name + "=" + value);
  return words;
}

Machines::Pointer machine_of(const Plan& plan, const Point& point) {
  return plan.machines->with(words_of(plan, point, Reach::machine));
}

Plan read_plan(const std::string& text, const std::string& file, const Registry& registry) {
  const YamlNode root = parse_yaml(text, file);
  return PlanReader(root, registry).read(file);
}

}  // namespace kernbench::sweep
