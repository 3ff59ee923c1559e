#include "report/html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>

#include "base/file.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "kernbench/error.hpp"
#include "report/embedded.hpp"
#include "report/page_data.hpp"
#include "report/reading.hpp"
#include "topology/floor_plan.hpp"

namespace kernbench::report {
namespace {

using Json = nlohmann::ordered_json;

std::string_view embedded(std::string_view name) {
  const EmbeddedText* file = kEmbeddedTexts;
  while (file->name != nullptr && name != file->name) ++file;
  KB_ASSERT(file->name != nullptr, "web/{} is not compiled in", name);
  return file->text;
}

/// In the order in which they need each other.
constexpr std::array kReportModules = {"format.js",  "dom.js",     "colour.js", "charts.js",
                                       "summary.js", "compare.js", "plan.js",   "timeline.js",
                                       "tables.js",  "energy.js",  "main.js"};
constexpr std::array kAppModules = {"format.js",   "dom.js",       "colour.js", "charts.js",
                                    "summary.js",  "plan.js",      "api.js",    "machine_page.js",
                                    "run_page.js", "runs_page.js", "app.js"};

constexpr std::array kSweepModules = {"format.js",  "dom.js",   "colour.js",    "charts.js",
                                      "figures.js", "sweep.js", "sweep_main.js"};

/// All modules as one: imports go, for everything is there; exports become plain declarations.
std::string joined_modules(std::span<const char* const> modules) {
  std::string script;
  for (const char* name : modules) {
    std::istringstream lines{std::string(embedded(name))};
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("import ")) continue;
      script += line.starts_with("export ") ? line.substr(7) : line;
      script += '\n';
    }
  }
  return script;
}

/// JSON inside a <script>: no `</script` may end it early. `<` is only ever inside strings.
std::string inlined(const Json& json) {
  std::string out;
  for (const char c : dump_json(json)) out += c == '<' ? "\\u003c" : std::string(1, c);
  return out;
}

/// Parts that have a load carry a variable in place of a colour: the page sets it as time goes on.
std::string plan_of(const topology::Machine& machine, const topology::Graph& graph) {
  return topology::draw_floor_plan(
      machine, graph,
      {.node = [](topology::NodeId node) { return fmt::format("var(--n{})", node.index); },
       .link = [](topology::LinkId link) { return fmt::format("var(--l{})", link.index); },
       .cube = [](CubeCoord cube) { return fmt::format("var(--c{}-{})", cube.sip, cube.cube); }});
}

/// Collects what the page carries; equal machines share a plan.
class PageContent {
 public:
  PageContent(const topology::Registry& registry, const PageLimits& limits)
      : registry_(registry), limits_(limits) {}

  void add(const SavedRun& run) {
    const std::string source = parse_json(run.value("machine")).at("source");
    const topology::Machine machine = topology::load_machine_text(run.machine(), source, {}, registry_);
    const topology::Graph graph(machine);
    runs_.push_back(page_data(run, machine, graph, limits_));
    const auto [plan, fresh] = plans_.try_emplace(run.machine(), plans_.size());
    if (fresh)
      templates_ +=
          fmt::format("<template id=\"plan-{}\">{}</template>\n", plan->second, plan_of(machine, graph));
    runs_.back()["plan"] = plan->second;
  }
  void rename_last(const std::string& name) { runs_.back()["file"] = name; }
  const std::string& templates() const { return templates_; }
  const Json& runs() const { return runs_; }
  std::string title() const {
    std::string names;
    for (const Json& run : runs_) {
      const Json bench = run["run"].value("bench", Json());
      const bool named = bench.is_string() && bench != "";  // a program of one's own has no bench
      names += (names.empty() ? "" : " · ") + (named ? bench : run["file"]).get<std::string>();
    }
    return names;
  }

 private:
  const topology::Registry& registry_;
  PageLimits limits_;
  Json runs_ = Json::array();
  std::map<std::string, std::size_t> plans_;  // by the machine's YAML
  std::string templates_;
};

/// The template with `{{name}}` replaced.
std::string filled(std::string_view page, const std::map<std::string, std::string, std::less<>>& parts) {
  std::string out;
  while (true) {
    const auto open = page.find("{{"), close = page.find("}}");
    if (open == page.npos || close == page.npos) return out += page;
    out += page.substr(0, open);
    out += parts.at(std::string(page.substr(open + 2, close - open - 2)));
    page.remove_prefix(close + 2);
  }
}

}  // namespace

std::string html_page(const std::vector<SavedRun>& runs, const topology::Registry& registry,
                      const std::vector<std::string>& names) {
  const std::size_t share = std::max<std::size_t>(1, runs.size());
  PageContent content(registry, {.bars = PageLimits().bars / share, .load = PageLimits().load / share});
  for (std::size_t i = 0; i < runs.size(); ++i) {
    reading(runs[i].path(), [&] { content.add(runs[i]); });
    if (i < names.size()) content.rename_last(names[i]);
  }
  return filled(embedded("report.html"), {{"title", as_markup(content.title())},
                                          {"style", std::string(embedded("style.css"))},
                                          {"script", joined_modules(kReportModules)},
                                          {"plans", content.templates()},
                                          {"data", inlined({{"runs", content.runs()}})}});
}

bool is_sweep(const std::string& folder) {
  std::error_code error;
  return std::filesystem::is_regular_file(folder + "/sweep.json", error);
}

std::string sweep_page(const std::string& folder) {
  const auto refuse = [&](const char* what) {
    throw InputError(
        {"sweep.folder", shown_path(folder), what, "run 'kernbench sweep FILE.yaml -o DIR' first"});
  };
  if (!is_sweep(folder)) refuse("there is no finished sweep in this folder");
  const Json sweep = parse_json_or_discard(read_text_file(folder + "/sweep.json"));
  if (!sweep.is_object() || !sweep.contains("rows")) refuse("sweep.json is damaged, or of an older version");
  Json data = {{"sweep", sweep}, {"gemm", nullptr}};
  if (std::error_code error; std::filesystem::exists(folder + "/gemm_sweep.json", error))
    data["gemm"] = parse_json_or_discard(read_text_file(folder + "/gemm_sweep.json"));
  if (data["gemm"].is_discarded()) refuse("gemm_sweep.json is damaged");
  return filled(embedded("report.html"),
                {{"title", as_markup("Sweep of " + sweep.value("bench", std::string("?")))},
                 {"style", std::string(embedded("style.css"))},
                 {"script", joined_modules(kSweepModules)},
                 {"plans", ""},
                 {"data", inlined(data)}});
}

std::string app_page() {
  return filled(embedded("app.html"),
                {{"style", std::string(embedded("style.css"))}, {"script", joined_modules(kAppModules)}});
}

}  // namespace kernbench::report
