// From text to a checked configuration: parse, apply overrides, read both sections by their parameters, then check what
// refers to names.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/file.hpp"
#include "base/text.hpp"
#include "base/yaml.hpp"
#include "ccl/config.hpp"
#include "ccl/embedded.hpp"
#include "kernbench/error.hpp"

namespace kernbench::ccl {
namespace {

constexpr const char* kSetHint =
    "for example --set ccl.defaults.n_slots=8 or --set ccl.algorithms.NAME.n_elem=64";
const std::vector<std::string> kSections = {"defaults", "algorithms"};

[[noreturn]] void refuse(const char* id, const YamlPlace& place, std::string what, std::string hint) {
  throw InputError({fmt::format("ccl.{}", id), place.text(), std::move(what), std::move(hint)});
}

/// A section may be left out or empty.
void require_map(const YamlNode& node, std::string_view what) {
  if (node.kind != YamlNode::Kind::map && node.kind != YamlNode::Kind::null)
    refuse("type", node.place, fmt::format("{} must be a map of keys, not {}", what, node.describe()),
           "write its keys indented below it");
}

void check_keys(const YamlNode& node, const std::vector<std::string>& known, std::string_view what) {
  for (const auto& entry : node.entries)
    if (std::ranges::find(known, entry.key) == known.end())
      refuse("unknown-key", entry.place, fmt::format("unknown key {} in {}", quote(entry.key), what),
             suggest(entry.key, known, "keys"));
}

/// The map of that key, made if it is not there.
YamlNode& inside(YamlNode& parent, const std::string& key, const YamlPlace& place) {
  require_map(parent, "what is overridden");
  parent.kind = YamlNode::Kind::map;
  if (!parent.find(key)) parent.set(key, {.kind = YamlNode::Kind::map, .place = place});
  return *parent.find(key);
}

/// `algorithms.NAME.KEY` in words; names have no dots.
std::vector<std::string> words(std::string path) {
  std::vector<std::string> out;
  for (std::size_t dot; (dot = path.find('.')) != std::string::npos; path.erase(0, dot + 1))
    out.push_back(path.substr(0, dot));
  out.push_back(path);
  return out;
}

std::string section_hint(const std::string& word) {
  const auto near = nearest(word, kSections);
  return near.empty() ? kSetHint : fmt::format("did you mean 'ccl.{}'?", near.front());
}

void apply_override(YamlNode& root, const std::string& text) {
  auto given = parse_override(text);
  if (!given)
    refuse("set", {std::make_shared<const std::string>("--set " + text)}, "an override is KEY=VALUE",
           kSetHint);
  auto path = words(given->path);
  if (path.front() == "ccl") path.erase(path.begin());
  if (path.empty() || std::ranges::find(kSections, path.front()) == kSections.end())
    refuse("unknown-key", given->place, fmt::format("{} is no part of ccl.yaml", quote(given->path)),
           path.empty() ? kSetHint : section_hint(path.front()));
  if (path.size() != (path.front() == "defaults" ? 2u : 3u))
    refuse("set", given->place, fmt::format("{} is no value", quote(given->path)), kSetHint);
  YamlNode* node = &root;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) node = &inside(*node, path[i], given->place);
  require_map(*node, "what is overridden");
  node->kind = YamlNode::Kind::map;
  node->set(path.back(), std::move(given->value));
}

}  // namespace

class ConfigLoader {
 public:
  ConfigLoader(const YamlNode& root, std::string source, const Registry& registry)
      : root_(root), registry_(registry) {
    config_.source_ = std::move(source);
  }

  Config load() {
    require_map(root_, "the file");
    check_keys(root_, kSections, "the file");
    config_.defaults_ = read(section("defaults"), default_params(), "'defaults'");
    config_.names_algorithm_ = section("defaults").find("algorithm") != nullptr;
    const YamlNode& algorithms = section("algorithms");
    for (const auto& entry : algorithms.entries) read_entry(entry);
    for (const auto& algorithm : registry_.algorithms())
      if (std::ranges::find(config_.names_, algorithm.name) == config_.names_.end())
        add_entry(algorithm.name, ParamSet(entry_params(registry_)), algorithm);
    check_default_algorithm();
    return std::move(config_);
  }

 private:
  const YamlNode& section(const char* name) const {
    static const YamlNode nothing;
    const YamlNode* found = root_.find(name);
    if (found) require_map(*found, fmt::format("'{}'", name));
    return found ? *found : nothing;
  }

  ParamSet read(const YamlNode& node, const std::vector<Param>& params, const std::string& what) {
    require_map(node, what);
    std::vector<std::string> known;
    for (const auto& param : params) known.push_back(param.name);
    check_keys(node, known, what);
    ParamSet set(params);
    for (const auto& entry : node.entries) {
      set.set(entry.key, set.find(entry.key)->read(entry.value));
      if (entry.key == "vc_chunk_size")
        config_.notes_.push_back(fmt::format("{}: vc_chunk_size has no effect", entry.place.text()));
    }
    return set;
  }

