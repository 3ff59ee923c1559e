// Kinds of components, their implementations, parameters and behaviour.
//
// A machine file names components as `name: {kind, impl, attrs}`. The registry says which kinds exist, which
// `impl` a kind offers, which attributes each takes and how it behaves. It is an ordinary object: make one with
// `builtin_components()`, add your own, hand it to `load_machine`:
//
//   topology::Registry registry = builtin_components();
//   registry.add_impl("pe_gemm", {"acme.systolic", "a weight-stationary array",
//                                 {Param::integer("fill_cycles", 12, {0, 1000}, "cycles to fill it")},
//                                 models::matrix_unit<Systolic>()});
//
// Kinds are the machine's plan: they cannot be added. Those with an open behaviour are `hbm` (memory_model.hpp), `router`,
// `ucie`, `io_noc`, `pcie_ep` and `switch` (link_model.hpp), `pe_gemm` and `pe_math` (compute_model.hpp), `pe_dma` (dma_model.hpp).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kernbench/compute_model.hpp"
#include "kernbench/dma_model.hpp"
#include "kernbench/link_model.hpp"
#include "kernbench/memory_model.hpp"
#include "kernbench/param.hpp"

namespace kernbench::topology {

/// The behaviour of a component that cannot be replaced.
struct Fixed {};

/// What a component does. `monostate`: nobody said; it can be described, checked for its parameters and drawn, not simulated.
using Behaviour = std::variant<std::monostate, Fixed, models::MatrixFactory, models::VectorFactory,
                               models::MemoryBehaviour, models::LinkFactory, models::DmaFactory>;

/// Values that do not fit each other: which parameter, what is wrong, what to do.
struct Refusal {
  std::string param, what, hint;
};

/// One way to model a kind. Its parameters come on top of the kind's own.
struct Impl {
  std::string name;  // `builtin.pe_gemm`, `acme.systolic`
  std::string doc;
  std::vector<Param> params;
  Behaviour behaviour = {};
  // What follows may be left out.
  /// Looks at all its values together, those of the kind included. A refusal becomes an error with the parameter's place.
  std::function<std::optional<Refusal>(const ParamSet&)> check = {};
  /// A few words on its figures, for `topology show`.
  std::function<std::string(const ParamSet&)> summary = {};
  /// What it models as free or nearly so, for the `idealised` line of every result.
  std::function<std::vector<std::string>(const ParamSet&)> idealised = {};
};

/// Older files chose among impls by a parameter: its values, and the impl each stood for.
struct FormerChoice {
  std::string param;
  std::vector<std::pair<std::string, std::string>> impls;  // value, impl
};

/// What a component is to the rest of the machine. Its parameters are those that other parts read.
struct Kind {
  std::string name;
  std::string doc;
  std::vector<Param> params;
  std::vector<Impl>
      impls;  // the first is what a file gets that names none; what it does, all of the kind can do
  std::optional<FormerChoice> former = {};

  const Impl* find(std::string_view impl) const;
};

class Registry {
 public:
  explicit Registry(std::vector<Kind> kinds = {});
  /// An InputError (`registry.…`) for a kind that does not exist, a name that exists already, a parameter that the kind has, or a
  /// behaviour that the kind does not take.
  void add_impl(std::string_view kind, Impl impl);

  const Kind* find(std::string_view kind) const;
  const std::vector<Kind>& kinds() const { return kinds_; }

 private:
  std::vector<Kind> kinds_;
};

/// Every kind and impl that ships.
Registry builtin_components();
/// The same under its older name. Beside `kernbench::builtin_registry` and the collectives' it says too little.
inline Registry builtin_registry() { return builtin_components(); }

}  // namespace kernbench::topology

namespace kernbench {
using topology::builtin_components;
}
