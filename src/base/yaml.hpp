// YAML, strictly: what our configuration files are read with.
//
// Text becomes a small tree that knows the place of every node. Whatever could be misread is refused with
// its place: duplicate keys, a second document, merge keys, tags, unterminated quotes, aliases that contain
// themselves or grow without measure, absurd depth, binary files.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kernbench {

/// Where a node stands. `line` and `column` count from 1; 0 means the place as a whole (`--set a=b`).
struct YamlPlace {
  std::shared_ptr<const std::string> file;
  int line = 0;
  int column = 0;
  std::string text() const;
};

struct YamlNode {
  enum class Kind { null, scalar, list, map };
  struct Entry;

  Kind kind = Kind::null;
  std::string scalar;   // of a scalar
  bool quoted = false;  // a quoted scalar is always text
  YamlPlace place;
  std::vector<YamlNode> items;  // of a list
  std::vector<Entry> entries;   // of a map, in file order

  /// "a list", "a map", "'abc'", "nothing": for messages.
  std::string describe() const;
  YamlNode* find(std::string_view key);
  const YamlNode* find(std::string_view key) const;
  /// Sets `key` to `value`, replacing what was there.
  void set(const std::string& key, YamlNode value);
};

struct YamlNode::Entry {
  std::string key;
  YamlPlace place;
  YamlNode value;
};

/// `PATH=VALUE` as given on a command line. All places in the value are the override itself.
struct YamlOverride {
  std::string path;
  YamlNode value;
  YamlPlace place;  // `--set PATH=VALUE`
};
/// Nothing if the text is no override; InputError (`yaml.…`) if its value cannot be read.
std::optional<YamlOverride> parse_override(const std::string& text);

/// Reads one document. `file` names it in errors. Throws InputError (`yaml.…`).
YamlNode parse_yaml(const std::string& text, const std::string& file);

}  // namespace kernbench
