#include "topology/build_models.hpp"

#include <fmt/format.h>

#include "kernbench/error.hpp"
#include "kernbench/sim.hpp"

namespace kernbench::topology {
namespace {

/// Whom a memory may tell that is asked nothing.
class Unheard final : public models::MemoryAnswers {
 public:
  void through(std::uint64_t, std::int64_t, std::span<const Time>) override {}
};

/// One per sort of behaviour.
struct Build {
  const ParamSet& params;
  bool operator()(std::monostate) const { return true; }
  bool operator()(const Fixed&) const { return true; }
  bool operator()(const models::MemoryBehaviour& memory) const {
    sim::Simulation nowhere;
    Unheard nobody;
    return memory.make(params, {nowhere.partition(), nobody}) != nullptr;
  }
  template <class Factory>
  bool operator()(const Factory& make) const {
    return make(params) != nullptr;
  }
};

[[noreturn]] void refuse(const Machine& machine, const Group& component, const std::string& why,
                         const std::string& hint) {
  throw InputError({"topology.model", machine.where(component.path + ".impl"),
                    fmt::format("{} cannot be made for {}: {}", component.impl, component.path, why), hint});
}

}  // namespace

void build_models(const Machine& machine) {
  for (const Group& component : machine.groups()) {
    try {
      if (!std::visit(Build{component.params}, component.how.behaviour))
        refuse(machine, component, "its factory makes nothing", "let it return a model");
    } catch (const InputError& e) {
      if (!e.where().empty()) throw;
      refuse(machine, component, e.message(), e.hint());
    } catch (const Error&) {
      throw;
    } catch (const std::exception& e) {
      refuse(machine, component, e.what(),
             fmt::format("`kernbench describe {}` lists what it takes", component.impl));
    }
  }
}

}  // namespace kernbench::topology