  void read_entry(const YamlNode::Entry& entry) {
    const std::string what = quote("algorithms." + entry.key);
    if (entry.key.find('.') != std::string::npos)
      refuse("name", entry.place, fmt::format("an algorithm's name has no dot: {}", quote(entry.key)),
             "use _ instead");
    auto known = entry_params(registry_);
    for (const auto& value : entry.value.entries)
      if (value.key.starts_with("kernel_"))
        known.push_back(Param::text(value.key, "", "what the kernel is told").optional());
    check_function_path(entry.value, "mapper", registry_.mappers());
    check_function_path(entry.value, "validator", registry_.validators());
    auto params = read(entry.value, known, what);
    const Algorithm& algorithm = algorithm_of(entry);
    if (!algorithm.any_topology) check_right(entry, "topology", algorithm, right_topologies(algorithm));
    check_right(entry, "mapper", algorithm, algorithm.mappers);
    if (params.has("root_cube") && !algorithm.has_root_cube)
      config_.notes_.push_back(fmt::format("{}: root_cube has no effect: {} has no root cube",
                                           entry.value.find("root_cube")->place.text(), algorithm.name));
    add_entry(entry.key, std::move(params), algorithm);
  }

  /// An algorithm between other neighbours than its own gives wrong results.
  static void check_right(const YamlNode::Entry& entry, const char* key, const Algorithm& algorithm,
                          const std::vector<std::string>& right) {
    const YamlNode* given = entry.value.find(key);
    if (!given || right.empty() || std::ranges::find(right, given->scalar) != right.end()) return;
    refuse(key, given->place,
           fmt::format("{} would give wrong results with {} {}", algorithm.name, key, quote(given->scalar)),
           fmt::format("it is right with {}", join(right)));
  }

  /// The import path of a Python module or function that no Python interpreter has imported and registered.
  [[noreturn]] static void refuse_path(const YamlPlace& place, std::string_view path, const char* what) {
    refuse("python-path", place,
           fmt::format("{} is the import path of a Python {}, and only Python programs can import it",
                       quote(path), what),
           "run `python3 -m kernbench …` instead of `kernbench …`; paths in the file are imported, "
           "those of --set are not");
  }

  template <typename Registered>
  static void check_function_path(const YamlNode& entry, const char* key, const Registered& registered) {
    const YamlNode* given = entry.find(key);
    if (!given || given->scalar.find('.') == std::string::npos) return;
    if (std::ranges::any_of(registered, [&](const auto& one) { return one.name == given->scalar; })) return;
    refuse_path(given->place, given->scalar, "function");
  }

  /// `module` is the name under which an algorithm was registered, or the prototype's path of it:
  /// `kernbench.ccl.algorithms.ring_allreduce`.
  const Algorithm& algorithm_of(const YamlNode::Entry& entry) const {
    const YamlNode* module = entry.value.find("module");
    const YamlPlace& place = module ? module->place : entry.place;
    std::string name = module ? module->scalar : entry.key;
    const auto find = [&] { return std::ranges::find(registry_.algorithms(), name, &Algorithm::name); };
    if (const auto found = find(); found != registry_.algorithms().end()) return *found;
    if (name.find('.') != std::string::npos && !name.starts_with("kernbench."))
      refuse_path(place, name, "module");
    name.erase(0, name.rfind('.') + 1);
    if (const auto found = find(); found != registry_.algorithms().end()) return *found;
    std::vector<std::string> known;
    for (const auto& algorithm : registry_.algorithms()) known.push_back(algorithm.name);
    refuse("unknown-algorithm", place, fmt::format("nobody registered an algorithm {}", quote(name)),
           fmt::format("{}{}", module ? "" : "name one as `module`; ", suggest(name, known, "algorithms")));
  }

  /// What the entry does not say, its algorithm does.
  void add_entry(const std::string& name, ParamSet params, const Algorithm& algorithm) {
    params.set("module", algorithm.name);
    if (!params.has("topology")) params.set("topology", algorithm.topology);
    if (!params.has("mapper")) params.set("mapper", algorithm.mapper);
    if (!params.has("validator")) params.set("validator", algorithm.validator);
    config_.names_.push_back(name);
    config_.entries_.push_back({name, std::move(params)});
  }

  void check_default_algorithm() const {
    const std::string& name = config_.algorithm();
    if (std::ranges::find(config_.names_, name) != config_.names_.end()) return;
    const YamlNode* given = section("defaults").find("algorithm");
    refuse("unknown-algorithm", given ? given->place : root_.place,
           fmt::format("no algorithm is called {}", quote(name)),
           suggest(name, config_.names_, "algorithms"));
  }

  const YamlNode& root_;
  const Registry& registry_;
  Config config_;
};

ConfigFile config_file(const std::string& name, const std::string& text) {
  return {name, text, parse_yaml(text, name)};
}

ConfigFile read_config(const std::string& file_or_default) {
  std::error_code error;
  if (file_or_default.empty())
    return read_config(std::filesystem::exists("ccl.yaml", error) ? "ccl.yaml" : "default");
  for (const auto* shipped = kEmbeddedTexts; shipped->name != nullptr; ++shipped)
    if (file_or_default == shipped->name) return config_file("default ccl.yaml", shipped->text);
  if (!std::filesystem::exists(file_or_default, error))
    throw InputError(
        {"file.missing", file_or_default, "no such file", "give the path of a ccl.yaml, or 'default'"});
  return config_file(file_or_default, read_text_file(file_or_default));
}

Config load_config(ConfigFile file, std::span<const std::string> overrides, const Registry& registry) {
  for (const auto& override_text : overrides) apply_override(file.root, override_text);
  return ConfigLoader(file.root, file.name, registry).load();
}

Config load_config(const std::string& file_or_default, std::span<const std::string> overrides,
                   const Registry& registry) {
  return load_config(read_config(file_or_default), overrides, registry);
}

Config load_config_text(const std::string& text, const std::string& file,
                        std::span<const std::string> overrides, const Registry& registry) {
  return load_config(config_file(file, text), overrides, registry);
}

}  // namespace kernbench::ccl
