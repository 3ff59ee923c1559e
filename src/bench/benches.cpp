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

/// The option and its value.
std::pair<std::string, ParamValue> read_word(const Bench& bench, const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0)
    throw InputError({"bench.option", word, "an option of a bench is option=value",
                      fmt::format("'kernbench describe {}' lists its options", bench.name)});
  const Param& option = find_option(bench, word.substr(0, equals), word);
  return {option.name, read_value(option, word.substr(equals + 1), word)};
}

[[noreturn]] void refuse_idle(const Applies& condition, const std::string& option, const Options& values,
                              const std::string& word) {
  throw InputError(
      {"bench.option", shown(word),
       fmt::format("{} has no effect with {}={}", quote(option), condition.by, values.text(condition.by)),
       fmt::format("leave it out, or give {}={}", condition.by, join(condition.values, " or "))});
}

}  // namespace

const Applies* Bench::condition_of(std::string_view option) const {
  for (const Applies& some : applies)
    if (std::ranges::find(some.options, option) != some.options.end()) return &some;
  return nullptr;
}

void Bench::check_option(const std::string& word) const { read_word(*this, word); }

Options Bench::read_options(std::span<const std::string> words) const {
  Options values(options);
  for (const std::string& word : words) {
    auto [option, value] = read_word(*this, word);
    values.set(option, std::move(value));
  }
  for (const Applies& some : applies) {
    const std::string& value = values.text(some.by);
    if (std::ranges::find(some.values, value) == some.values.end())
      values.idle_.insert(some.options.begin(), some.options.end());
  }
  for (const std::string& word : words)
    if (const std::string option = word.substr(0, word.find('=')); !values.applies(option))
      refuse_idle(*condition_of(option), option, values, word);
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
