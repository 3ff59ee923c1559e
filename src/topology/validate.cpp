#include "topology/validate.hpp"

#include <fmt/format.h>

#include <cmath>

#include "kernbench/error.hpp"

namespace kernbench::topology {
namespace {

// Sizes of the fields of a physical address.
constexpr int kMostCubes = 32;  // 5 bits
constexpr int kMostPes = 16;    // 4 bits

[[noreturn]] void refuse(const Machine& machine, std::string_view path, std::string what, std::string hint) {
  throw InputError({"topology.invalid", machine.where(path), std::move(what), std::move(hint)});
}

void check_sip_grid(const Machine& machine) {
  const ParamSet& sips = machine.at("system.sips");
  const std::int64_t count = sips.integer("count");
  const std::string& topology = sips.text("topology");
  if (sips.has("w") != sips.has("h"))
    refuse(machine, sips.has("w") ? "system.sips.w" : "system.sips.h", "'w' and 'h' go together",
           "give both, or neither");
  if (sips.has("w") && sips.integer("w") * sips.integer("h") != count)
    refuse(machine, "system.sips.w",
           fmt::format("{} × {} is not the {} SIPs of 'count'", sips.integer("w"), sips.integer("h"), count),
           "make w × h equal to count");
  const auto side = std::llround(std::sqrt(static_cast<double>(count)));
  if (topology != "ring_1d" && !sips.has("w") && side * side != count)
    refuse(machine, "system.sips.count", fmt::format("{} SIPs make no square grid for {}", count, topology),
           fmt::format("set system.sips.w and system.sips.h with w × h = {}", count));
}

void check_address_fields(const Machine& machine) {
  const MeshCoord mesh = machine.cube_mesh();
  if (machine.cubes() > kMostCubes)
    refuse(machine, mesh.x >= mesh.y ? "sip.cube_mesh.w" : "sip.cube_mesh.h",
           fmt::format("{} × {} = {} cubes in a SIP", mesh.x, mesh.y, machine.cubes()),
           fmt::format("the cube field of an address has 5 bits: at most {} cubes", kMostCubes));
  if (machine.pes() > kMostPes)
    refuse(machine, "cube.pe_layout.pe_per_corner", fmt::format("{} PEs in a cube", machine.pes()),
           fmt::format("the PE field of an address has 4 bits: at most {} PEs", kMostPes));
}

void check_routers(const Machine& machine) {
  const ParamSet& routers = machine.at("cube.routers");
  const auto& hole = routers.numbers("hole");
  for (const std::size_t axis : {std::size_t{0}, std::size_t{1}}) {
    const std::int64_t size = routers.integer(axis == 0 ? "rows" : "cols");
    const double gap = hole[axis];
    const bool centred = gap == std::floor(gap) && std::fmod(static_cast<double>(size) - gap, 2) == 0;
    if (gap > 0 && (!centred || gap > static_cast<double>(size) - 2))
      refuse(
          machine, "cube.routers.hole",
          fmt::format("a hole of {} cannot be centred in {} {}", gap, size, axis == 0 ? "rows" : "columns"),
          "leave at least one router on each side, as many on one as on the other");
  }
  if ((hole[0] == 0) != (hole[1] == 0))
    refuse(machine, "cube.routers.hole", "a hole has rows and columns", "write [0, 0] for none");
  const std::int64_t connections = machine.at("cube.ucie").integer("connections");
  const std::int64_t least = std::min(routers.integer("rows"), routers.integer("cols"));
  if (connections > least)
    refuse(machine, "cube.ucie.connections",
           fmt::format("{} connections for a side of {} routers", connections, least),
           "each connection joins a router of its own; use fewer, or more routers");
}

void check_flow(const Machine& machine) {
  const ParamSet& routers = machine.at("cube.routers");
  if (routers.text("flow") == "credits" && routers.integer("buffer_packets") == 0)
    refuse(machine, "cube.routers.buffer_packets",
           "with `flow: credits` a router without buffers lets nothing through",
           "set cube.routers.buffer_packets to 1 or more; 16 is a good start");
}

void check_places(const Machine& machine) {
  const auto& size = machine.at("cube").numbers("size_mm");
  for (const char* path : {"cube.m_cpu", "cube.sram"}) {
    const auto& at = machine.at(path).numbers("at_mm");
    if (at[0] > size[0] || at[1] > size[1])
      refuse(machine, fmt::format("{}.at_mm", path),
             fmt::format("({}, {}) mm is outside the cube of {} × {} mm", at[0], at[1], size[0], size[1]),
             "move it inside, or enlarge cube.size_mm");
  }
}

void check_memories(const Machine& machine) {
  const ParamSet& hbm = machine.at("cube.hbm");
  const std::int64_t total = hbm.bytes("hbm_total_gb_per_cube").count();
  const std::int64_t stripe = hbm.integer("burst_bytes") * hbm.integer("num_pcs");
  if (total % machine.pes() != 0 || machine.hbm_slice().count() % stripe != 0)
    refuse(machine, "cube.hbm.hbm_total_gb_per_cube",
           fmt::format("{} GiB do not split over {} PEs into whole bursts of all pseudo-channels",
                       hbm.number("hbm_total_gb_per_cube"), machine.pes()),
           fmt::format("make each PE's slice a multiple of num_pcs × burst_bytes = {} bytes", stripe));
  const ParamSet& tcm = machine.at("pe.pe_tcm");
  const double reserved = tcm.number("scheduler_mb") + tcm.number("kernel_scratch_mb");
  if (reserved > tcm.number("capacity_mb"))
    refuse(machine, "pe.pe_tcm.kernel_scratch_mb",
           fmt::format("scheduler and kernel scratch need {} MiB of a TCM of {} MiB", reserved,
                       tcm.number("capacity_mb")),
           "lower scheduler_mb or kernel_scratch_mb, or raise capacity_mb");
}

/// What an impl says of its own values.
void check_impls(const Machine& machine) {
  for (const Group& group : machine.groups()) {
    if (!group.how.check) continue;
    if (const auto refusal = group.how.check(group.params))
      refuse(machine, fmt::format("{}.{}", group.path, refusal->param), refusal->what, refusal->hint);
  }
}

/// Energy is counted in whole femtojoules, and a milliwatt is one per picosecond.
void check_energy(const Machine& machine) {
  for (const Group& group : machine.groups()) {
    if (group.path != "energy" && !group.path.starts_with("energy.")) continue;
    for (const Param& param : group.params.params()) {
      if (!group.params.has(param.name) || param.name.ends_with("_kb")) continue;  // a size is no price
      const double thousandths = group.params.number(param.name) * 1000;
      if (std::abs(thousandths - std::round(thousandths)) < 1e-6 * std::max(1.0, thousandths)) continue;
      const bool is_power = param.name.ends_with("_w");
      refuse(machine, fmt::format("{}.{}", group.path, param.name),
             fmt::format("'{}' of {} is no whole number of {}", param.name, group.params.number(param.name),
                         is_power ? "milliwatts" : "femtojoules"),
             "energy is counted exactly: give at most three digits after the point");
    }
  }
}

}  // namespace

void validate(const Machine& machine) {
  check_sip_grid(machine);
  check_address_fields(machine);
  check_routers(machine);
  check_flow(machine);
  check_places(machine);
  check_memories(machine);
  check_impls(machine);
  check_energy(machine);
}

}  // namespace kernbench::topology
