// A machine: everything the topology file says, checked.
//
//   Machine machine = load_machine("topology.yaml", {"sip.cube_mesh.w=8"});
//   machine.at("cube.hbm").bandwidth("hbm_to_router_bw_gbs");
//
// The file is a tree of sections (`sip.cube_mesh`) and components (`pe.pe_gemm`); both are groups of
// parameters, found by their path. Every value is a line of the file, a `--set`, or a default of the
// registry. Bad input is an InputError with file, line, column and a hint; nothing is built from a file that
// has one.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernbench/coords.hpp"
#include "kernbench/param.hpp"
#include "kernbench/registry.hpp"

namespace kernbench::topology {

/// A section or, with a kind and an impl, a component.
struct Group {
  std::string path;
  std::string kind;  // empty: a section
  std::string impl;
  ParamSet params;
  Impl how = {};           // the impl, as it was registered
  bool is_default = true;  // it is the impl that a file gets that names none

  bool is_component() const { return !kind.empty(); }
  bool operator==(const Group& other) const {
    return path == other.path && kind == other.kind && impl == other.impl && params == other.params;
  }
};

enum class SipTopology { ring_1d, torus_2d, mesh_2d_no_wrap };

class Machine {
 public:
  /// In the order of the schema, parents first.
  const std::vector<Group>& groups() const { return groups_; }
  const ParamSet& at(std::string_view path) const;
  const Group& group(std::string_view path) const;
  /// Whether there is such a group: files may leave out `energy` and what is in it.
  bool has(std::string_view path) const;
  /// The behaviour of a component, of the type that its kind has: `behaviour<models::MatrixFactory>("pe.pe_gemm")`. An
  /// InputError (`topology.no-behaviour`) if its impl was registered without one.
  template <class T>
  const T& behaviour(std::string_view path) const {
    require_behaviour(group(path));
    return std::get<T>(group(path).how.behaviour);
  }
  /// Whether it can be simulated: every component must have a behaviour, and its model must be ready to be made. `topology check`
  /// and every run ask this first.
  void require_behaviours() const;
  /// Where a group or `group.param` was given: `file:line:col`, `--set …`; the file if it was left out.
  std::string where(std::string_view path) const;
  const std::string& source() const { return source_; }

  int sips() const;
  MeshCoord cube_mesh() const;                                 // x = width, y = height
  int cubes() const { return cube_mesh().x * cube_mesh().y; }  // per SIP
  int pes() const;                                             // per cube
  std::int64_t total_pes() const { return std::int64_t{1} * sips() * cubes() * pes(); }

  SipTopology sip_topology() const;
  MeshCoord sip_grid() const;  // count × 1 for a ring

  Bytes hbm_slice() const;  // of one PE
  // One PE's units; 0 where the impl has no behaviour to tell.
  double pe_peak_tflops(
      DType type = DType::f16) const;  // matrix: operands of this type; a multiply-add is 2 operations
  double pe_peak_gops(DType type = DType::f16) const;  // vector: additions
  /// What this machine models as free or nearly so: "routers 0 ns", "PCIe 5 ns", "energy 0 pJ".
  std::vector<std::string> idealised() const;
  /// Whether each row of a strided transfer is charged at its own address in HBM (`pe_dma.strided`; `auto`: as its impl has it).
  bool gathers() const;
  /// What the models leave out on every machine, whatever its figures are; what a value of the file brings back is said.
  std::vector<std::string> left_out() const;

  /// The same machine, whatever file it came from.
  bool operator==(const Machine& other) const { return groups_ == other.groups_; }

 private:
  friend class MachineLoader;
  void require_behaviour(const Group& group) const;
  std::vector<Group> groups_;
  std::map<std::string, std::string, std::less<>> places_;
  std::string source_;
};

/// Loads a file, or a shipped machine by its name (`default`, `realistic`, `small`). `overrides` are
/// `path=value`, `attrs.` left out or not; the last of equal paths wins.
Machine load_machine(const std::string& file_or_name, std::span<const std::string> overrides,
                     const Registry& registry);
inline Machine load_machine(const std::string& file_or_name,
                            std::initializer_list<std::string> overrides = {},
                            const Registry& registry = builtin_components()) {
  return load_machine(file_or_name, std::span(overrides.begin(), overrides.size()), registry);
}
/// The same from text; `file` names it in messages.
Machine load_machine_text(const std::string& text, const std::string& file,
                          std::span<const std::string> overrides, const Registry& registry);

/// The machine as a file that loads to an equal machine: every parameter written out.
std::string to_yaml(const Machine& machine);

/// The machines that ship inside the binary.
struct ShippedMachine {
  std::string name, summary, yaml;
};
const std::vector<ShippedMachine>& shipped_machines();

}  // namespace kernbench::topology

namespace kernbench {
using topology::load_machine;
using topology::Machine;
}  // namespace kernbench
