#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "ccl/config.hpp"
#include "cli/describe.hpp"

namespace kernbench::cli {
namespace {

using ccl::Algorithm;

std::string fallback_text(const Param& param) {
  if (param.required) return "must be given";
  return std::holds_alternative<std::monostate>(param.fallback) ? "may be left out"
                                                                : "default " + to_yaml(param.fallback);
}

template <class T>
const T* find(const std::vector<T>& items, std::string_view name) {
  const auto found = std::ranges::find(items, name, &T::name);
  return found == items.end() ? nullptr : &*found;
}

std::string groups_text(const Algorithm& algorithm) {
  std::vector<std::string> names;
  for (const auto group : algorithm.serves) names.push_back(fmt::format("{}s", ccl::to_string(group)));
  return join(names);
}

std::string entries_text(const Algorithm& algorithm, const ccl::Config& config) {
  std::vector<std::string> names;
  for (const auto& name : config.names())
    if (config.settings(name).algorithm == algorithm.name) names.push_back(name);
  return join(names);
}

std::string algorithm_text(const Algorithm& a, const ccl::Registry& registry) {
  const auto line = [](const char* title, const std::string& text) {
    return fmt::format("  {:<16} {}\n", title, text);
  };
  const auto named = [](const auto& thing) { return fmt::format("{}: {}", thing.name, thing.description); };
  const auto config = ccl::load_config("default", {}, registry);
  std::string text = fmt::format("{}: {}\n", a.name, a.description);
  text += line("collective", std::string(ccl::to_string(a.collective)));
  text += line("members", groups_text(a));
  if (a.identical_bits)
    text += line("identical bits", *a.identical_bits ? "yes" : "no: each member adds in its own order");
  text += line("neighbours", named(registry.topology(a.topology)));
  text += line("mapper", named(registry.mapper(a.mapper)));
  text += line("validator", named(registry.validator(a.validator)));
  if (!a.messages.text.empty()) text += line("messages", a.messages.text);
  if (!a.rounds.text.empty()) text += line("rounds", a.rounds.text);
  return text + line("in ccl.yaml", entries_text(a, config));
}

std::string entry_text(std::string_view name, const ccl::Registry& registry) {
  const auto config = ccl::load_config("default", {}, registry);
  if (std::ranges::find(config.names(), name) == config.names().end()) return {};
  const auto settings = config.settings(name);
  return fmt::format("{}: an entry of ccl.yaml, with rings in {}, for:\n\n{}", name,
                     address::to_string(settings.rules.memory),
                     algorithm_text(registry.algorithm(settings.algorithm), registry));
}

}  // namespace

std::string params_text(const std::string& title, const std::vector<Param>& params) {
  if (params.empty()) return {};
  std::string text = "\n" + title + "\n";
  for (const Param& param : params)
    text += fmt::format("  {}: {}\n      {}; {}\n", param.name, param.doc, param.expectation(),
                        fallback_text(param));
  return text;
}

std::string describe_collective(std::string_view name, const ccl::Registry& registry) {
  if (const auto* a = find(registry.algorithms(), name)) return algorithm_text(*a, registry);
  if (const auto* t = find(registry.topologies(), name))
    return fmt::format("{}: {}\na neighbour topology of collectives\n", t->name, t->description);
  if (const auto* m = find(registry.mappers(), name))
    return fmt::format("{}: {}\na mapper of collectives: which PEs of a member take part\n", m->name,
                       m->description);
  if (const auto* v = find(registry.validators(), name))
    return fmt::format("{}: {}\na validator of collectives: which layout of tensors they need\n", v->name,
                       v->description);
  if (name == "ccl.defaults")
    return "ccl.defaults: a section of ccl.yaml\n" + params_text("parameters", ccl::default_params());
  if (name == "ccl.algorithms")
    return "ccl.algorithms: a section of ccl.yaml, one entry per name\n" +
           params_text("parameters of an entry", ccl::entry_params(registry));
  return entry_text(name, registry);
}

std::vector<std::string> collective_names(const ccl::Registry& registry) {
  auto names = ccl::load_config("default", {}, registry).names();
  for (const auto& t : registry.topologies())
    if (t.name != "none") names.push_back(t.name);  // nobody means that
  for (const auto& m : registry.mappers()) names.push_back(m.name);
  for (const auto& v : registry.validators()) names.push_back(v.name);
  names.insert(names.end(), {"ccl.defaults", "ccl.algorithms"});
  return names;
}

}  // namespace kernbench::cli
