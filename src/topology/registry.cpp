#include "kernbench/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "kernbench/error.hpp"

namespace kernbench::topology {
namespace {

template <class Named>
const Named* find_named(const std::vector<Named>& all, std::string_view name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Named& n) { return n.name == name; });
  return found == all.end() ? nullptr : &*found;
}

[[noreturn]] void refuse(const char* id, std::string what, std::string hint) {
  throw InputError({id, "registry", std::move(what), std::move(hint)});
}

/// The public header of an open behaviour.
const char* behaviour_name(const Behaviour& behaviour) {
  constexpr std::array<const char*, std::variant_size_v<Behaviour>> kNames = {
      "nothing",
      "nothing",
      "models::MatrixFactory (compute_model.hpp)",
      "models::VectorFactory (compute_model.hpp)",
      "models::MemoryBehaviour (memory_model.hpp)",
      "models::LinkFactory (link_model.hpp)",
      "models::DmaFactory (dma_model.hpp)"};
  return kNames[behaviour.index()];
}

/// What a component of the kind can do, as its first impl does it.
void check_behaviour(const Kind& kind, const Impl& impl) {
  if (std::holds_alternative<std::monostate>(impl.behaviour) || kind.impls.empty()) return;
  if (impl.behaviour.index() == kind.impls.front().behaviour.index()) return;
  const bool fixed = std::holds_alternative<Fixed>(kind.impls.front().behaviour);
  refuse("registry.behaviour", fmt::format("'{}' has a behaviour that no {} can have", impl.name, kind.name),
         fixed ? fmt::format("that of kind {} cannot be replaced: leave it out", kind.name)
               : fmt::format("kind {} takes {}", kind.name, behaviour_name(kind.impls.front().behaviour)));
}

/// A parameter is described once: an impl may not describe one of its kind's again.
void check_params(const Kind& kind, const Impl& impl) {
  for (const Param& param : impl.params)
    if (find_named(kind.params, param.name))
      refuse("registry.twice",
             fmt::format("'{}' describes '{}', which every {} has", impl.name, param.name, kind.name),
             "read the kind's parameter or choose another name");
}

}  // namespace

const Impl* Kind::find(std::string_view impl) const { return find_named(impls, impl); }

const Kind* Registry::find(std::string_view kind) const { return find_named(kinds_, kind); }

Registry::Registry(std::vector<Kind> kinds) : kinds_(std::move(kinds)) {
  for (const Kind& kind : kinds_)
    for (const Impl& impl : kind.impls) check_params(kind, impl);
}

void Registry::add_impl(std::string_view kind, Impl impl) {
  const auto found =
      std::find_if(kinds_.begin(), kinds_.end(), [&](const Kind& k) { return k.name == kind; });
  if (found == kinds_.end()) {
    std::vector<std::string> names;
    for (const Kind& known : kinds_) names.push_back(known.name);
    refuse("registry.unknown-kind", fmt::format("no kind '{}' to add '{}' to", kind, impl.name),
           suggest(kind, names, "kinds"));
  }
  if (found->find(impl.name))
    refuse("registry.twice", fmt::format("impl '{}' of {} exists already", impl.name, kind),
           "choose another name");
  check_params(*found, impl);
  check_behaviour(*found, impl);
  found->impls.push_back(std::move(impl));
}

}  // namespace kernbench::topology
