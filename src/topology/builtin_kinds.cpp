// The kinds that ship: one function per part of the machine, one line per parameter.
#include "base/text.hpp"
#include "kernbench/math_op.hpp"
#include "kernbench/registry.hpp"

namespace kernbench::topology {
namespace {

constexpr Range kLatencyNs = {0, 1e6};
constexpr Range kBandwidthGbs = {1e-3, 1e6};
constexpr Range kCycles = {0, 1e6};

Param overhead(double ns, std::string doc = "latency a message pays on arrival here; it occupies nobody") {
  return Param::number("overhead_ns", ns, kLatencyNs, std::move(doc));
}

Param bandwidth(std::string name, double gbs, std::string doc) {
  return Param::number(std::move(name), gbs, kBandwidthGbs, std::move(doc));
}

/// How long a class of the vector unit's operations takes; lists all of them.
Param cycles(std::string name, MathCost cost) {
  std::vector<std::string> ops;
  for (const MathOpInfo& op : math_ops())
    if (op.cost == cost) ops.emplace_back(op.name);
  const char* passes = cost == MathCost::simple ? "; scans and sorts: for each pass over the elements" : "";
  return Param::number(std::move(name), default_cycles(cost), kCycles,
                       "cycles per vector of " + join(ops) + passes);
}

/// A kind with the one builtin impl that carries its name.
Kind kind(const std::string& name, std::string doc, std::vector<Param> params,
          std::vector<Param> impl_params = {}) {
  return {name, doc, std::move(params), {{"builtin." + name, doc, std::move(impl_params)}}};
}

void register_system(Registry& registry) {
  registry.add_kind(kind("host", "the computer that submits requests", {overhead(0)}));
  registry.add_kind(kind("switch", "joins the host and the SIPs' PCIe endpoints", {overhead(5)}));
}

void register_io_chiplet(Registry& registry) {
  registry.add_kind(kind("pcie_ep", "a SIP's PCIe endpoint", {overhead(5)}));
  registry.add_kind(
      kind("io_cpu", "receives requests and fans them out to the cubes; one at a time", {overhead(10)}));
  registry.add_kind(kind("io_noc", "joins endpoint, IO CPU and the UCIe ports of the top row",
                         {overhead(0), bandwidth("bw_gbs", 512, "each of its links, per direction")}));
}

void register_cube(Registry& registry) {
  registry.add_kind(
      kind("router", "the grid of routers under a cube's HBM stack",
           {overhead(2.5), bandwidth("bw_gbs", 512, "each link between two routers, per direction"),
            Param::integer("rows", 6, {2, 64}, "routers from north to south"),
            Param::integer("cols", 6, {4, 64}, "routers from west to east"),
            Param::numbers("hole", {2, 2}, {0, 62}, "rows and columns left out at the centre")}));
  registry.add_kind(kind(
      "m_cpu", "a cube's management CPU; serves one message at a time",
      {overhead(5), Param::numbers("at_mm", {7.5, 2.0}, {0, 1000}, "its place; joins the nearest router")}));
  registry.add_kind(
      kind("sram", "memory shared by the PEs of a cube",
           {overhead(2), bandwidth("bw_gbs", 128, "its port, per direction"),
            Param::number("capacity_mb", 32, {1.0 / 1024, 512}, "its size"),
            Param::numbers("at_mm", {1.5, 9.0}, {0, 1000}, "its place; joins the nearest router")}));
  registry.add_kind(kind("ucie", "a die-to-die port: several connections side by side",
                         {overhead(8, "latency of one port; a crossing passes two"),
                          bandwidth("bw_gbs", 128, "each connection, per direction"),
                          Param::integer("connections", 4, {1, 64}, "connections per port")}));
}

void register_hbm(Registry& registry) {
  const std::vector<Param> shape = {
      Param::choice("model", "plain", {"plain", "rows"},
                    "plain: every burst alike; rows: banks and row buffers"),
      Param::number("hbm_total_gb_per_cube", 48, {1.0 / 1024, 128},
                    "capacity of a cube, split evenly over its PEs"),
      bandwidth("hbm_to_router_bw_gbs", 256, "one PE's slice, reads and writes together"),
      Param::integer("num_pcs", 8, {1, 256}, "pseudo-channels of a slice, interleaved burst by burst"),
      Param::integer("burst_bytes", 256, {16, 65536}, "bytes of one access of a pseudo-channel"),
      Param::number("access_ns", 0, kLatencyNs, "latency added to every access"),
  };
  const std::vector<Param> rows = {
      Param::integer("banks", 16, {1, 1024}, "rows: banks of a pseudo-channel"),
      Param::integer("row_bytes", 1024, {64, 1 << 20}, "rows: bytes of a row"),
      Param::number("row_hit_ns", 15, kLatencyNs, "rows: access to the open row"),
      Param::number("row_closed_ns", 35, kLatencyNs, "rows: access to a bank with no open row"),
      Param::number("row_conflict_ns", 50, kLatencyNs, "rows: access to a bank with another row open"),
      Param::number("turnaround_ns", 8, kLatencyNs, "rows: pause between a read and a write of a channel"),
      Param::number("refresh_ns", 350, kLatencyNs,
                    "rows: length of an all-bank refresh (tRFC); 0: no refresh"),
      Param::number("refresh_interval_ns", 3900, {1, 1e9}, "rows: time between two refreshes (tREFI)"),
  };
  registry.add_kind(kind("hbm", "a cube's DRAM, one slice and controller per PE", shape, rows));
}

void register_pe_control(Registry& registry) {
  registry.add_kind(
      kind("pe_cpu", "issues the commands of a program to the engines",
           {overhead(2, "start of a launch"),
            Param::choice("issue", "run_ahead", {"run_ahead", "in_order"},
                          "run_ahead: queues let loads run ahead; in_order: one command at a time"),
            Param::integer("queue_depth", 16, {1, 65536}, "commands an engine's queue holds"),
            Param::integer("dispatch_cycles", 1, {0, 1e6}, "cycles to issue one command")}));
  registry.add_kind(
      kind("pe_scheduler", "turns a composite command into a stream of tile steps",
           {overhead(1, "start of a composite"),
            Param::integer("pipeline_depth", 3, {1, 1024}, "tile buffers that bound what is in flight")}));
  registry.add_kind(kind("pe_mmu", "translates virtual addresses", {overhead(0, "one look-up")}));
  registry.add_kind(
      kind("pe_ipcq", "queues to other PEs, with credits", {overhead(0, "one queue operation")}));
}

void register_pe_engines(Registry& registry) {
  registry.add_kind(
      kind("pe_dma", "moves data between the PE and the fabric; the PE's port",
           {overhead(0, "command accepted to first request on the fabric"),
            bandwidth("bw_gbs", 512, "the PE's link to its router, per direction"),
            Param::choice("strided", "auto", {"auto", "linear", "gather"},
                          "HBM bursts of several rows: linear: as if stored one after the other; gather: "
                          "each row at its own address; auto: linear with hbm.model plain, gather with rows"),
            Param::integer("outstanding", 8, {1, 65536}, "transfers in flight per channel")}));
  registry.add_kind(kind("pe_fetch_store", "moves operands and results between TCM and registers", {}));
  registry.add_kind(kind("pe_gemm", "the matrix unit",
                         {Param::integer("tile_m", 32, {1, 65536}, "rows of a tile"),
                          Param::integer("tile_k", 64, {1, 65536}, "depth of a tile"),
                          Param::integer("tile_n", 32, {1, 65536}, "columns of a tile"),
                          Param::integer("tile_cycles", 16, {1, 1e9}, "cycles of one tile")}));
  registry.add_kind(
      kind("pe_math", "the vector unit",
           {Param::integer("vector_bytes", 256, {1, 1 << 20}, "bytes worked on per cycle"),
            cycles("simple_cycles", MathCost::simple), cycles("divide_cycles", MathCost::division),
            cycles("transcendental_cycles", MathCost::transcendental)}));
  registry.add_kind(
      kind("pe_tcm", "the PE's private memory",
           {bandwidth("read_bw_gbs", 512, "its read port"), bandwidth("write_bw_gbs", 512, "its write port"),
            Param::number("capacity_mb", 16, {1.0 / 1024, 256}, "its size"),
            Param::number("scheduler_mb", 4, {0, 256}, "kept for the scheduler's tile buffers"),
            Param::number("kernel_scratch_mb", 1, {1.0 / 1024, 256}, "kept for the tiles of a kernel")}));
}

}  // namespace

Registry builtin_components() {
  Registry registry;
  register_system(registry);
  register_io_chiplet(registry);
  register_cube(registry);
  register_hbm(registry);
  register_pe_control(registry);
  register_pe_engines(registry);
  return registry;
}

}  // namespace kernbench::topology
