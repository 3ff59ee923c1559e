#include "base/yaml.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <unordered_map>

#include "base/text.hpp"
#include "kernbench/error.hpp"

namespace kernbench {
namespace {

constexpr int kDeepest = 64;
constexpr std::size_t kMostNodes = 100'000;  // after aliases are expanded
constexpr const char* kEmptyHint = "begin with a copy of a file that ships with KernBench";

[[noreturn]] void refuse(std::string id, const YamlPlace& place, std::string what, std::string hint = {}) {
  throw InputError({"yaml." + std::move(id), place.text(), std::move(what), std::move(hint)});
}

std::size_t count_nodes(const YamlNode& node) {
  std::size_t n = 1;
  for (const YamlNode& item : node.items) n += count_nodes(item);
  for (const YamlNode::Entry& entry : node.entries) n += 1 + count_nodes(entry.value);
  return n;
}

/// Builds the tree from yaml-cpp's events, which carry marks and aliases (YAML::Node hides both).
class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, std::shared_ptr<const std::string> file)
      : text_(text), file_(std::move(file)) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // marks count from behind it
    if (text_.starts_with(kByteOrderMark)) text_.remove_prefix(kByteOrderMark.size());
  }

  YamlNode take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add_leaf({}, mark, anchor); }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const bool plain = tag == "?" || tag.empty();
    if (!plain && (tag != "!" || is_tagged(mark))) refuse_tag(mark, tag);
    if (!plain) check_quote_ends(mark);
    add_leaf({.kind = YamlNode::Kind::scalar, .scalar = value, .quoted = !plain}, mark, anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end())
      refuse("alias-cycle", at(mark), "this alias contains itself", "write the value out");
    count(mark, count_nodes(found->second));
    add(found->second, mark);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::list, mark, tag, anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::map, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    YamlNode node;
    YAML::anchor_t anchor;
    std::optional<YamlNode::Entry> pending = {};           // a key that waits for its value
    std::unordered_map<std::string, YamlPlace> keys = {};  // of a map, with their places
  };

  YamlPlace at(const YAML::Mark& mark) const { return {file_, mark.line + 1, mark.column + 1}; }

  [[noreturn]] void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
    constexpr std::string_view kStandard = "tag:yaml.org,2002:";
    const std::string written = tag.starts_with(kStandard) ? "!!" + tag.substr(kStandard.size()) : tag;
    refuse("tag", at(mark), fmt::format("tag {} is not supported", quote(written)),
           "write the plain value, without the tag");
  }

  /// Whether a `!` stands at the node, perhaps behind an anchor: yaml-cpp reports `! 2` like a quoted text.
  bool is_tagged(const YAML::Mark& mark) const {
    std::string_view rest =
        text_.substr(std::min(text_.size(), static_cast<std::size_t>(std::max(0, mark.pos))));
    if (rest.starts_with('&')) {
      rest.remove_prefix(std::min(rest.size(), rest.find_first_of(" \t\r\n")));
      rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(" \t\r\n")));
    }
    return rest.starts_with('!');
  }

  void count(const YAML::Mark& mark, std::size_t nodes) {
    nodes_ += nodes;
    if (nodes_ > kMostNodes)
      refuse("too-large", at(mark), fmt::format("more than {} values after aliases are expanded", kMostNodes),
             "no configuration needs that many; check the aliases");
  }

  void open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (tag != "?" && !tag.empty()) refuse_tag(mark, tag);
    if (static_cast<int>(stack_.size()) >= kDeepest)
      refuse("too-deep", at(mark), fmt::format("nested more than {} levels deep", kDeepest),
             "no configuration is that deep; look for brackets that are never closed");
    count(mark, 1);
    stack_.push_back({.node = {.kind = kind, .place = at(mark)}, .anchor = anchor});
  }

  void close() {
    Open done = std::move(stack_.back());
    stack_.pop_back();
    remember(done.anchor, done.node);
    place_in_parent(std::move(done.node));
  }

  void add_leaf(YamlNode node, const YAML::Mark& mark, YAML::anchor_t anchor) {
    count(mark, 1);
    remember(anchor, node);
    add(std::move(node), mark);
  }

  void add(YamlNode node, const YAML::Mark& mark) {
    node.place = at(mark);
    place_in_parent(std::move(node));
  }

  void remember(YAML::anchor_t anchor, const YamlNode& node) {
    if (anchor == YAML::NullAnchor) return;
    remembered_ += count_nodes(node);  // anchors within anchors: each keeps a copy of what is in it
    if (remembered_ > kMostNodes)
      refuse("too-large", node.place, fmt::format("more than {} values in anchors", kMostNodes),
             "no configuration needs that many; write values out");
    anchors_[anchor] = node;
  }

  void place_in_parent(YamlNode node) {
    if (stack_.empty()) {
      root_ = std::move(node);
    } else if (Open& parent = stack_.back(); parent.node.kind == YamlNode::Kind::list) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.pending) {
      parent.pending = key_from(parent, std::move(node));
    } else {
      parent.pending->value = std::move(node);
      parent.node.entries.push_back(std::move(*parent.pending));
      parent.pending.reset();
    }
  }

  static YamlNode::Entry key_from(Open& map, YamlNode key) {
    if (key.kind != YamlNode::Kind::scalar)
      refuse("key", key.place, fmt::format("a key must be a word, not {}", key.describe()),
             "write a plain word before the colon");
    if (key.scalar == "<<" && !key.quoted)
      refuse("merge", key.place, "merge keys ('<<') are not supported", "write the keys out");
    if (const auto [first, is_new] = map.keys.try_emplace(key.scalar, key.place); !is_new)
      refuse("duplicate-key", key.place, fmt::format("duplicate key {}", quote(key.scalar)),
             fmt::format("it is already set at {}; keep one of them", first->second.text()));
    return {key.scalar, key.place, {}};
  }

  /// yaml-cpp takes the end of the file for a closing quote; we look for the quote itself.
  void check_quote_ends(const YAML::Mark& mark) const {
    const std::size_t begin = text_.find_first_of("\"'|>", static_cast<std::size_t>(std::max(0, mark.pos)));
    if (begin == std::string_view::npos || text_[begin] == '|' || text_[begin] == '>') return;
    const char quote = text_[begin];
    for (std::size_t i = begin + 1; i < text_.size(); ++i) {
      if (quote == '"' && text_[i] == '\\') {
        ++i;
      } else if (text_[i] == quote) {
        if (quote == '"' || i + 1 >= text_.size() || text_[i + 1] != quote) return;
        ++i;
      }
    }
    refuse("unterminated-quote", at(mark), fmt::format("the quote {} opened here is never closed", quote),
           fmt::format("put a {} at the end of the text", quote));
  }

  std::string_view text_;
  std::shared_ptr<const std::string> file_;
  YamlNode root_;
  std::vector<Open> stack_;
  std::map<YAML::anchor_t, YamlNode> anchors_;
  std::size_t nodes_ = 0;
  std::size_t remembered_ = 0;  // in anchors
};

