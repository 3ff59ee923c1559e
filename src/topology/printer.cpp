#include <fmt/format.h>

#include <algorithm>

#include "kernbench/machine.hpp"

namespace kernbench::topology {
namespace {

std::string last_name(const std::string& path) { return path.substr(path.rfind('.') + 1); }

int depth(const std::string& path) { return static_cast<int>(std::count(path.begin(), path.end(), '.')); }

std::string indent(int levels) { return std::string(static_cast<std::size_t>(2 * levels), ' '); }

std::string flow_map(const ParamSet& params) {
  std::string text;
  for (const Param& param : params.params())
    if (params.has(param.name))
      text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", param.name,
                          kernbench::to_yaml(params.value(param.name)));
  return fmt::format("{{{}}}", text);
}

void print_component(std::string& out, const Group& group) {
  out += fmt::format("{}{}: {{kind: {}, impl: {}, attrs: {}}}\n", indent(depth(group.path)),
                     last_name(group.path), group.kind, group.impl, flow_map(group.params));
}

/// A section without any value or part is written as an empty map: nothing at all would be no map.
bool is_empty(const Machine& machine, const Group& section) {
  const auto is_inside = [&](const Group& g) { return g.path.starts_with(section.path + "."); };
  const auto is_given = [&](const Param& param) { return section.params.has(param.name); };
  return std::ranges::none_of(machine.groups(), is_inside) &&
         std::ranges::none_of(section.params.params(), is_given);
}

void print_section(std::string& out, const Machine& machine, const Group& group) {
  out += fmt::format("{}{}:{}\n", indent(depth(group.path)), last_name(group.path),
                     is_empty(machine, group) ? " {}" : "");
  for (const Param& param : group.params.params())
    if (group.params.has(param.name))
      out += fmt::format("{}{}: {}\n", indent(depth(group.path) + 1), param.name,
                         kernbench::to_yaml(group.params.value(param.name)));
}

}  // namespace

std::string to_yaml(const Machine& machine) {
  std::string out;
  for (const Group& group : machine.groups())
    group.is_component() ? print_component(out, group) : print_section(out, machine, group);
  return out;
}

}  // namespace kernbench::topology
