#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "base/yaml.hpp"
#include "kernbench/bench.hpp"
#include "kernbench/error.hpp"

namespace kernbench::bench {
namespace {

std::string folded(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

const Param& find_option(const Bench& bench, const std::string& name, const std::string& word) {
  for (const Param& option : bench.options)
    if (option.name == name) return option;
  std::vector<std::string> names;
  for (const Param& option : bench.options) names.push_back(option.name);
  throw InputError({"bench.unknown-option", shown(word),
                    fmt::format("'{}' has no option {}", bench.name, quote(name)),
                    names.empty() ? "it takes none" : suggest(name, names, "options")});
}

/// A list may stand in brackets or without: `panels=a,b`.
ParamValue read_value(const Param& option, const std::string& text, const std::string& word) {
  const bool is_list = option.type == Param::Type::words || option.type == Param::Type::numbers;
  YamlNode value;
  value.kind = YamlNode::Kind::scalar;
  value.scalar = text;
  if (text.starts_with('['))
    value = parse_yaml(text, word);
  else if (is_list)
    value = parse_yaml("[" + text + "]", word);
  value.place = {std::make_shared<const std::string>(word)};
  return option.read(value);
}

}  // namespace

Options Bench::read_options(std::span<const std::string> words) const {
  Options values(options);
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0)
      throw InputError({"bench.option", word, "an option of a bench is option=value",
                        fmt::format("'kernbench describe {}' lists its options", name)});
    const Param& option = find_option(*this, word.substr(0, equals), word);
    values.set(option.name, read_value(option, word.substr(equals + 1), word));
  }
  for (const Param& option : options)
    if (option.required && !values.has(option.name))
      throw InputError({"bench.option", name, fmt::format("option '{}' must be given", option.name),
                        fmt::format("{}: {} ({})", option.name, option.expectation(), option.doc)});
  return values;
}

void Benches::add(Bench bench) {
  if (bench.name.empty() || !bench.run)
    throw InputError({"bench.incomplete", bench.name, "a bench needs a name and a host function",
                      "registry.benches.add({name, doc, options, function})"});
  if (find(bench.name))
    throw InputError(
        {"bench.twice", bench.name, "there is a bench of that name already", "choose another name"});
  benches_.push_back(std::move(bench));
}

void Benches::remove(std::string_view name) {
  std::erase_if(benches_, [&](const Bench& b) { return folded(b.name) == folded(name); });
}

const Bench* Benches::find(std::string_view name) const {
  const auto found = std::find_if(benches_.begin(), benches_.end(),
                                  [&](const Bench& b) { return folded(b.name) == folded(name); });
  return found == benches_.end() ? nullptr : &*found;
}

const Bench& Benches::at(std::string_view name) const {
  if (const Bench* bench = find(name)) return *bench;
  throw InputError({"bench.unknown", "", fmt::format("there is no bench {}", quote(name)),
                    suggest(name, names(), "benches")});
}

std::vector<std::string> Benches::names() const {
  std::vector<std::string> names;
  for (const Bench& bench : benches_) names.push_back(bench.name);
  return names;
}

}  // namespace kernbench::bench