/// Refuses bytes that no text file has. Tabs and line ends are the only control characters in YAML.
void check_is_text(std::string_view text, const std::shared_ptr<const std::string>& file) {
  int line = 1;
  int column = 1;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7F)
      refuse("binary", {file, line, column}, fmt::format("byte 0x{:02x}: this is not a text file", byte),
             "give a YAML file");
    c == '\n' ? (++line, column = 1) : ++column;
  }
}

}  // namespace

std::string YamlPlace::text() const {
  const std::string name = file ? shown_path(*file) : std::string();
  return line == 0 ? name : fmt::format("{}:{}:{}", name, line, column);
}

std::string YamlNode::describe() const {
  switch (kind) {
    case Kind::null:
      return "nothing";
    case Kind::list:
      return "a list";
    case Kind::map:
      return "a map";
    case Kind::scalar:
      break;
  }
  return quote(scalar);
}

namespace {

template <class Entries>
auto* find_value(Entries& entries, std::string_view key) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const YamlNode::Entry& entry) { return entry.key == key; });
  return found == entries.end() ? nullptr : &found->value;
}

}  // namespace

YamlNode* YamlNode::find(std::string_view key) { return find_value(entries, key); }

const YamlNode* YamlNode::find(std::string_view key) const { return find_value(entries, key); }

void YamlNode::set(const std::string& key, YamlNode value) {
  const YamlPlace where = value.place;
  const auto found = std::ranges::find(entries, key, &Entry::key);
  if (found == entries.end())
    entries.push_back({key, where, std::move(value)});
  else
    *found = {key, where, std::move(value)};
}

namespace {

/// Only a file of no bytes is empty.
[[noreturn]] void refuse_nothing(const std::string& text, const std::shared_ptr<const std::string>& name) {
  const bool blank = text.find_first_not_of(" \t\r\n") == text.npos;
  refuse("empty", {name, 1, 1},
         text.empty() ? "the file is empty"
         : blank      ? "the file has blanks alone"
                      : "the file has no keys, only comments or an empty value",
         kEmptyHint);
}

}  // namespace

YamlNode parse_yaml(const std::string& text, const std::string& file) {
  const auto name = std::make_shared<const std::string>(file);
  check_is_text(text, name);
  TreeBuilder builder(text, name);
  std::istringstream stream(text);
  try {
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) refuse_nothing(text, name);
    YamlNode root = builder.take();
    if (root.kind == YamlNode::Kind::null) refuse_nothing(text, name);
    TreeBuilder second(text, name);
    if (parser.HandleNextDocument(second))
      refuse("second-document", second.take().place, "a second document begins here",
             "one file, one document");
    return root;
  } catch (const YAML::Exception& e) {
    refuse("syntax", {name, e.mark.line + 1, e.mark.column + 1}, e.msg,
           "look at brackets, quotes and indentation here and just before; the file may be cut off");
  }
}

namespace {

void put_at(YamlNode& node, const YamlPlace& place) {
  node.place = place;
  for (YamlNode& item : node.items) put_at(item, place);
  for (YamlNode::Entry& entry : node.entries) {
    entry.place = place;
    put_at(entry.value, place);
  }
}

}  // namespace

std::optional<YamlOverride> parse_override(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) return std::nullopt;
  const std::string place_name = "--set " + text;
  YamlOverride given{text.substr(0, equals),
                     parse_yaml(text.substr(equals + 1), place_name),
                     {std::make_shared<const std::string>(place_name)}};
  put_at(given.value, given.place);
  return given;
}

}  // namespace kernbench
