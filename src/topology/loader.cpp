// From text to a checked machine: parse, bring components to one form, apply overrides, read each group by
// the schema and the registry, then check what concerns several values together.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/file.hpp"
#include "base/text.hpp"
#include "base/yaml.hpp"
#include "kernbench/error.hpp"
#include "kernbench/machine.hpp"
#include "topology/schema.hpp"
#include "topology/validate.hpp"

namespace kernbench::topology {
namespace {

[[noreturn]] void refuse(const char* id, const YamlPlace& place, std::string what, std::string hint) {
  throw InputError({fmt::format("topology.{}", id), place.text(), std::move(what), std::move(hint)});
}

void require_map(const YamlNode& node, const std::string& path) {
  if (node.kind != YamlNode::Kind::map)
    refuse("type", node.place, fmt::format("'{}' must be a map of keys, not {}", path, node.describe()),
           fmt::format("write '{}:' and its keys indented below it", path.substr(path.rfind('.') + 1)));
}

YamlNode* find_path(YamlNode& root, std::string_view path) {
  YamlNode* node = &root;
  while (node && !path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    node = node->find(path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return node;
}

/// `x: {kind, impl, attrs: {a}}` and `x: {a}` mean the same; from here on there is only the second.
void lift_attrs(YamlNode& component, const std::string& path) {
  YamlNode* attrs = component.find("attrs");
  if (!attrs) return;
  const YamlNode inner = attrs->kind == YamlNode::Kind::null ? YamlNode{.kind = YamlNode::Kind::map} : *attrs;
  require_map(inner, path + ".attrs");
  std::erase_if(component.entries, [](const YamlNode::Entry& e) { return e.key == "attrs"; });
  for (const YamlNode::Entry& entry : inner.entries) {
    if (const YamlNode* first = component.find(entry.key))
      refuse("duplicate-key", entry.place, fmt::format("duplicate key {}", quote(entry.key)),
             fmt::format("it is already set at {}; keep one of them", first->place.text()));
    component.entries.push_back(entry);
  }
}

/// The older `system: {components: {switch: …}}` means `system: {switch: …}`.
void lift_components(YamlNode& section, const std::string& path) {
  const YamlNode* components = section.find("components");
  if (!components) return;
  const YamlNode inner = *components;
  require_map(inner, path + ".components");
  std::erase_if(section.entries, [](const YamlNode::Entry& e) { return e.key == "components"; });
  for (const YamlNode::Entry& entry : inner.entries) {
    if (const YamlNode* first = section.find(entry.key))
      refuse("duplicate-key", entry.place, fmt::format("duplicate key {}", quote(entry.key)),
             fmt::format("it is already set at {}; keep one of them", first->place.text()));
    section.entries.push_back(entry);
  }
}

void lift_all_components(YamlNode& root) {
  for (YamlNode::Entry& entry : root.entries)
    if (entry.value.kind == YamlNode::Kind::map) lift_components(entry.value, entry.key);
}

void lift_all_attrs(YamlNode& root) {
  for (const SchemaEntry& entry : schema())
    if (YamlNode* node = find_path(root, entry.path);
        node && !entry.kind.empty() && node->kind == YamlNode::Kind::map)
      lift_attrs(*node, entry.path);
}

/// `cube.hbm.attrs.model` names `cube.hbm.model`.
std::string without_attrs(std::string path) {
  const std::size_t at = path.find(".attrs.");
  if (at != std::string::npos && find_entry(path.substr(0, at))) path.erase(at, 6);
  return path;
}

bool is_component(const std::string& path) {
  const SchemaEntry* entry = find_entry(path);
  return entry && !entry->kind.empty();
}

/// Where values of that name are: `clock_ghz` is `pe.clock_ghz`.
std::vector<std::string> places_of(const std::string& key, const Registry& registry) {
  std::vector<std::string> found;
  const auto look = [&](const std::string& path, const std::vector<Param>& params) {
    for (const Param& param : params)
      if (param.name == key) found.push_back(path + "." + key);
  };
  for (const SchemaEntry& entry : schema()) {
    look(entry.path, entry.params);
    const Kind* kind = registry.find(entry.kind);
    if (!kind) continue;
    look(entry.path, kind->params);
    for (const Impl& impl : kind->impls) look(entry.path, impl.params);
  }
  return found;
}

void check_override_target(const std::string& path, const std::string& group, const YamlPlace& place,
                           const Registry& registry) {
  if (find_entry(group)) return;
  if (group.empty() && find_entry(path))
    refuse("set", place, fmt::format("'{}' is a section", path),
           fmt::format("name a value in it: {}.KEY=VALUE", path));
  std::vector<std::string> paths;
  for (const SchemaEntry& entry : schema()) paths.push_back(entry.path);
  const std::string& meant = group.empty() ? path : group;
  if (const auto found = places_of(path, registry); !found.empty())
    refuse("unknown-key", place, fmt::format("{} alone does not say of which part", quote(path)),
           fmt::format("give it with its part: {}", join(found, " or ")));
  refuse("unknown-key", place, fmt::format("no part of the machine is called {}", quote(meant)),
         suggest(meant, paths, "parts"));
}

/// An optional section that the file leaves out begins to exist when one of its values is set.
YamlNode* find_or_make(YamlNode& root, const std::string& group, const YamlPlace& place) {
  if (YamlNode* found = find_path(root, group)) return found;
  const SchemaEntry* entry = find_entry(group);
  if (!entry || !entry->optional) return nullptr;
  const std::size_t dot = group.rfind('.');
  YamlNode* above = dot == std::string::npos ? &root : find_or_make(root, group.substr(0, dot), place);
  if (!above || above->kind != YamlNode::Kind::map) return nullptr;
  YamlNode section{.kind = YamlNode::Kind::map};
  section.place = place;
  above->set(dot == std::string::npos ? group : group.substr(dot + 1), std::move(section));
  return find_path(root, group);
}

void apply_override(YamlNode& root, const std::string& text, const Registry& registry) {
  auto given = parse_override(text);
  if (!given)
    refuse("set", {std::make_shared<const std::string>("--set " + text)}, "an override is KEY=VALUE",
           "for example --set sip.cube_mesh.w=8");
  auto& [full_path, value, place] = *given;
  const std::string path = without_attrs(full_path);
  const std::string group = path.substr(0, path.rfind('.') == std::string::npos ? 0 : path.rfind('.'));
  const std::string key = group.empty() ? path : path.substr(group.size() + 1);
  check_override_target(path, group, place, registry);
  YamlNode* parent = find_or_make(root, group, place);
  if (!parent || parent->kind != YamlNode::Kind::map) return;  // the missing part is reported on reading
  if (key == "attrs" && is_component(group)) {                 // several values of one component
    require_map(value, path);
    for (YamlNode::Entry& entry : value.entries) parent->set(entry.key, std::move(entry.value));
    return;
  }
  if (is_component(path) && value.kind == YamlNode::Kind::map) lift_attrs(value, path);
  parent->set(key, std::move(value));
}

}  // namespace

namespace {

/// The impls that a file names, by the paths of their components.
using NamedImpls = std::map<std::string, std::string, std::less<>>;

NamedImpls named_impls(YamlNode& root) {
  NamedImpls named;
  for (const SchemaEntry& entry : schema())
    if (const YamlNode* node = entry.kind.empty() ? nullptr : find_path(root, entry.path))
      if (const YamlNode* impl = node->kind == YamlNode::Kind::map ? node->find("impl") : nullptr)
        named[entry.path] = impl->scalar;
  return named;
}

}  // namespace

class MachineLoader {
 public:
  MachineLoader(YamlNode root, std::string source, const Registry& registry, NamedImpls in_file)
      : root_(std::move(root)), registry_(registry), in_file_(std::move(in_file)) {
    machine_.source_ = std::move(source);
  }

  Machine load() {
    require_map(root_, "the file");
    check_keys({}, root_);
    for (const SchemaEntry& entry : schema()) read_entry(entry);
    validate(machine_);
    return std::move(machine_);
  }

 private:
  void read_entry(const SchemaEntry& entry) {
    const YamlNode* node = find_path(root_, entry.path);
    if (!node && entry.optional) return;
    if (!node) refuse_missing(entry);
    const bool empty_component = node->kind == YamlNode::Kind::null && !entry.kind.empty();
    if (!empty_component) require_map(*node, entry.path);
    machine_.places_[entry.path] = node->place.text();
    entry.kind.empty() ? read_section(entry, *node) : read_component(entry, *node);
  }

  [[noreturn]] void refuse_missing(const SchemaEntry& entry) {
    const std::size_t dot = entry.path.rfind('.');
    const std::string parent = dot == std::string::npos ? "" : entry.path.substr(0, dot);
    const YamlNode* above = find_path(root_, parent);
    refuse("missing", above->place, fmt::format("'{}' is missing", entry.path),
           entry.kind.empty() ? "add the section; `kernbench topology show --yaml` prints a complete file"
                              : fmt::format("add '{}: {{}}' to take the defaults of kind {}",
                                            entry.path.substr(dot + 1), entry.kind));
  }

  void read_section(const SchemaEntry& entry, const YamlNode& node) {
    check_keys(entry, node);
    machine_.groups_.push_back({entry.path, "", "", read_params(entry.path, entry.params, node)});
  }

  void check_keys(const SchemaEntry& section, const YamlNode& node) {
    const std::vector<std::string> known = known_keys(section);
    for (const YamlNode::Entry& entry : node.entries)
      if (std::find(known.begin(), known.end(), entry.key) == known.end())
        refuse_key(entry, section.path, known);
  }

  [[noreturn]] static void refuse_key(const YamlNode::Entry& entry, const std::string& path,
                                      const std::vector<std::string>& known) {
    refuse("unknown-key", entry.place,
           path.empty() ? fmt::format("unknown key {}", quote(entry.key))
                        : fmt::format("unknown key {} in '{}'", quote(entry.key), path),
           suggest(entry.key, known, "keys"));
  }

  void read_component(const SchemaEntry& entry, const YamlNode& node) {
    const Kind* kind = registry_.find(entry.kind);
    KB_ASSERT(kind, "the schema names kind '{}', which the registry lacks", entry.kind);
    check_kind(entry, node);
    const YamlNode* former = kind->former ? node.find(kind->former->param) : nullptr;
    const Impl& impl = former ? former_impl(*kind, node, *former) : find_impl(*kind, node);
    const YamlNode taken = without_other_impl(entry, *kind, impl, node);
    read_component(entry, taken, *kind, impl, former != nullptr);
  }

  /// An override that names another impl than the file does takes the place of what the file gave that impl.
  YamlNode without_other_impl(const SchemaEntry& entry, const Kind& kind, const Impl& impl,
                              const YamlNode& node) const {
    const auto named = in_file_.find(entry.path);
    const Impl* before = named == in_file_.end() ? &kind.impls.front() : kind.find(named->second);
    YamlNode taken = node;
    if (before == nullptr || before == &impl || !is_override(node.find("impl"))) return taken;
    std::erase_if(taken.entries, [&](const YamlNode::Entry& item) {
      const auto same = [&](const Param& param) { return param.name == item.key; };
      return !is_override(&item.value) && std::ranges::any_of(before->params, same);
    });
    return taken;
  }

  static bool is_override(const YamlNode* value) { return value && value->place.text().starts_with("--set"); }

  void read_component(const SchemaEntry& entry, const YamlNode& node, const Kind& kind, const Impl& impl,
                      bool former) {
    std::vector<Param> params = kind.params;
    params.insert(params.end(), impl.params.begin(), impl.params.end());
    std::vector<std::string> known = {"kind", "impl"};
    for (const Param& param : params) known.push_back(param.name);
    for (const YamlNode::Entry& item : node.entries) {
      if (std::find(known.begin(), known.end(), item.key) != known.end()) continue;
      if (former && is_former(kind, item.key)) continue;
      refuse_param(kind, impl, item, entry.path, known);
    }
    if (const YamlNode* named = node.find("impl"))
      machine_.places_[entry.path + ".impl"] = named->place.text();
    machine_.groups_.push_back({entry.path, entry.kind, impl.name, read_params(entry.path, params, node),
                                impl, &impl == &kind.impls.front()});
  }

  /// `model: rows` of older files: it chose among the impls of its list, whichever of them the file names.
  static const Impl& former_impl(const Kind& kind, const YamlNode& node, const YamlNode& chosen) {
    const FormerChoice& former = *kind.former;
    const Impl& named = find_impl(kind, node);
    std::vector<std::string> values;
    bool listed = false;
    for (const auto& [value, impl] : former.impls) {
      values.push_back(value);
      listed |= impl == named.name;
    }
    if (!listed)
      refuse("unknown-key", chosen.place, fmt::format("{} has no '{}'", named.name, former.param),
             "leave it out: the impl says what is modelled");
    for (const auto& [value, impl] : former.impls)
      if (chosen.kind == YamlNode::Kind::scalar && chosen.scalar == value) return *kind.find(impl);
    throw InputError(
        {"param.choice", chosen.place.text(),
         fmt::format("'{}' must be one of {}, not {}", former.param, join(values), chosen.describe()),
         fmt::format("or leave it out and name the impl, as in impl: {}", former.impls.back().second)});
  }

  /// Files that chose that way also gave the parameters of impls they did not choose.
  static bool is_former(const Kind& kind, const std::string& key) {
    if (key == kind.former->param) return true;
    for (const auto& [value, name] : kind.former->impls)
      for (const Param& param : kind.find(name)->params)
        if (param.name == key) return true;
    return false;
  }

  /// Another impl of the kind may be meant.
  [[noreturn]] static void refuse_param(const Kind& kind, const Impl& impl, const YamlNode::Entry& item,
                                        const std::string& path, const std::vector<std::string>& known) {
    for (const Impl& other : kind.impls)
      for (const Param& param : other.params)
        if (param.name == item.key)
          refuse("unknown-key", item.place, fmt::format("{} has no {}", impl.name, quote(item.key)),
                 fmt::format("{} has: give {} the impl {}", other.name, path, other.name));
    refuse_key(item, path, known);
  }

  static void check_kind(const SchemaEntry& entry, const YamlNode& node) {
    const YamlNode* kind = node.find("kind");
    if (kind && (kind->kind != YamlNode::Kind::scalar || kind->scalar != entry.kind))
      refuse("kind", kind->place,
             fmt::format("'{}' is of kind {}, not {}", entry.path, entry.kind, kind->describe()),
             "leave 'kind' out, or register an impl for this kind and name it in 'impl'");
  }

  static const Impl& find_impl(const Kind& kind, const YamlNode& node) {
    const YamlNode* name = node.find("impl");
    if (!name) return kind.impls.front();
    if (const Impl* impl = name->kind == YamlNode::Kind::scalar ? kind.find(name->scalar) : nullptr)
      return *impl;
    std::vector<std::string> known;
    for (const Impl& impl : kind.impls) known.push_back(impl.name);
    refuse("unknown-impl", name->place,
           fmt::format("nobody registered {} for kind {}", name->describe(), kind.name),
           fmt::format("registered: {}", join(known)));
  }

  ParamSet read_params(const std::string& path, const std::vector<Param>& params, const YamlNode& node) {
    ParamSet set(params);
    for (const Param& param : params) {
      const YamlNode* given = node.find(param.name);
      if (given) {
        set.set(param.name, param.read(*given));
        machine_.places_[path + "." + param.name] = given->place.text();
      } else if (param.required) {
        refuse("missing", node.place, fmt::format("'{}.{}' is missing", path, param.name),
               fmt::format("{}: {} ({})", param.name, param.expectation(), param.doc));
      }
    }
    return set;
  }

  YamlNode root_;
  const Registry& registry_;
  const NamedImpls in_file_;
  Machine machine_;
};

Machine load_machine_text(const std::string& text, const std::string& file,
                          std::span<const std::string> overrides, const Registry& registry) {
  YamlNode root = parse_yaml(text, file);
  lift_all_components(root);
  lift_all_attrs(root);
  NamedImpls in_file = named_impls(root);
  for (const std::string& override_text : overrides) apply_override(root, override_text, registry);
  try {
    return MachineLoader(std::move(root), file, registry, std::move(in_file)).load();
  } catch (const InputError& e) {
    if (overrides.empty() || e.where().starts_with("--set")) throw;
    // Values that do not fit each other: the file's may have been fine before.
    throw InputError({e.id(), e.where(), e.message(),
                      fmt::format("{} (in effect: --set {})", e.hint(), join(overrides, " --set "))});
  }
}

Machine load_machine(const std::string& file_or_name, std::span<const std::string> overrides,
                     const Registry& registry) {
  std::vector<std::string> names;
  for (const ShippedMachine& shipped : shipped_machines()) {
    if (shipped.name == file_or_name)
      return load_machine_text(shipped.yaml, shipped.name, overrides, registry);
    names.push_back(shipped.name);
  }
  std::error_code error;
  if (!std::filesystem::exists(file_or_name, error))
    throw InputError({"file.missing", shown_path(file_or_name), "no such file, nor a machine that ships",
                      nearest(file_or_name, names).empty()
                          ? fmt::format("give the path of a machine file or one of {}", join(names))
                          : suggest(file_or_name, names, "machines")});
  return load_machine_text(read_text_file(file_or_name), file_or_name, overrides, registry);
}

}  // namespace kernbench::topology
