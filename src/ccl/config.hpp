// ccl.yaml: how queues are built, and which algorithm does what.
//
//   const Config config = load_config("default", {"ccl.defaults.n_slots=8"}, registry);
//   const Settings settings = config.settings(config.algorithm());
//
// The file has `defaults` and, by name, `algorithms`. An entry names the registered algorithm it stands for
// (`module`; its own name if left out) and may differ from the defaults, so that one kernel can have several entries. A
// registered algorithm without an entry has the defaults. Bad input is an InputError with file, line and column.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/yaml.hpp"
#include "device/queue_wiring.hpp"
#include "kernbench/ccl.hpp"
#include "kernbench/param.hpp"

namespace kernbench::ccl {

/// An entry, with the defaults where it says nothing.
struct Settings {
  std::string name;
  std::string algorithm;  // registered under this name; empty: none, this is a wiring alone
  std::string topology, mapper, validator;
  device::QueueRules rules;
  std::optional<std::int64_t> n_elem;
  std::optional<int> world_size;  // given, here or in the defaults: rank = PE
  std::optional<int> root_cube;
  std::shared_ptr<const std::map<std::string, std::string>> kernel_config = {};  // Call::config
};

class Config {
 public:
  const std::string& source() const { return source_; }
  /// What all_reduce uses for the groups it serves.
  const std::string& algorithm() const { return defaults_.text("algorithm"); }
  bool names_algorithm() const { return names_algorithm_; }
  /// Members of collectives that name no group; none if the file does not say.
  std::optional<Group> group() const;
  /// The entries of the file, then the registered algorithms that have none.
  const std::vector<std::string>& names() const { return names_; }
  /// InputError that lists the known names if it is none of them.
  Settings settings(std::string_view name) const;
  /// Queues between these neighbours for kernels that are no algorithm, as the defaults say.
  Settings wiring(std::string_view topology, std::string_view mapper) const;
  /// What is accepted but has no effect, with its place.
  const std::vector<std::string>& notes() const { return notes_; }

  bool operator==(const Config& other) const {
    return defaults_ == other.defaults_ && entries_ == other.entries_;
  }

 private:
  friend class ConfigLoader;
  friend std::string to_yaml(const Config& config);
  struct Entry {
    std::string name;
    ParamSet params;
    bool operator==(const Entry&) const = default;
  };

  std::string source_;
  ParamSet defaults_;
  std::vector<Entry> entries_;  // also of algorithms that the file does not name
  std::vector<std::string> names_, notes_;
  bool names_algorithm_ = false;  // not left to us
};

/// Elements of a member that benches may be asked for.
inline constexpr Range kElementRange{1, 0x1p40};

/// The parameters of `defaults` and of an entry.
std::vector<Param> default_params();
std::vector<Param> entry_params(const Registry& registry);

/// A file that has been read, to be loaded with one override after the other.
struct ConfigFile {
  std::string name;  // for messages
  std::string text;
  YamlNode root;
};
ConfigFile config_file(const std::string& name, const std::string& text);
/// A file, or `default`: the one that ships. Nothing: `ccl.yaml` of the current folder if there is one, else the one that
/// ships.
ConfigFile read_config(const std::string& file_or_default);
/// Overrides are `defaults.KEY=VALUE` or `algorithms.NAME.KEY=VALUE`, with `ccl.` before them or not.
Config load_config(ConfigFile file, std::span<const std::string> overrides, const Registry& registry);
Config load_config(const std::string& file_or_default, std::span<const std::string> overrides,
                   const Registry& registry);
/// The same from text; `file` names it in messages.
Config load_config_text(const std::string& text, const std::string& file,
                        std::span<const std::string> overrides, const Registry& registry);

/// A file that loads to an equal configuration.
std::string to_yaml(const Config& config);

}  // namespace kernbench::ccl
