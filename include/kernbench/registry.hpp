// Kinds of components, their implementations and parameters.
//
// A machine file names components as `name: {kind, impl, attrs}`. The registry says which kinds exist, which
// `impl` a kind offers and which attributes each takes. It is an ordinary object: make one with
// `builtin_components()`, add your own, hand it to `load_machine`:
//
//   topology::Registry registry = builtin_components();
//   registry.add_impl("pe_gemm", {"acme.systolic", "a weight-stationary array",
//                                 {Param::integer("fill_cycles", 12, {0, 1000}, "cycles to fill it")}});
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernbench/param.hpp"

namespace kernbench::topology {

/// One way to model a kind. Its parameters come on top of the kind's own.
struct Impl {
  std::string name;  // `builtin.pe_gemm`, `acme.systolic`
  std::string doc;
  std::vector<Param> params;
};

/// What a component is to the rest of the machine. Its parameters are those that other parts read.
struct Kind {
  std::string name;
  std::string doc;
  std::vector<Param> params;
  std::vector<Impl> impls;  // the first is what a file gets that names none

  const Impl* find(std::string_view impl) const;
};

class Registry {
 public:
  /// A kind or impl that exists already is an InputError (`registry.…`).
  void add_kind(Kind kind);
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
