#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "ccl/builtin.hpp"
#include "kernbench/error.hpp"

namespace kernbench::ccl {
namespace {

template <class T>
const T* find(const std::vector<T>& items, std::string_view name) {
  const auto found = std::ranges::find(items, name, &T::name);
  return found == items.end() ? nullptr : &*found;
}

template <class T>
const T& get(const std::vector<T>& items, std::string_view name, const char* what, const char* plural) {
  if (const T* item = find(items, name)) return *item;
  std::vector<std::string> names;
  for (const T& item : items) names.push_back(item.name);
  throw InputError({fmt::format("ccl.unknown-{}", what), "",
                    fmt::format("no {} is called {}", what, quote(name)), suggest(name, names, plural)});
}

template <class T>
void put(std::vector<T>& items, T item, bool complete, const char* what) {
  if (item.name.empty() || !complete)
    throw InputError({"registry.incomplete", item.name,
                      fmt::format("{} without a name or without what it does", what), "give both"});
  if (find(items, item.name))
    throw InputError({"registry.duplicate", "", fmt::format("there is a {} '{}' already", what, item.name),
                      "choose another name, e.g. with your own prefix"});
  items.push_back(std::move(item));
}

}  // namespace

void Registry::add(Algorithm algorithm) {
  const bool complete = algorithm.kernel != nullptr;
  put(algorithms_, std::move(algorithm), complete, "algorithm");
}
void Registry::add(Topology topology) {
  const bool complete = topology.links != nullptr;
  put(topologies_, std::move(topology), complete, "topology");
}
void Registry::add(Mapper mapper) {
  const bool complete = mapper.picks != nullptr;
  put(mappers_, std::move(mapper), complete, "mapper");
}
void Registry::add(Validator validator) {
  const bool complete = validator.problem != nullptr;
  put(validators_, std::move(validator), complete, "validator");
}

const Algorithm& Registry::algorithm(std::string_view name) const {
  return get(algorithms_, name, "algorithm", "algorithms");
}
const Topology& Registry::topology(std::string_view name) const {
  return get(topologies_, name, "topology", "topologies");
}
const Mapper& Registry::mapper(std::string_view name) const {
  return get(mappers_, name, "mapper", "mappers");
}
const Validator& Registry::validator(std::string_view name) const {
  return get(validators_, name, "validator", "validators");
}

std::string_view to_string(Collective collective) {
  constexpr std::array kNames = {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",
                                 "all_to_all", "send_recv",  "barrier",        "other"};
  return kNames[static_cast<std::size_t>(collective)];
}

Registry builtin_collectives() {
  Registry registry;
  register_topologies(registry);
  register_mappers(registry);
  register_validators(registry);
  register_algorithms(registry);
  return registry;
}

}  // namespace kernbench::ccl
