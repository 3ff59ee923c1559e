// Machines, members and what every collective should make of their tensors.
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "ccl/arrays.hpp"
#include "kernbench/functional.hpp"
#include "own_models.hpp"

namespace kernbench::ccl {

struct MachineShape {
  int sips = 1;
  std::string sip_topology = "ring_1d";
  MeshCoord sip_grid = {0, 0};  // 0: not given
  MeshCoord cubes = {2, 2};
  int pes_per_corner = 1;
  std::vector<std::string> set = {};
};

inline topology::Machine machine_of(const MachineShape& shape) {
  std::vector<std::string> set = {
      fmt::format("system.sips.count={}", shape.sips), "system.sips.topology=" + shape.sip_topology,
      fmt::format("sip.cube_mesh.w={}", shape.cubes.x), fmt::format("sip.cube_mesh.h={}", shape.cubes.y),
      fmt::format("cube.pe_layout.pe_per_corner={}", shape.pes_per_corner)};
  if (shape.sip_grid.x > 0) {
    set.push_back(fmt::format("system.sips.w={}", shape.sip_grid.x));
    set.push_back(fmt::format("system.sips.h={}", shape.sip_grid.y));
  }
  set.insert(set.end(), shape.set.begin(), shape.set.end());
  return topology::load_machine("default", set, kernbench::testing::registry_with_own_models());
}

inline std::string to_string(const MachineShape& s) {
  return fmt::format("{} SIPs {} ({} x {}), {} x {} cubes, {} PEs", s.sips, s.sip_topology, s.sip_grid.x,
                     s.sip_grid.y, s.cubes.x, s.cubes.y, 4 * s.pes_per_corner);
}

using PeArrays = std::vector<std::vector<NdArray>>;  // of each PE

/// Elements [first, first + count) of a vector.
inline NdArray part(const NdArray& whole, std::int64_t first, std::int64_t count) {
  const auto size = itemsize(whole.dtype());
  NdArray out(whole.dtype(), {count});
  std::ranges::copy(
      whole.bytes().subspan(static_cast<std::size_t>(first * size), static_cast<std::size_t>(count * size)),
      out.bytes().begin());
  return out;
}

inline NdArray joined(const Arrays& parts) {
  std::int64_t n = 0;
  for (const auto& p : parts) n += p.elements();
  NdArray out(parts.front().dtype(), {n});
  auto to = out.bytes().begin();
  for (const auto& p : parts) to = std::ranges::copy(p.bytes(), to).out;
  return out;
}

/// What the ranks of a lane should end with, given what they begin with.
inline Arrays expected(Collective collective, const Arrays& in, ReduceOp op, int root) {
  const auto ranks = static_cast<std::int64_t>(in.size());
  const auto n = in.front().elements();
  const auto all = reduced(in, op);
  Arrays out;
  for (std::int64_t r = 0; r < ranks; ++r) {
    const auto& mine = in[static_cast<std::size_t>(r)];
    switch (collective) {
      case Collective::all_reduce:
        out.push_back(all);
        break;
      case Collective::all_gather:
        out.push_back(joined(in));
        break;
      case Collective::reduce_scatter:
        out.push_back(part(all, r * n / ranks, n / ranks));
        break;
      case Collective::broadcast:
        out.push_back(in[static_cast<std::size_t>(root)]);
        break;
      case Collective::reduce:
        out.push_back(r == root ? all : mine);
        break;
      case Collective::all_to_all: {
        Arrays parts;
        for (const auto& other : in) parts.push_back(part(other, r * n / ranks, n / ranks));
        out.push_back(joined(parts));
        break;
      }
      case Collective::send_recv:
        out.push_back(in.front());
        break;
      case Collective::barrier:
        out.push_back(mine);
        break;
      case Collective::other:  // hello_send
        out.push_back(in[static_cast<std::size_t>((r + ranks - 1) % ranks)]);
        break;
    }
  }
  return out;
}

inline bool has_output(Collective c) {
  return c == Collective::all_gather || c == Collective::reduce_scatter || c == Collective::all_to_all;
}

/// One collective, made ready to be run.
class CollectiveTest {
 public:
  CollectiveTest(const Registry& registry, const std::string& algorithm, const topology::Machine& machine,
                 const MemberRequest& request)
      : registry_(registry),
        algorithm_(registry.algorithm(algorithm)),
        members_(members_of(machine, registry.mapper(algorithm_.mapper), request)) {}

  const Members& members() const { return members_; }
  const Algorithm& algorithm() const { return algorithm_; }
  int ranks() const { return members_.world_size(); }

  /// `inputs` in the order of members().pes().
  FunctionalResult run(const Arrays& inputs, const Call& call, const FunctionalOptions& options) const {
    const auto wanted = expected_by_pe(inputs, call);
    PeArrays tensors;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      tensors.push_back({inputs[i]});
      if (has_output(algorithm_.collective))
        tensors.back().emplace_back(inputs[i].dtype(), wanted[i].shape());
    }
    return run_functional(registry_, algorithm_.name, members_, tensors, call, options);
  }

  /// In the order of members().pes().
  Arrays expected_by_pe(const Arrays& inputs, const Call& call) const {
    std::map<PeCoord, NdArray> in, out;
    const auto pes = members_.pes();
    for (std::size_t i = 0; i < pes.size(); ++i) in[pes[i]] = inputs[i];
    for (const auto& lane : members_.lanes) {
      Arrays lane_in;
      for (const auto pe : lane) lane_in.push_back(in[pe]);
      const auto lane_out = expected(algorithm_.collective, lane_in, call.op, call.root);
      for (std::size_t r = 0; r < lane.size(); ++r) out[lane[r]] = lane_out[r];
    }
    Arrays by_pe;
    for (const auto pe : pes) by_pe.push_back(out[pe]);
    return by_pe;
  }

 private:
  const Registry& registry_;
  const Algorithm& algorithm_;
  Members members_;
};

}  // namespace kernbench::ccl
